"""Games of a UCI engine against itself as shards: several engines at a time, and resumable."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock
from time import monotonic
from typing import Any

from vecchess.config.import_settings import EngineGamesConfig
from vecchess.config.settings import MOST_GAMES
from vecchess.importers.engine_selfplay import (
    SCHEMA,
    GameAbandoned,
    open_engine,
    play_game,
)
from vecchess.importers.import_folder import ImportFolder, open_import_folder
from vecchess.importers.imported_game import ImportedGame
from vecchess.runtime.uci_client import find_engine

POLL_INTERVAL_S = 0.5


@dataclass
class ImportProgress:
    """How far the games have come."""

    games: int
    """Games in the folder or waiting to be written."""
    target: int
    """0: no end."""
    new_games: int = 0
    """Games played by this call."""
    new_plies: int = 0
    seconds: float = 0.0

    @property
    def plies_per_s(self) -> float:
        """Speed of this call."""
        return self.new_plies / max(self.seconds, 1e-9)


OnImportProgress = Callable[[ImportProgress], object]


def gather_engine_games(
    config: EngineGamesConfig, out: Path, on_progress: OnImportProgress = lambda _: None
) -> dict[str, Any]:
    """Play until ``out`` holds all games of ``config``; returns facts for JSON.

    Games that are there already are not played again. ``on_progress`` is called twice a second.
    Raises ConfigError for a missing engine or a folder with other games, WorkerDied when an engine
    ends; what was finished is written first, also on Ctrl-C.
    """
    command = find_engine(config.engine)
    with open_engine(command) as engine:
        name = engine.name[:64]
    with open_import_folder(out, config.facts(name)) as folder:
        recorded = set(folder.numbers().tolist())
        missing = (number for number in range(config.games or MOST_GAMES) if number not in recorded)
        collector = _Collector(config, folder, name, on_progress)
        _play_all(config, command, missing, collector)
        return collector.facts()


class _Collector:
    """Takes finished games from the engines' threads and writes them, in the main thread."""

    def __init__(
        self,
        config: EngineGamesConfig,
        folder: ImportFolder,
        name: str,
        on_progress: OnImportProgress,
    ) -> None:
        self.finished: SimpleQueue[ImportedGame] = SimpleQueue()
        self._config, self._folder, self._name = config, folder, name
        self._on_progress = on_progress
        self._waiting: list[ImportedGame] = []
        self._begin = self._last_write = monotonic()
        self._progress = ImportProgress(folder.stats.games, config.games)

    def collect(self) -> None:
        """Take the finished games; write them if it is time."""
        progress = self._progress
        while not self.finished.empty():
            game = self.finished.get()
            self._waiting.append(game)
            progress.games += 1
            progress.new_games += 1
            progress.new_plies += len(game.actions)
        progress.seconds = monotonic() - self._begin
        is_old = monotonic() - self._last_write >= self._config.shard_interval_s
        if len(self._waiting) >= self._config.shard_games or is_old:
            self.write()
        self._on_progress(progress)

    def write(self) -> None:
        """Write all games that wait."""
        if self._waiting:
            self._folder.write(self._waiting, self._name)
            self._waiting = []
        self._last_write = monotonic()

    def facts(self) -> dict[str, Any]:
        """The outcome, for JSON."""
        progress = self._progress
        return {
            "schema": SCHEMA,
            "engine": self._name,
            "new_games": progress.new_games,
            "new_plies": progress.new_plies,
            "seconds": round(progress.seconds, 1),
            "plies_per_s": round(progress.plies_per_s, 1),
            **self._folder.stats.to_dict(),
        }


def _play_all(
    config: EngineGamesConfig, command: list[str], missing: Iterator[int], collector: _Collector
) -> None:
    """Play the ``missing`` numbers on several threads, an engine each."""
    lock, stop = Lock(), Event()

    def take() -> int | None:
        with lock:
            return None if stop.is_set() else next(missing, None)

    def work() -> None:
        with open_engine(command) as engine, suppress(GameAbandoned):
            while (number := take()) is not None:
                collector.finished.put(play_game(engine, config, number, stop.is_set))

    try:
        with ThreadPoolExecutor(config.concurrency, "engine") as pool:
            threads = [pool.submit(work) for _ in range(config.concurrency)]
            try:
                _collect_until_done(threads, collector)
            finally:
                stop.set()
    finally:
        collector.collect()
        collector.write()


def _collect_until_done(threads: "list[Future[None]]", collector: _Collector) -> None:
    """Collect games until all threads are done; raises the first error of one."""
    going = set(threads)
    while going:
        done, going = wait(going, POLL_INTERVAL_S, FIRST_COMPLETED)
        collector.collect()
        for thread in done:
            thread.result()
