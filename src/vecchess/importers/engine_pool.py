"""Several engines at work on many games, a game each; what is finished is written meanwhile."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock
from time import monotonic
from typing import Any, Generic, TypeVar

from vecchess.config.import_settings import EngineConfig
from vecchess.errors import WorkerDied
from vecchess.importers.engine_label import open_engine
from vecchess.importers.import_folder import ImportFolder
from vecchess.runtime.engines.engine_pipe import EngineFailed
from vecchess.runtime.engines.uci_client import UciEngine
from vecchess.store.records import GameRecords, concatenate

T = TypeVar("T")
SCHEMA = 1
ATTEMPTS = 3
"""At a game: each with a new process of the engine."""
POLL_INTERVAL_S = 0.5
MustStop = Callable[[], bool]


class GameAbandoned(Exception):  # noqa: N818  (nothing went wrong)
    """A game was left because the caller asked for it."""


@dataclass
class ImportProgress:
    """How far the games have come."""

    games: int
    """Games in the folder or waiting to be written."""
    target: int
    """0: no end, or unknown."""
    new_games: int = 0
    """Games finished by this call."""
    new_plies: int = 0
    new_positions: int = 0
    """Of these plies the ones with the engine's evaluation."""
    seconds: float = 0.0

    @property
    def plies_per_s(self) -> float:
        """Speed of this call."""
        return self.new_plies / max(self.seconds, 1e-9)

    @property
    def positions_per_s(self) -> float:
        """Speed of this call."""
        return self.new_positions / max(self.seconds, 1e-9)


OnImportProgress = Callable[[ImportProgress], object]


class EnginePool(Generic[T]):
    """Processes of one engine, and the folder for the games that are made with them."""

    def __init__(
        self,
        config: EngineConfig,
        command: list[str],
        folder: ImportFolder,
        target: int,
        on_progress: OnImportProgress,
    ) -> None:
        """``target``: of the progress. Nothing is started yet."""
        self._config, self._command, self._folder = config, command, folder
        self._on_progress = on_progress
        self._finished: SimpleQueue[GameRecords] = SimpleQueue()
        self._waiting: list[GameRecords] = []
        self._begin = self._last_write = monotonic()
        self._progress = ImportProgress(folder.stats.games, target)

    def run(
        self, tasks: Iterator[T], make_game: Callable[[T, MustStop, UciEngine], GameRecords]
    ) -> None:
        """Make a game of each task, on several threads with an engine each.

        ``make_game`` raises EngineFailed, with the place, where its engine failed: it is tried
        again with a new one. Then, and where an engine does not start, WorkerDied or ConfigError is
        raised; what was finished is written first, also on Ctrl-C.
        """
        lock, stop = Lock(), Event()

        def next_task() -> T | None:
            with lock:
                return None if stop.is_set() else next(tasks, None)

        def work() -> None:
            with _Engine(self._command, self._config) as engine, suppress(GameAbandoned):
                while (task := next_task()) is not None:
                    self._finished.put(engine.attempt(partial(make_game, task, stop.is_set)))

        try:
            with ThreadPoolExecutor(self._config.concurrency, "engine") as pool:
                threads = [pool.submit(work) for _ in range(self._config.concurrency)]
                try:
                    self._collect_until_done(threads)
                finally:
                    stop.set()
        finally:
            self._collect()
            self._write()

    def facts(self, name: str) -> dict[str, Any]:
        """The outcome, for JSON; ``name`` is the engine's."""
        progress = self._progress
        return {
            "schema": SCHEMA,
            "engine": name,
            "new_games": progress.new_games,
            "new_plies": progress.new_plies,
            "new_positions": progress.new_positions,
            "seconds": round(progress.seconds, 1),
            "plies_per_s": round(progress.plies_per_s, 1),
            "positions_per_s": round(progress.positions_per_s, 1),
            **self._folder.stats.to_dict(),
        }

    def _collect_until_done(self, threads: "list[Future[None]]") -> None:
        """Collect games until all threads are done; raises the first error of one."""
        going = set(threads)
        while going:
            done, going = wait(going, POLL_INTERVAL_S, FIRST_COMPLETED)
            self._collect()
            for thread in done:
                thread.result()

    def _collect(self) -> None:
        """Take the finished games; write them if it is time."""
        progress = self._progress
        while not self._finished.empty():
            game = self._finished.get()
            self._waiting.append(game)
            progress.games += 1
            progress.new_games += 1
            progress.new_plies += len(game.action)
            progress.new_positions += int((game.visits > 0).sum())
        progress.seconds = monotonic() - self._begin
        is_old = monotonic() - self._last_write >= self._config.shard_interval_s
        if len(self._waiting) >= self._config.shard_games or is_old:
            self._write()
        self._on_progress(progress)

    def _write(self) -> None:
        """Write all games that wait."""
        if self._waiting:
            self._folder.write(concatenate(self._waiting))
            self._waiting = []
        self._last_write = monotonic()


class _Engine:
    """An engine that is started when it is needed, and anew when it fails."""

    def __init__(self, command: list[str], config: EngineConfig) -> None:
        self._command, self._config = command, config
        self._engine: UciEngine | None = None

    def __enter__(self) -> "_Engine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.close()

    def attempt(self, make_game: Callable[[UciEngine], GameRecords]) -> GameRecords:
        """What ``make_game`` makes; raises WorkerDied where each of ATTEMPTS engines failed."""
        for _ in range(ATTEMPTS):
            if self._engine is None:
                self._engine = open_engine(self._command, self._config.nodes, self._config.multipv)
            try:
                return make_game(self._engine)
            except EngineFailed as error:
                failure = error
                self._engine.close()
                self._engine = None
        raise WorkerDied(
            f"the engine failed {ATTEMPTS} times, the last in {failure}; finished games are saved, "
            "the same command goes on from there"
        )
