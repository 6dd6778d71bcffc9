"""Several engines at work on many games, a game each; what is finished is written meanwhile."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock
from typing import TypeVar

from vecchess.config.import_settings import EngineConfig
from vecchess.errors import WorkerDied
from vecchess.importers.engine_label import open_engine
from vecchess.importers.import_folder import ImportWriter
from vecchess.runtime.engines.engine_pipe import EngineFailed
from vecchess.runtime.engines.uci_client import RestartedEngine, UciEngine
from vecchess.store.records import GameRecords

T = TypeVar("T")
ATTEMPTS = 3
"""At a game: each with a new process of the engine."""
POLL_INTERVAL_S = 0.5
MustStop = Callable[[], bool]


class GameAbandoned(Exception):  # noqa: N818  (nothing went wrong)
    """A game was left because the caller asked for it."""


def make_games(
    tasks: Iterator[T],
    make_game: Callable[[T, MustStop, UciEngine], GameRecords],
    config: EngineConfig,
    command: list[str],
    writer: ImportWriter,
) -> None:
    """Make a game of each task for ``writer``, on several threads with an engine each.

    ``make_game`` raises EngineFailed, with the place, where its engine failed: it is tried again
    with a new one. Then, and where an engine does not start, WorkerDied or ConfigError is raised;
    what was finished is written first, also on Ctrl-C.
    """
    lock, stop, finished = Lock(), Event(), SimpleQueue[GameRecords]()

    def next_task() -> T | None:
        with lock:
            return None if stop.is_set() else next(tasks, None)

    def work() -> None:
        engine = RestartedEngine(lambda: open_engine(command, config.nodes, config.multipv))
        with closing(engine), suppress(GameAbandoned):
            while (task := next_task()) is not None:
                finished.put(_attempt(engine, partial(make_game, task, stop.is_set)))

    def collect() -> None:
        while not finished.empty():
            writer.add(finished.get())
        writer.advance()

    try:
        with ThreadPoolExecutor(config.concurrency, "engine") as pool:
            going = {pool.submit(work) for _ in range(config.concurrency)}
            try:
                while going:
                    done, going = wait(going, POLL_INTERVAL_S, FIRST_COMPLETED)
                    collect()
                    for thread in done:
                        thread.result()
            finally:
                stop.set()
    finally:
        collect()
        writer.write()


def _attempt(engine: RestartedEngine, make_game: Callable[[UciEngine], GameRecords]) -> GameRecords:
    """What ``make_game`` makes; raises WorkerDied where each of ATTEMPTS engines failed."""
    for _ in range(ATTEMPTS):
        try:
            with engine.running() as running:
                return make_game(running)
        except EngineFailed as error:
            failure = error
    raise WorkerDied(
        f"the engine failed {ATTEMPTS} times, the last in {failure}; finished games are saved, "
        "the same command goes on from there"
    )
