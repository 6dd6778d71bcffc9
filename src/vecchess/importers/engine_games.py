"""Games of a UCI engine against itself as shards: several engines at a time, and resumable."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from vecchess.chess.chess960 import start_positions
from vecchess.config.import_settings import EngineGamesConfig
from vecchess.config.settings import MOST_GAMES
from vecchess.importers.engine_label import open_engine
from vecchess.importers.engine_pool import EnginePool, MustStop
from vecchess.importers.engine_selfplay import play_game
from vecchess.importers.import_folder import ImportWriter, OnImportProgress, open_import_folder
from vecchess.importers.imported_game import to_records
from vecchess.importers.opening_file import read_openings
from vecchess.runtime.engines.uci_client import UciEngine, find_engine
from vecchess.store.records import GameRecords


def gather_engine_games(
    config: EngineGamesConfig, out: Path, on_progress: OnImportProgress = lambda _: None
) -> dict[str, Any]:
    """Play until ``out`` holds all games of ``config``; returns facts for JSON.

    Games that are there already are not played again. ``on_progress`` is called twice a second.
    Raises ConfigError for a missing engine or a folder with other games, WorkerDied when an engine
    ends again and again; what was finished is written first, also on Ctrl-C.
    """
    command = find_engine(config.engine)
    with open_engine(command, config.nodes, config.multipv) as engine:
        name = engine.name[:64]

    starts = start_positions(1) if config.openings is None else read_openings(config.openings)

    def make_game(number: int, must_stop: MustStop, engine: UciEngine) -> GameRecords:
        return to_records([play_game(engine, config, number, starts, must_stop)], name)

    facts = config.facts(name)
    if config.openings is not None:
        facts["openings"] = sha256(starts.tobytes()).hexdigest()
    with open_import_folder(out, facts) as folder:
        recorded = set(folder.numbers().tolist())
        missing = (number for number in range(config.games or MOST_GAMES) if number not in recorded)
        writer = ImportWriter(folder, config, config.games, on_progress)
        pool: EnginePool[int] = EnginePool(config, command, writer)
        pool.run(missing, make_game)
        return writer.facts(name)
