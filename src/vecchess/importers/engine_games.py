"""Games of a UCI engine against itself as shards: several engines at a time, and resumable."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock
from time import monotonic
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from vecchess.importers.find_engine import find_engine
from vecchess.importers.folder import ImportFolder, open_folder
from vecchess.importers.move_records import ImportedGame
from vecchess.importers.uci_selfplay import EngineSelfplay, GameAbandoned

SCHEMA = 1
LOOK_INTERVAL_S = 0.5


class EngineGamesConfig(BaseModel):
    """What ``vecchess gather engine`` is told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: str
    """Program that speaks UCI."""
    games: Annotated[int, Field(ge=1)] = 1000
    """Games in the folder when all is done, those of earlier calls included."""
    nodes: Annotated[int, Field(ge=1)] = 500
    """Positions the engine looks at for a move."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 1
    """Engines at a time, one game each."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of the random moves."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 8
    """Uniformly random plies before the engine takes over."""
    random_move_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of random moves later on: the engine then shows how to go on from there."""
    max_plies: Annotated[int, Field(ge=61, le=8192)] = 512
    """Games still going after so many plies are drawn, and counted as such."""
    shard_games: Annotated[int, Field(ge=1)] = 100
    """Games in a shard."""
    shard_interval_s: Annotated[float, Field(gt=0)] = 60.0
    """A shard is written after this time at the latest."""

    def facts(self, name: str) -> dict[str, Any]:
        """What decides the games, for ``gather.json``."""
        decisive = {"nodes", "seed", "random_plies", "random_move_share", "max_plies"}
        return {"schema": SCHEMA, "source": name, **self.model_dump(include=decisive)}


@dataclass
class ImportProgress:
    """Where the gathering stands, for whoever watches."""

    games: int
    """Games in the folder or waiting to be written."""
    target: int
    new_games: int
    """Games played by this call."""
    new_plies: int
    seconds: float

    @property
    def plies_per_s(self) -> float:
        """Speed of this call."""
        return self.new_plies / max(self.seconds, 1e-9)


OnImportProgress = Callable[[ImportProgress], object]


def gather_engine_games(
    config: EngineGamesConfig, out: Path, watch: OnImportProgress = lambda _: None
) -> dict[str, Any]:
    """Play until ``out`` holds all games of ``config``; returns facts for JSON.

    Games that are there already are not played again. ``watch`` is called twice a second. Raises
    ConfigError for a missing engine or a folder with other games, WorkerDied when an engine ends;
    what was finished is written first, also on Ctrl-C.
    """
    command = find_engine(config.engine)
    with EngineSelfplay(command) as player:
        name = player.name[:64]
    with open_folder(out, config.facts(name)) as folder:
        recorded = set(folder.numbers().tolist())
        missing = (number for number in range(config.games) if number not in recorded)
        collector = _Collector(config, folder, name, watch)
        _play_all(config, command, missing, collector)
        return collector.facts()


class _Collector:
    """Takes finished games and writes them, in the main thread."""

    def __init__(
        self, config: EngineGamesConfig, folder: ImportFolder, name: str, watch: OnImportProgress
    ) -> None:
        self._config = config
        self._folder = folder
        self._name = name
        self._watch = watch
        self._waiting: list[ImportedGame] = []
        self._begin = self._last_write = monotonic()
        self._standing = ImportProgress(folder.stats.games, config.games, 0, 0, 0.0)

    def look(self, finished: "SimpleQueue[ImportedGame]") -> None:
        """Take what is finished; write it if it is time."""
        while not finished.empty():
            game = finished.get()
            self._waiting.append(game)
            self._standing.games += 1
            self._standing.new_games += 1
            self._standing.new_plies += len(game.actions)
        self._standing.seconds = monotonic() - self._begin
        is_old = monotonic() - self._last_write >= self._config.shard_interval_s
        if len(self._waiting) >= self._config.shard_games or is_old:
            self.write()
        self._watch(self._standing)

    def write(self) -> None:
        """Write all that waits."""
        if self._waiting:
            self._folder.write(self._waiting, self._name)
            self._waiting = []
        self._last_write = monotonic()

    def facts(self) -> dict[str, Any]:
        """The outcome, for JSON."""
        standing = self._standing
        return {
            "schema": SCHEMA,
            "engine": self._name,
            "new_games": standing.new_games,
            "new_plies": standing.new_plies,
            "seconds": round(standing.seconds, 1),
            "plies_per_s": round(standing.plies_per_s, 1),
            **self._folder.stats.to_dict(),
        }


def _play_all(
    config: EngineGamesConfig, command: list[str], missing: Iterator[int], collector: _Collector
) -> None:
    """Play the ``missing`` numbers on several threads, an engine each."""
    lock, stop = Lock(), Event()
    finished: SimpleQueue[ImportedGame] = SimpleQueue()

    def take() -> int | None:
        with lock:
            return None if stop.is_set() else next(missing, None)

    def work() -> None:
        with EngineSelfplay(command) as player, suppress(GameAbandoned):
            while (number := take()) is not None:
                finished.put(_play_one(config, player, number, stop))

    try:
        with ThreadPoolExecutor(config.concurrency, "engine") as pool:
            players = [pool.submit(work) for _ in range(config.concurrency)]
            try:
                _watch_over(players, finished, collector)
            finally:
                stop.set()
    finally:
        collector.look(finished)
        collector.write()


def _play_one(
    config: EngineGamesConfig, player: EngineSelfplay, number: int, stop: Event
) -> ImportedGame:
    return player.play(
        number,
        config.seed,
        config.nodes,
        config.random_plies,
        config.random_move_share,
        config.max_plies,
        stop.is_set,
    )


def _watch_over(
    players: "list[Future[None]]", finished: "SimpleQueue[ImportedGame]", collector: _Collector
) -> None:
    """Collect until all are done; raises the first error."""
    going = set(players)
    while going:
        done, going = wait(going, LOOK_INTERVAL_S, FIRST_COMPLETED)
        collector.look(finished)
        for player in done:
            player.result()
