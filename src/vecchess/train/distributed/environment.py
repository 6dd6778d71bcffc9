"""Which rank on which machine this process is, by variables of torchrun or srun, or by flags.

    torchrun    RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT
    srun        SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_NODEID, and the node list
    neither     this process is local rank 0 and starts the other ranks of its machine

srun may start a task for each device, or one for each machine, which then starts its ranks itself.
A batch script without srun has SLURM_PROCID and SLURM_NTASKS too, although it is the only process:
only SLURM_STEP_NUM_TASKS above 1 means that srun started several.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from vecchess.errors import ConfigError
from vecchess.runtime.devices import CPU, Device
from vecchess.safe_parse import is_count

DEFAULT_PORT = 29500
"""Port of several machines without --master-port, as in torchrun."""
FIRST_JOB_PORT, NUM_JOB_PORTS = 12000, 20000
"""Ports of Slurm jobs, below those that Linux assigns by itself, from 32768 on."""


@dataclass(frozen=True)
class Cluster:
    """The machines, as given by flags."""

    num_nodes: int = 1
    """Number of machines, ``--nnodes``."""
    node_rank: int = 0
    """Number of this machine, ``--node-rank``."""
    master_addr: str = ""
    """Host name or address of machine 0, ``--master-addr``."""
    master_port: int = 0
    """Its port at which ranks meet, ``--master-port``; 0: a free one, or the default."""


@dataclass(frozen=True)
class RankInfo:
    """One rank among all."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    """Rank within the machine; 0 leads it."""
    local_world_size: int = 1
    node: int = 0
    num_nodes: int = 1
    master_addr: str = "127.0.0.1"
    master_port: int = 0
    """0: rank 0 chooses a free one, and starts the others with it."""
    starter: str = "vecchess"
    """ "torchrun", "srun" or "vecchess"."""


def local_ranks(
    devices: list[Device], cluster: Cluster, environ: Mapping[str, str]
) -> list[RankInfo]:
    """The rank of this process, then those that it has to start.

    Raises ConfigError where variables, flags and ``devices`` contradict each other.
    """
    if "RANK" in environ or "LOCAL_RANK" in environ:
        return [_checked(_from_torchrun(environ), cluster, devices)]
    if _optional(environ, "SLURM_STEP_NUM_TASKS", 1) > 1 and cluster.num_nodes == 1:
        info = _from_srun(environ)
        if info.local_world_size > 1 or len(devices) == 1:
            return [_checked(info, cluster, devices)]
        cluster = Cluster(info.num_nodes, info.node, info.master_addr, info.master_port)
    return _started_here(len(devices), cluster)


def launch_id(environ: Mapping[str, str]) -> str:
    """The id of torchrun's job, which stays when it starts the ranks again; "" without torchrun."""
    return environ.get("TORCHELASTIC_RUN_ID", "") if "RANK" in environ else ""


def device_of(info: RankInfo, devices: list[Device]) -> Device:
    """The device of a rank. Where srun gives each task one GPU, a rank sees only its own."""
    return devices[info.local_rank] if len(devices) > 1 else devices[0]


def first_host(node_list: str) -> str:
    """The first host of a Slurm node list: gpu[03-07,12],login1 -> gpu03."""
    first = re.match(r"(?:[^\[,]|\[[^\]]*\])+", node_list.strip())
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first.group()) if first else ""


def _from_torchrun(environ: Mapping[str, str]) -> RankInfo:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        if not environ.get(name):
            raise ConfigError(
                f"{name} is missing from the environment, though another variable of torchrun is "
                "there: start with torchrun, or unset RANK and LOCAL_RANK"
            )
    rank, world_size = _number(environ, "RANK"), _number(environ, "WORLD_SIZE")
    local_world_size = _optional(environ, "LOCAL_WORLD_SIZE", world_size)
    if local_world_size < 1 or world_size % local_world_size:
        raise ConfigError(
            f"torchrun started {world_size} ranks in all, {local_world_size} on this machine: "
            "every machine must have as many"
        )
    return RankInfo(
        rank=rank,
        world_size=world_size,
        local_rank=_number(environ, "LOCAL_RANK"),
        local_world_size=local_world_size,
        node=_optional(environ, "GROUP_RANK", rank // local_world_size),
        num_nodes=world_size // local_world_size,
        master_addr=environ["MASTER_ADDR"],
        master_port=_number(environ, "MASTER_PORT"),
        starter="torchrun",
    )


def _from_srun(environ: Mapping[str, str]) -> RankInfo:
    world_size = _number(environ, "SLURM_STEP_NUM_TASKS")
    num_nodes = _optional(environ, "SLURM_STEP_NUM_NODES", _optional(environ, "SLURM_NNODES", 1))
    if world_size % max(num_nodes, 1):
        raise ConfigError(
            f"srun started {world_size} tasks on {num_nodes} machines: every machine must have "
            "as many; use --ntasks-per-node"
        )
    hosts = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST", "")
    addr = environ.get("MASTER_ADDR") or first_host(hosts)
    if not addr:
        raise ConfigError("srun gave no node list: set MASTER_ADDR to the host of its first task")
    job = _optional(environ, "SLURM_JOB_ID", 0) + _optional(environ, "SLURM_STEP_ID", 0)
    return RankInfo(
        rank=_number(environ, "SLURM_PROCID"),
        world_size=world_size,
        local_rank=_number(environ, "SLURM_LOCALID"),
        local_world_size=world_size // num_nodes,
        node=_number(environ, "SLURM_NODEID"),
        num_nodes=num_nodes,
        master_addr=addr,
        master_port=_optional(environ, "MASTER_PORT", FIRST_JOB_PORT + job % NUM_JOB_PORTS),
        starter="srun",
    )


def _started_here(num_local: int, cluster: Cluster) -> list[RankInfo]:
    """The ranks of this machine, where neither torchrun nor srun starts them."""
    port = cluster.master_port or (DEFAULT_PORT if cluster.num_nodes > 1 else 0)
    return [
        RankInfo(
            rank=cluster.node_rank * num_local + local_rank,
            world_size=cluster.num_nodes * num_local,
            local_rank=local_rank,
            local_world_size=num_local,
            node=cluster.node_rank,
            num_nodes=cluster.num_nodes,
            master_addr=cluster.master_addr if cluster.num_nodes > 1 else "127.0.0.1",
            master_port=port,
        )
        for local_rank in range(num_local)
    ]


def _checked(info: RankInfo, cluster: Cluster, devices: list[Device]) -> RankInfo:
    """``info`` where it fits the flags; raises ConfigError where it does not."""
    if cluster.num_nodes not in (1, info.num_nodes):
        raise ConfigError(
            f"{info.starter} started ranks on {info.num_nodes} machines, but --nnodes is "
            f"{cluster.num_nodes}: leave --nnodes out under {info.starter}"
        )
    if not 0 <= info.rank < info.world_size or info.local_rank >= info.local_world_size:
        raise ConfigError(
            f"{info.starter} started rank {info.rank} of {info.world_size}, local rank "
            f"{info.local_rank} of {info.local_world_size}: there is no such rank"
        )
    is_alone = len(devices) == 1 and (devices[0] == CPU or info.starter == "srun")
    if len(devices) != info.local_world_size and not is_alone:
        raise ConfigError(
            f"{info.starter} started {info.local_world_size} ranks on this machine, but --gpus "
            f"names {len(devices)} devices: start as many ranks, or none: --gpus starts them"
        )
    return info


def _optional(environ: Mapping[str, str], name: str, default: int) -> int:
    return _number(environ, name) if environ.get(name) else default


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "")
    if not is_count(text):
        raise ConfigError(f'environment: {name} must be a number, not "{text}"')
    return int(text)
