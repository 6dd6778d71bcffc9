"""What ``import vecchess`` offers: open a network, play, train, search, match.

Each function calls what the command of its name calls, with settings of the same names. Nothing
is printed; errors are ``VecchessError``s. ``on_progress`` is called about once a second in the
thread of the call, and asks the work to stop where it returns True. docs/python.md has examples.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.console import Console

from vecchess.config import AnalyseConfig, MatchConfig, SelfplayConfig, TrainConfig, load_config
from vecchess.config.settings import ModelT, leaf_fields
from vecchess.errors import ConfigError, did_you_mean
from vecchess.inference.open_network import OpenNetwork, open_network
from vecchess.machine_limits import num_cores
from vecchess.runtime.reporting import no_report
from vecchess.runtime.signals import StopSignals
from vecchess.runtime.torch_environment import prepare_environment

if TYPE_CHECKING:
    from vecchess.analysis.run_analysis import Analysis
    from vecchess.arena.match.play_match import MatchProgress, MatchResult
    from vecchess.store.records import GameRecords

OnStatus = Callable[[dict[str, Any]], bool | None]
"""Takes the content of ``status.json`` (docs/formats.md); True asks the run to stop."""


def load_network(
    net: str | Path = "default",
    *,
    slots: int = 64,
    exits: bool = True,
    backend: str = "auto",
    gpus: str = "auto",
    threads: int = 0,
    seed: int = 0,
) -> OpenNetwork:
    """Open the network that ``net`` names: all that --net takes, see docs/networks.md.

    slots: positions held at a time. exits: positions leave once their answer is settled. gpus: its
    device, as on the command line; of several the first. threads: of the processor, 0 for one a
    core. seed: of the weights of a new network.

    Raises NetworkError where there is no such network or it will not do, ConfigError for a device
    or a backend that will not do, DeviceError where the device fails.
    """
    return open_network(
        str(net), slots, seed=seed, exits=exits, backend=backend, device=gpus,
        threads=threads or num_cores(),
    )  # fmt: skip


def selfplay(
    net: str | Path = "default",
    games: int = 64,
    *,
    run_dir: str | Path | None = None,
    resume: bool = False,
    config: str | Path | None = None,
    on_progress: OnStatus | None = None,
    **settings: Any,
) -> "GameRecords":
    """Play games of a network against itself, as ``vecchess selfplay``; returns all games.

    run_dir: the run's folder or URL, which stays; None: a temporary one, which is removed. resume:
    go on with the run there, as ``train`` does. config: a TOML file of settings. settings: as
    flags, ``sims=16``.

    Raises ConfigError or NetworkError for settings that will not do, DataError where the disk
    refuses or no game was finished, WorkerDied when a worker dies again and again.
    """
    from vecchess.fleet.fleet_run import play_with_executor
    from vecchess.store.remote.run_places import learner_copy
    from vecchess.store.sources import read_games

    if resume and run_dir is None:
        raise ConfigError("resume needs run_dir: the folder of the run to resume")
    given = {"net": str(net), "games": games, **settings}
    with TemporaryDirectory(prefix="vecchess-") as temporary:
        place, caller = str(run_dir or Path(temporary) / "run"), _Caller(on_progress)
        with learner_copy(place, resume, no_report, stop=caller) as folder:
            resolved = _resolved(SelfplayConfig, given, config, folder if resume else None)
            play_with_executor(resolved, folder, resume, Console(quiet=True), True, caller)
        return read_games([folder])


@dataclass(frozen=True)
class TrainedRun:
    """A training that ended."""

    run_dir: Path
    """The run's folder; of a run at a URL the copy on this machine."""
    net: Path
    """The newest network."""
    summary: dict[str, Any]
    """What ``vecchess train --json`` prints."""


def train(
    net: str | Path | None = None,
    *,
    run_dir: str | Path | None = None,
    resume: bool = False,
    config: str | Path | None = None,
    on_progress: OnStatus | None = None,
    **settings: Any,
) -> TrainedRun:
    """Train a network, as ``vecchess train``; settings as flags, ``iterations=3``.

    net: tiny, small, base, large, sizes or a network to go on from; None: tiny. run_dir: the run's
    folder or URL, None: a new one in ``runs``. resume: go on with the run there, with its settings
    where neither ``config`` nor ``settings`` say otherwise.

    Raises ConfigError, NetworkError or DataError where settings or data will not do; RankLost,
    DeviceError or WorkerDied where ranks, a device or a worker fail for good.
    """
    prepare_environment()
    from vecchess.store.remote.run_places import learner_copy
    from vecchess.train.run_train import train_run

    given = {"net": None if net is None else str(net), **settings}
    caller = _Caller(on_progress)
    with (
        learner_copy(str(run_dir), resume, no_report, stop=caller) if run_dir else nullcontext()
    ) as folder:
        resolved = _resolved(TrainConfig, given, config, folder if resume else None)
        summary = train_run(resolved, folder, resume, True, stop=caller, prints_nothing=True)
    return TrainedRun(Path(summary["run_dir"]), Path(summary["net"]), summary)


def search(
    net: str | Path | OpenNetwork, fens: str | Sequence[str], sims: int = 100, **settings: Any
) -> "list[Analysis]":
    """Search positions one after another, as ``vecchess analyse``; the best lines of each.

    net: a network that is open, or what ``load_network`` takes. settings: as flags, ``multipv=5``.

    Raises ConfigError for a bad FEN, a game that is over and settings that will not do;
    NetworkError for a network that cannot be used.
    """
    from vecchess.analysis.open_evaluator import open_evaluator
    from vecchess.analysis.run_analysis import analyse, lanes_for
    from vecchess.runtime.reporting import no_report

    name = net.name if isinstance(net, OpenNetwork) else str(net)
    resolved = _resolved(AnalyseConfig, {"net": name, "sims": sims, **settings})
    if isinstance(net, OpenNetwork):
        opened = net
    else:
        opened = open_evaluator(resolved, resolved.lanes or lanes_for(sims), no_report)
    fens = [fens] if isinstance(fens, str) else fens
    return [analyse(resolved, fen, opened=opened)[0] for fen in fens]


def match(
    first: str,
    second: str,
    games: int = 100,
    *,
    on_progress: "Callable[[MatchProgress], bool | None] | None" = None,
    **settings: Any,
) -> "MatchResult":
    """Play two players against each other, as ``vecchess match``: each opening with both colours.

    first, second: "net:", "net:FILE?search=puct&sims=100", "greedy", "uci:stockfish", ..., see
    docs/commands/strength.md. Returns the result from the view of the first.

    Raises ConfigError and NetworkError for players and settings that cannot be used, before
    anything is played; NoPairFinished where ``on_progress`` stopped it before that.
    """
    from vecchess.arena.match.run_match import run_match

    def observer(progress: "MatchProgress") -> bool:
        return on_progress is not None and on_progress(progress) is True

    resolved = _resolved(MatchConfig, {"games": games, **settings})
    return run_match(first, second, resolved, observer=observer)


def _resolved(
    model: type[ModelT],
    given: dict[str, Any],
    config: str | Path | None = None,
    resumed: Path | None = None,
) -> ModelT:
    """The settings, over those of the run that is resumed; the environment's are left out.

    Raises ConfigError for an unknown one, and where there is no run.
    """
    known = [name for name, *_ in leaf_fields(model)]
    for name in given:
        if name not in known:
            raise ConfigError(f'unknown setting "{name}"{did_you_mean(name, known)}')
    before = None
    if resumed is not None:
        from vecchess.store.run_folder import RunFolder

        before = RunFolder.existing(resumed).config
    return load_config(model, given, None if config is None else Path(config), {}, before)


class _Caller(StopSignals):
    """Tells a caller's function how a run goes on, and stops the run where it says so.

    No signal is handled: that is the program's own affair. Spawned ranks get a plain copy.
    """

    def __init__(self, on_progress: OnStatus | None) -> None:
        super().__init__()
        self._on_progress = on_progress

    def __reduce__(self) -> Any:
        return StopSignals, (False,)

    def on_status(self, status: dict[str, Any]) -> None:
        """Tell the caller's function."""
        if self._on_progress is not None and self._on_progress(status) is True:
            self.request_stop("on_progress")
