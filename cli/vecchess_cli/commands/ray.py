"""``vecchess ray``: the same commands on the nodes of a Ray cluster."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess_cli.commands import selfplay, train
from vecchess_cli.options import PanelCommand, command_group
from vecchess_cli.output import note, print_json, results

if TYPE_CHECKING:
    from vecchess.ray_launcher.ray_cluster import RemoteProcess
    from vecchess.ray_launcher.run_ray import CommandsFor, NodeResult

app = command_group("Play or train on the nodes of a Ray cluster.")
Nodes = Annotated[int, typer.Option(help="Nodes to take part.", min=1)]
Gpus = Annotated[int, typer.Option(help="GPUs of each; 0: its processor alone.", min=0)]
Cpus = Annotated[int, typer.Option(help="CPUs that Ray books on each.", min=1)]
Address = Annotated[
    str | None,
    typer.Option(
        help="The cluster's head, HOST:PORT.", show_default="RAY_ADDRESS, or this machine alone"
    ),
]
PASSES_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
PLACES = ("nnodes", "node_rank", "master_addr", "master_port")
SCHEMA = 1


@app.command("selfplay", cls=PanelCommand, context_settings=PASSES_ON)
def ray_selfplay(
    context: typer.Context,
    nodes: Nodes = 1,
    gpus_per_node: Gpus = 0,
    cpus_per_node: Cpus = 1,
    address: Address = None,
) -> int:
    """Play independent runs, one a node, in a folder that all nodes share.

    All other options are those of "vecchess selfplay". Node i plays in RUN_DIR/i with seed SEED +
    i, or a seed made from the folder's path and i where none is given; an existing run is resumed.
    Where one fails, and at Ctrl-C, all save and end.

    Example:  vecchess ray selfplay --nodes 4 --gpus-per-node 8 --net my.safetensors --run-dir fleet
    """
    from vecchess.config import SelfplayConfig, load_config
    from vecchess.ray_launcher.run_ray import fleet_seed, selfplay_commands

    given = _values(selfplay.selfplay, context.args)
    settings = load_config(SelfplayConfig, given, given["config"])
    run_dir = given["run_dir"] or Path("runs") / f"fleet-{datetime.now():%Y%m%d-%H%M%S}"
    own = _device(settings.gpus, gpus_per_node)
    has_seed = "seed" in settings.model_fields_set
    seed = settings.seed if has_seed else fleet_seed(run_dir)
    has_settings = has_seed or bool(given["config"])
    commands = selfplay_commands(context.args, run_dir, own, seed, has_settings, nodes)
    request, lock = (nodes, gpus_per_node, cpus_per_node), _only_start(run_dir, True)
    return _run(lambda _: commands, address, request, lock, given["json"])


@app.command("train", cls=PanelCommand, context_settings=PASSES_ON)
def ray_train(
    context: typer.Context,
    nodes: Nodes = 1,
    gpus_per_node: Gpus = 0,
    cpus_per_node: Cpus = 1,
    address: Address = None,
) -> int:
    """Train on all nodes together; the ranks connect to a free port of the first.

    All other options are those of "vecchess train", but for --nnodes, --node-rank, --master-addr
    and --master-port, which are set here. Where one node fails, and at Ctrl-C, all end.

    Example:  vecchess ray train --nodes 4 --gpus-per-node 8 --net small --run-dir runs/a
    """
    from vecchess.config import TrainConfig, load_config
    from vecchess.errors import ConfigError
    from vecchess.ray_launcher.run_ray import training_commands

    given = _values(train.train, context.args)
    for name in PLACES:
        if given[name] is not None:
            raise ConfigError(f"--{name.replace('_', '-')} is set by vecchess ray: drop it")
    if given["plan"]:
        raise ConfigError('--plan measures one machine: give it to "vecchess train" on a node')
    own: list[str] = []
    if given["config"] or not given["resume"]:  # else the run's own settings say what it uses
        own = _device(load_config(TrainConfig, given, given["config"]).gpus, gpus_per_node)

    def commands_for(processes: list["RemoteProcess"]) -> list[list[str]]:
        meeting = processes[0].address, processes[0].free_port()
        return training_commands(context.args, own, nodes, *meeting)

    request = nodes, gpus_per_node, cpus_per_node
    lock = _only_start(given["run_dir"], False) if given["run_dir"] else nullcontext()
    return _run(commands_for, address, request, lock, given["json"])


def _values(command: Callable[..., int], arguments: list[str]) -> dict[str, Any]:
    """The values of ``arguments`` for ``command``: errors in them appear before Ray starts."""

    @wraps(command)
    def values(**given: Any) -> dict[str, Any]:
        return given

    group = typer.Typer(rich_markup_mode=None)
    group.command()(values)
    parser = typer.main.get_command(group)
    found: dict[str, Any] = parser(arguments, standalone_mode=False)
    return found


def _device(gpus: str, gpus_per_node: int) -> list[str]:
    """Flags for the GPUs that Ray assigns, or none where settings already name devices."""
    return ["--gpus", "all" if gpus_per_node else "cpu"] if gpus == "auto" else []


def _run(
    commands_for: "CommandsFor",
    address: str | None,
    request: tuple[int, ...],
    lock: AbstractContextManager[None],
    wants_json: bool,
) -> int:
    """Run a command on each node and print the results; returns one exit code for all."""
    from vecchess.ray_launcher.ray_cluster import NodeRequest
    from vecchess.ray_launcher.run_ray import run_on_nodes

    code, ends = run_on_nodes(commands_for, address, NodeRequest(*request), note, lock)
    if wants_json:
        print_json({"schema": SCHEMA, "exit_code": code, "nodes": list(map(_facts, ends))})
    else:
        found = results()
        for end in sorted(ends, key=lambda end: int(end.name.rpartition("/")[2])):
            for line in end.output.splitlines():
                found.print(f"{end.name} | {line}", markup=False)
    return code


def _facts(result: "NodeResult") -> dict[str, Any]:
    """A node's result for JSON, with the summary that it wrote in its last line."""
    last = result.output.rpartition("\n")[2]
    return result._asdict() | {"output": json.loads(last or "null")}


@contextmanager
def _only_start(run_dir: Path, is_fleet: bool) -> Iterator[None]:
    """Hold the lock of a fleet's folder for a block, or try that of a training, which its first
    node takes. Raises ConfigError where another start has it."""
    from vecchess.errors import ConfigError
    from vecchess.store.run_folder import RunFolder

    try:
        run_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make {run_dir}: {error.strerror}") from None
    with ExitStack() as stack:
        stack.enter_context(RunFolder(run_dir).locked())
        if not is_fleet:
            stack.close()
        yield
