"""Ranks by variables of torchrun and srun, and by flags."""

import pytest

from vecchess.errors import ConfigError
from vecchess.runtime.devices import CPU, Device
from vecchess.train.distributed.environment import (
    Cluster,
    RankInfo,
    device_of,
    first_host,
    launch_id,
    local_ranks,
)

GPUS = [Device("cuda:0", f"gpu {i}", str(i)) for i in range(4)]
TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "GROUP_RANK": "1",
    "MASTER_ADDR": "gpu-1",
    "MASTER_PORT": "29400",
}
SRUN = {
    "SLURM_JOB_ID": "4000123",
    "SLURM_STEP_ID": "1",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NODELIST": "gpu[07-08]",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
}


def test_one_device_is_one_rank_without_a_port() -> None:
    assert local_ranks([CPU], Cluster(), {}) == [RankInfo()]


def test_flags_place_the_ranks_of_a_machine() -> None:
    infos = local_ranks(GPUS[:2], Cluster(2, 1, "gpu-1"), {})
    assert [(p.rank, p.local_rank, p.world_size, p.node) for p in infos] == [
        (2, 0, 4, 1),
        (3, 1, 4, 1),
    ]
    assert {(p.master_addr, p.master_port, p.starter) for p in infos} == {
        ("gpu-1", 29500, "vecchess")
    }
    assert [device_of(info, GPUS[:2]).label for info in infos] == ["gpu 0", "gpu 1"]


def test_torchrun_places_one_rank() -> None:
    [info] = local_ranks(GPUS, Cluster(), TORCHRUN)
    assert info == RankInfo(5, 8, 1, 4, 1, 2, "gpu-1", 29400, "torchrun")
    assert device_of(info, GPUS) == GPUS[1]


def test_the_id_of_a_job_counts_for_its_ranks_alone() -> None:
    assert launch_id(TORCHRUN | {"TORCHELASTIC_RUN_ID": "7"}) == "7"
    assert launch_id({"TORCHELASTIC_RUN_ID": "7"}) == launch_id(TORCHRUN) == ""


def test_srun_with_a_task_a_device_places_one_rank() -> None:
    [info] = local_ranks(GPUS, Cluster(), SRUN)
    assert info == RankInfo(5, 8, 1, 4, 1, 2, "gpu07", 12000 + 4000124 % 20000, "srun")
    [info] = local_ranks(GPUS[:1], Cluster(), SRUN)  # each task sees its own GPU alone
    assert device_of(info, GPUS[:1]) == GPUS[0]


def test_srun_with_a_task_a_machine_leaves_the_ranks_to_us() -> None:
    tasks = SRUN | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1", "SLURM_LOCALID": "0"}
    infos = local_ranks(GPUS, Cluster(), tasks)
    assert [info.rank for info in infos] == [4, 5, 6, 7]
    assert {(p.world_size, p.node, p.master_addr) for p in infos} == {(8, 1, "gpu07")}


def test_a_batch_script_without_srun_is_alone() -> None:
    batch = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "7"}
    assert len(local_ranks(GPUS, Cluster(), batch)) == 4


@pytest.mark.parametrize(
    ("node_list", "host"),
    [
        ("gpu[03-07,12],login1", "gpu03"),
        ("login1,gpu[03-07]", "login1"),
        ("rack[1-2]n[01,05-09]", "rack1n01"),
        ("gpu[8,3].cluster.org", "gpu8.cluster.org"),
        ("one-host", "one-host"),
        ("", ""),
    ],
)
def test_the_first_host_of_a_node_list(node_list: str, host: str) -> None:
    assert first_host(node_list) == host


@pytest.mark.parametrize(
    ("environ", "cluster", "devices", "line"),
    [
        (TORCHRUN, Cluster(), GPUS[:2], "started 4 ranks on this machine, but --gpus names 2"),
        (TORCHRUN, Cluster(3), GPUS, "ranks on 2 machines, but --nnodes is 3"),
        (TORCHRUN | {"RANK": "x"}, Cluster(), GPUS, 'RANK must be a number, not "x"'),
        (TORCHRUN | {"RANK": "8"}, Cluster(), GPUS, "started rank 8 of 8"),
        (TORCHRUN | {"WORLD_SIZE": "7"}, Cluster(), GPUS, "7 ranks in all, 4 on this machine"),
        ({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}, Cluster(), GPUS, "MASTER_ADDR is mi"),
        (SRUN | {"SLURM_STEP_NUM_TASKS": "7"}, Cluster(), GPUS, "7 tasks on 2 machines"),
        (SRUN | {"SLURM_STEP_NODELIST": ""}, Cluster(), GPUS, "srun gave no node list"),
    ],
)
def test_contradictions_are_one_line(
    environ: dict[str, str], cluster: Cluster, devices: list[Device], line: str
) -> None:
    with pytest.raises(ConfigError, match=line):
        local_ranks(devices, cluster, environ)


def test_ranks_on_the_processor_may_share_it() -> None:
    [info] = local_ranks([CPU], Cluster(), TORCHRUN)
    assert device_of(info, [CPU]) == CPU
