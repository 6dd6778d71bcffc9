"""The executor of a learner whose games others play: by a mailbox, or on a Ray cluster.

It gives out the blocks of a generation, takes in their results, checks a share of them on this
machine, and records them in the run's folder, as a run of this machine alone would.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import SystemRandom
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar

from rich.console import Console

from vecchess.config import DEFAULT_NET, PlayConfig, SelfplayConfig, TrainConfig
from vecchess.config.settings import MOST_GAMES
from vecchess.errors import ConfigError, DataError, VecchessError
from vecchess.fleet.block_games import BlockGames
from vecchess.fleet.block_player import BlockPlayer, config_of, player_config
from vecchess.fleet.learner_steps import LearnerSteps, Rewind
from vecchess.fleet.player_list import PlayerList
from vecchess.fleet.ray_players import RayPlayers, address_of, check_ray
from vecchess.fleet.steps import (
    Accept,
    EarliestBy,
    Gathered,
    Inspect,
    IsDrawn,
    Pause,
    Replay,
    Request,
    Steps,
    Store,
    Supply,
    Tell,
    ask_store,
    carry_out,
)
from vecchess.fleet.task import (
    CUTS,
    OVER_NAME,
    RUN_NAME,
    CutPart,
    FleetTask,
    GamesOfRun,
    cut_part,
)
from vecchess.inference.source import find
from vecchess.runtime.devices import Device
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import read_file, retried, unreadable
from vecchess.runtime.signals import StopSignals
from vecchess.runtime.write_retry import WriteRetry
from vecchess.selfplay.run_selfplay import play_run
from vecchess.selfplay.supervisor.cut_finder import FindCuts, recorded_cuts
from vecchess.selfplay.supervisor.disk_quota import DiskQuota
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher, write_throughput
from vecchess.selfplay.supervisor.supervisor import (
    HEARTBEAT_S,
    LineWatcher,
    RunResult,
    no_heartbeat,
    remaining_s,
)
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import ShardEntry
from vecchess.store.metrics import MetricsLog
from vecchess.store.remote.block_file import BlockName, may_be_of, unpack_block
from vecchess.store.remote.object_store import ObjectStore, is_url
from vecchess.store.remote.run_mirror import place_of
from vecchess.store.remote.run_places import SAVING_S
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import RunPins
from vecchess.store.seating import Seating
from vecchess.store.status_file import StatusWriter

MOST_BLOCK_SEATS, USUAL_BLOCKS = 256, 256
MOST_BLOCKS = 1024
"""Blocks of a task of self-play, at most."""
BUSY_S = 0.5
"""Before a write is tried again: the learner may have the manifest, to send a window of games."""
PART = "part-"
"""Before the name of a shard with some of the games of a block."""
FLEET = 0
"""Who has all games, in the ledger."""
ResultT = TypeVar("ResultT")


class GamesRefuted(VecchessError):  # noqa: N818  (named after the event)
    """Games that were learnt from are wrong, from a generation on."""

    def __init__(self, generation: int) -> None:
        """The first such generation."""
        super().__init__(f"games of generation {generation} were wrong")
        self.generation = generation


class _StopRequested(Exception):  # noqa: N818  (named after the event)
    """The caller's heartbeat asked to end."""


class FleetExecutor:
    """Has generations of one run played by others; to be used in a ``with``."""

    def __init__(
        self,
        config: TrainConfig | SelfplayConfig,
        run: RunFolder,
        store: Store,
        devices: list[Device],
        watcher: StatusWatcher,
        keeps_results: bool,
        players: RayPlayers | None = None,
        stop: StopSignals | None = None,
    ) -> None:
        """``run``: the learner's folder, which has its pins. ``keeps_results``: see
        ``LearnerSteps``. ``players``: that come and go with this executor. ``stop``: a store that
        does not answer is given up some time after a stop was requested.

        Raises DataError for a damaged manifest.
        """
        self._config, self._run, self._store = config, run, store
        self._devices, self._watcher = devices, watcher
        self._seating = Seating.of(config) if isinstance(config, TrainConfig) else None
        self._games = games_of_run(config, run, self._seating)
        self._manifest = manifest = run.manifest()
        has_seats = self._seating is not None
        self.ledger = GameLedger(manifest, self._games.run_id, watcher.report_line, has_seats)
        self._find_cuts: FindCuts | None = None
        if self._seating is not None:
            self._find_cuts = partial(recorded_cuts, run, manifest, self._seating)
        self._quota = DiskQuota(manifest, config.keep_gb, watcher.report_line, watcher.log_event)
        self._steps = LearnerSteps(keeps_results, records_each=not has_seats)
        self._has_started = self._is_stopping = False
        is_late = (stop or StopSignals()).late_after(SAVING_S)
        store.give_up = lambda: self._is_stopping or is_late()
        self._net = ""
        self._own_players = players
        self._net_file: Path | None = None
        self._cut_files: dict[str, Path] = {}
        """Files of games that wait, by their sha256."""
        self._draw = SystemRandom()
        self._io = ThreadPoolExecutor(2, "store")  # one request of the protocol, and one for people
        self._stack = ExitStack()
        self._checker: BlockPlayer | None = None
        self._players = PlayerList(store, self._io)
        waiting = "results of players wait"
        self._retry = WriteRetry(watcher.report_line, lambda: waiting, "they are recorded")
        self.num_checked = self._num_held = self._num_before = 0
        self._heartbeat: Callable[[], str] = no_heartbeat
        self._next_heartbeat = self._began = 0.0

    def __enter__(self) -> Self:
        """Tell players what the games follow from. Raises ConfigError where another run lies in
        the same place, or the store will not do."""
        self._store.probe()
        data = self._games.to_bytes()
        if not self._store.create(RUN_NAME, data):
            there = GamesOfRun.of_bytes(RUN_NAME, self._store.get(RUN_NAME) or b"")
            if there.run_id != self._games.run_id:
                raise ConfigError(f"{RUN_NAME} there is of another run: choose another --run-dir")
            self._store.put(RUN_NAME, data)
        if self._games.openings is not None:
            name = f"inputs/openings/{self._games.openings.file}"
            self._put_file(name, self._run.path / name)
        self._store.delete([OVER_NAME])
        if self._own_players is not None:
            self._stack.enter_context(self._own_players)
        return self

    def __exit__(self, *_: object) -> None:
        """End the check's workers, players that are this executor's own, and the thread."""
        self._is_stopping = True
        self._stack.close()
        self._io.shutdown(wait=False, cancel_futures=True)

    def play(self, net: str, ids: IdSet, heartbeat: Callable[[], str] = no_heartbeat) -> RunResult:
        """Have the segments ``ids``, of one generation, or games, played with ``net`` until all are
        recorded, or a stop is requested: see ``Supervisor.play``.

        Raises GamesRefuted where recorded games turn out to be wrong.
        """
        self._began, self._num_held, self._is_stopping = time.monotonic(), 0, False
        self._heartbeat = heartbeat
        self.ledger.open(ids)
        self._num_before, before = self.ledger.num_recorded, self._played
        stopped_by = ""
        rewind: Rewind | None = None
        try:
            rewind = carry_out(self._gathering(net), self._answer)
        except _StopRequested as stop:
            stopped_by = str(stop)
        if rewind is not None:
            raise GamesRefuted(rewind.generation)
        seconds = self._seconds
        games_per_s, plies_per_s = (
            max(now - then, 0) / max(seconds, 1e-9)
            for now, then in zip(self._played, before, strict=True)
        )
        return RunResult(
            stats=self.ledger.stats,
            throughput=replace(
                self._players.throughput, games_per_s=games_per_s, plies_per_s=plies_per_s
            ),
            seconds=seconds,
            stopped_by=stopped_by,
            restarts=0,
        )

    @property
    def _seconds(self) -> float:
        """Time since the generation began."""
        return time.monotonic() - self._began

    @property
    def _played(self) -> tuple[int, int]:
        """Recorded games of the generation, and their plies; of a training the turns of all its
        games."""
        stats, seating = self.ledger.stats, self._seating
        plies = self.ledger.num_recorded * seating.turns if seating else stats.plies
        return stats.games, plies

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the generation and of the players, by the names of ``status.json``: a
        player is shown as a worker."""
        num, target = self.ledger.num_recorded + self._num_held, len(self.ledger.target)
        turns = self._seating.turns if self._seating else 0
        return {
            "net": self._net_file.name if self._net_file else self._net,
            "games": self.ledger.stats.games if turns else num,
            "target": 0 if turns else target % MOST_GAMES,
            "positions": num * turns,
            "positions_target": target * turns,
            "eta_s": remaining_s(self._num_before, num, target, self._seconds),
            "load": self._players.throughput.to_dict(),
            "stats": self.ledger.stats.to_dict(),
            "blocks_checked": self.num_checked,
            "workers": self._players.shown,
        }

    def _gathering(self, net: str) -> Steps[Rewind | None]:
        if not self._has_started:
            rewind = yield from self._steps.read_bans()
            self._has_started = True
            if rewind is not None:
                return rewind
        source = find(net)
        if net != self._net:
            self._net = net
            self._watcher.log_event("network", net=source.short_name)
        self._net_file = source.module.weights if source.kind == "module" else source.file
        while missing := self.ledger.missing:
            draft = self._draft(net, missing.span[0])
            wanted = missing & IdSet([(draft.first, draft.end)])
            rewind = yield from self._steps.gather(draft, draft.blocks.touched_by(wanted))
            if rewind is not None:
                return rewind
        return None

    def _draft(self, net: str, first: int) -> FleetTask:
        """The task, without its number, with the id ``first``: the segments of its generation, or
        many games."""
        file = self._net_file
        if self._seating is not None:
            generation, total = first // self._seating.seats, self._seating.seats
            blocks = Blocks(generation * total, (generation + 1) * total, self._block_size(total))
        else:
            generation, (_, end) = 0, self.ledger.target.span
            size = self._block_size(end)
            start = first // (MOST_BLOCKS * size) * MOST_BLOCKS * size
            blocks = Blocks(start, min(start + MOST_BLOCKS * size, end), size)
        draft = FleetTask(
            number=0,
            generation=generation,
            first=blocks.first,
            end=blocks.end,
            size=blocks.size,
            net=net if file is None else file.name,
            net_sha256="" if file is None else hashlib.sha256(_content(file)).hexdigest(),
        )
        self._cut_files = {}
        if self._find_cuts is None or not generation:
            return draft
        inputs = tuple(self._inputs(self._find_cuts, blocks))
        return draft.model_copy(update={"inputs": inputs})

    def _inputs(self, find_cuts: FindCuts, blocks: Blocks) -> Iterator[tuple[CutPart, ...]]:
        """The files of each block with the games it goes on with."""
        for block in range(blocks.num_blocks):
            self._beat()
            yield tuple(self._part(*file) for file in find_cuts(blocks.ids(block)))

    def _block_size(self, total: int) -> int:
        """Seats, or games, of a block: as the settings say, or such that there are some 256."""
        usual = min(-(-total // USUAL_BLOCKS), MOST_BLOCK_SEATS)
        return min(self._config.block_seats or usual, total)

    def _part(self, path: Path, sha256: str) -> CutPart:
        """A file of games that wait as players find it."""
        name = BlockName.of_file(path.name)
        try:
            length = path.stat().st_size
        except OSError as error:
            raise unreadable(path, error) from None
        self._cut_files[sha256] = path
        if name is not None and not self._steps.has_results_of(name.task):
            name = None
        return cut_part(sha256, length, name)

    def _answer(self, request: Request) -> Any:
        match request:
            case Pause(seconds):
                return self._wait(lambda: False, seconds)
            case Supply(task):
                return self._asked(partial(self._supply, task))
            case Inspect(task, name, data):
                return self._fault(task, name, data)
            case IsDrawn():
                return self._draw.random() < self._config.verify_share
            case Replay(task, name, data):
                return self._difference(task, name, data)
            case Gathered(task, names):
                self._num_held = _num_ids(task, names)
                return None
            case Accept(task, results):
                return self._accept(task, results)
            case EarliestBy(player):
                return self._earliest_by(player)
            case Tell(line):
                return self._watcher.report_line(line)
        return self._asked(partial(ask_store, self._store, request))

    def _asked(self, call: Callable[[], ResultT]) -> ResultT:
        """The result of a call to the store."""
        future: Future[ResultT] = self._io.submit(call)
        self._wait(future.done)
        return future.result()

    def _wait(self, is_done: Callable[[], bool], seconds: float = 1e9) -> None:
        deadline = time.monotonic() + seconds
        while not is_done() and (left_s := deadline - time.monotonic()) > 0:
            self._beat()
            time.sleep(min(0.01, left_s))

    def _beat(self) -> None:
        """Show how it goes; raise _StopRequested where the caller asks to end."""
        now = time.monotonic()
        if now < self._next_heartbeat:
            return
        self._next_heartbeat = now + HEARTBEAT_S
        self._players.look()
        self._watcher.show(self.facts)
        if self._own_players is not None:
            self._own_players.check()
        if reason := self._heartbeat():
            self._is_stopping = True
            raise _StopRequested(reason)

    def _supply(self, task: FleetTask) -> None:
        """Put the network of a task, and the games it goes on with, where they are not there."""
        if self._net_file is not None:
            name, data = f"nets/{task.net}", _content(self._net_file)
            if self._store.get(name) != data:  # perhaps one of a history that is forgotten
                self._store.put(name, data)
        own = {part.sha256 for parts in task.inputs for part in parts if _is_own(part)}
        for sha256 in sorted(own):
            name = f"{CUTS}{sha256}"
            self._put_file(name, self._cut_files[sha256])

    def _put_file(self, name: str, file: Path) -> None:
        if self._store.get_range(name, 0, 1) is None:
            self._store.put(name, _content(file))

    def _fault(self, task: FleetTask, name: BlockName, data: bytes) -> str:
        try:
            games = BlockGames.of(name, data, self._games)
        except DataError as error:
            return str(error)
        return games.fault(task, name.block, self._seating, self._manifest)

    def _difference(self, task: FleetTask, name: BlockName, data: bytes) -> str:
        """How the result of a block differs from what is played here; or ""."""
        checker = self._checker or self._opened_checker()
        if self._net_file is not None and not checker.has_network(task):
            checker.add_network(task, _content(self._net_file))
        cuts = [_content(self._cut_files[part.sha256]) for part in task.cuts_of(name.block)]
        checker.begin(task, name.block, cuts)
        while not (played := checker.take_played()):
            checker.poll(0.05)
        self.num_checked += 1
        here, there = (
            BlockGames.of(name, each, self._games).digest() for each in (played[0].data, data)
        )
        return "" if here == there else "its games are not those that are played here"

    def _opened_checker(self) -> BlockPlayer:
        folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="vecchess-check-")))
        local, openings = player_config(self._config), self._config.game.openings
        config = config_of(self._games, local, openings)
        watcher = LineWatcher(
            lambda line: self._watcher.report_line(f"check: {line}"),
            self._beat,  # learning goes on, and its end is looked for, while games are checked
        )
        self._checker = self._stack.enter_context(
            BlockPlayer(self._games, config, self._devices, folder, watcher)
        )
        return self._checker

    def _accept(self, task: FleetTask, results: dict[BlockName, bytes]) -> None:
        """Record results: all of a generation, or those of self-play that are new."""
        while self.ledger.num_open:  # all at first, later those that were dropped
            self.ledger.assign(FLEET, self.ledger.num_open)
        self._num_held = _num_ids(task, results)
        for name, data in sorted(results.items()):
            self._beat()
            games = BlockGames.of(name, data, self._games)
            shard, cut = unpack_block(name.object, data)
            file, ids = name.file, task.blocks.ids(name.block)
            left = ids & self.ledger.assigned_to(FLEET)
            if left != ids:  # some are recorded: they were given out in other blocks before
                games, file = games.only(left, self._seating), f"{PART}{name.file}"
                shard, cut = games.to_bytes(self._games.run_id)
            self._persist(partial(self._record, file, shard, cut, games, left))
            self._num_held -= len(ids)
        self._quota.enforce()

    def _record(self, file: str, shard: bytes, cut: bytes, games: BlockGames, ids: IdSet) -> None:
        """Write the files of a block and their line; what was written before does no harm."""
        self.ledger.record(FLEET, self._run.write_games(file, games.ended, shard, cut, ids))

    def _persist(self, write: Callable[[], object]) -> None:
        """Repeat ``write`` while the disk is full, or another process has the manifest."""
        while not self._retry.attempt(write):
            self._wait(lambda: False, BUSY_S)

    def _earliest_by(self, player: str) -> int | None:
        """The first generation with recorded games of a player, or with games of which compaction
        forgot the player. Games of self-play are dropped instead, and played again."""

        def is_wrong(entry: ShardEntry) -> bool:
            return may_be_of(entry.file.removeprefix(PART), player)

        if self._seating is None:
            self._persist(partial(self.ledger.drop, is_wrong))
            return None
        seats, entries = self._seating.seats, filter(is_wrong, self.ledger.entries)
        return min((entry.segments.span[0] // seats for entry in entries), default=None)


def check_executor(config: PlayConfig) -> None:
    """Raise ConfigError where those who are to play cannot be had."""
    if config.executor == "ray":
        check_ray(address_of(config))


def play_with_executor(
    config: SelfplayConfig,
    run_dir: Path | None,
    resume: bool,
    console: Console,
    quiet: bool,
    stop: StopSignals,
) -> dict[str, Any]:
    """Play a run of self-play, see ``play_run``, with the executor that ``config`` names: this
    machine, or others. Raises ConfigError as ``check_executor``, too."""
    check_executor(config)
    others = None if config.executor == "local" else _open_for_games
    summary = play_run(config, run_dir, resume, console, quiet, stop, others)
    if others is None and not summary["stopped_by"]:
        report_line = partial(console.print, soft_wrap=True, markup=False)
        end_fleet(RunFolder(Path(summary["run_dir"])), report_line, stop)
    return summary


@contextmanager
def _open_for_games(
    config: SelfplayConfig,
    run: RunFolder,
    devices: list[Device],
    display: ProgressDisplay,
    status: StatusWriter,
    stop: StopSignals,
) -> Iterator[FleetExecutor]:
    with closing(MetricsLog(run.path, report_line=status.add_note)) as log:
        watcher = StatusWatcher(display, status, partial(write_throughput, log))
        with open_mailbox(config, run, devices, watcher, stop) as executor:
            yield executor
            if executor.ledger.is_complete:
                end_fleet(run, watcher.report_line, stop)


def end_fleet(run: RunFolder, report_line: ReportLine, stop: StopSignals) -> None:
    """Tell the players of a complete run that it is over, if it ever had any: its last games may
    have been played by this machine alone."""
    give_up = stop.late_after(SAVING_S)
    store = ObjectStore.open(place_of(run.path), report_line, give_up=give_up)
    if store.get_range(RUN_NAME, 0, 1) is not None:
        store.put(OVER_NAME, b"")


def open_mailbox(
    config: TrainConfig | SelfplayConfig,
    run: RunFolder,
    devices: list[Device],
    watcher: StatusWatcher,
    stop: StopSignals,
) -> FleetExecutor:
    """The executor of a run whose players find it in its folder, or at its URL; with those of a
    Ray cluster where these are asked for."""
    place = place_of(run.path)
    store = ObjectStore.open(place, watcher.report_line)
    players = None
    if config.executor == "ray":
        players = RayPlayers(place, config, watcher.report_line, stop)
    return FleetExecutor(config, run, store, devices, watcher, is_url(place), players, stop)


def games_of_run(config: PlayConfig, run: RunFolder, seating: Seating | None) -> GamesOfRun:
    """What all games of a run follow from."""
    pins = RunPins.of(run)
    settings = json.loads(config.model_dump_json(include={"seed", "exits", "game", "tree"}))
    settings["game"]["openings"] = settings["tree"]["syzygy"] = None
    net = str(getattr(config, "net", DEFAULT_NET))
    settings["net"] = net if find(net).kind == "module" else DEFAULT_NET
    return GamesOfRun(
        run_id=run.run_id,
        settings=settings,
        seats=seating.seats if seating else 0,
        turns=seating.turns if seating else 0,
        games_version=pins.games_version,
        openings=pins.inputs.get("openings"),
        tables=pins.tables,
    )


def _num_ids(task: FleetTask, names: Collection[BlockName]) -> int:
    """Segments, or games, of some blocks of a task."""
    return sum(len(task.blocks.ids(name.block)) for name in names)


def _is_own(part: CutPart) -> bool:
    return part.object.startswith(CUTS)


def _content(file: Path) -> bytes:
    return retried(read_file, file)
