"""Positions of recorded games labelled by a UCI engine: several engines at a time, and resumable.

A labelled game keeps its moves and its result; every M-th position has the engine's policy target
and value in place of what was recorded, and the others teach nothing (``train/data/shard_block``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vecchess.chess.pgn import start_board
from vecchess.chess.uci_moves import to_chess_move
from vecchess.config.import_settings import EngineLabelsConfig, LabelsConfig
from vecchess.importers.engine_label import ask_engine, open_engine
from vecchess.importers.engine_pool import GameAbandoned, MustStop, make_games
from vecchess.importers.import_folder import (
    ImportFolder,
    ImportWriter,
    OnImportProgress,
    open_import_folder,
)
from vecchess.importers.imported_game import PlyLabel, columns_of_labels
from vecchess.importers.recorded_places import check_places, count_games, recorded_games
from vecchess.rng import random_word
from vecchess.runtime.engines.engine_pipe import EngineFailed, EngineFault
from vecchess.runtime.engines.uci_client import UciEngine, find_engine
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.store.records import GameRecords, empty_fingerprint_columns
from vecchess.store.replay_positions import replay_moves


def gather_labels(
    config: EngineLabelsConfig,
    places: Sequence[Path],
    out: Path,
    skip_bad: bool = False,
    on_progress: OnImportProgress = lambda _: None,
    report_line: ReportLine = no_report,
) -> dict[str, Any]:
    """Label the games of ``places`` that ``out`` does not hold yet; returns facts for JSON.

    ``skip_bad`` leaves out bad games of PGN files; ``on_progress`` is called twice a second.
    Raises ConfigError for a missing engine or place and for a folder with other games, WorkerDied
    when an engine ends again and again; what was finished is written first, also on Ctrl-C.
    """
    command = find_engine(config.engine)
    check_places(places)
    with open_engine(command, config.nodes, config.multipv) as engine:
        name = engine.name[:64]

    def make_game(game: GameRecords, must_stop: MustStop, engine: UciEngine) -> GameRecords:
        return label_game(engine, config, game, must_stop)

    with open_import_folder(out, config.facts(name, places)) as folder:
        writer = ImportWriter(folder, count_games(places), on_progress)
        unlabelled = unlabelled_games(config, places, folder, skip_bad, report_line)
        make_games(unlabelled, make_game, config, command, writer)
        return writer.facts(name)


def unlabelled_games(
    config: LabelsConfig,
    places: Sequence[Path],
    folder: ImportFolder,
    skip_bad: bool,
    report_line: ReportLine,
) -> Iterator[GameRecords]:
    """The games of ``places``, one at a time, that have a position to label and are not in
    ``folder``. Raises as ``recorded_games``."""
    recorded = set(folder.numbers().tolist())
    for game in recorded_games(places, skip_bad, report_line):
        if int(game.numbers[0]) not in recorded and labelled_plies(config, game):
            yield game


def labelled_plies(config: LabelsConfig, game: GameRecords) -> range:
    """The plies of one game to label: they depend on the seed and its number alone."""
    first = random_word(config.seed, int(game.numbers[0]), 0) % config.every
    return range(first, len(game.action), config.every)


def label_game(
    engine: UciEngine, config: EngineLabelsConfig, game: GameRecords, must_stop: MustStop
) -> GameRecords:
    """One game with the labels of ``engine`` instead of what was recorded.

    Raises GameAbandoned once ``must_stop()`` is true, EngineFailed where the engine ended or gave
    no legal move or no score, DataError where a recorded move is illegal.
    """
    number, plies = int(game.numbers[0]), labelled_plies(config, game)
    board = start_board(game.start[0])
    labels: list[PlyLabel | None] = [None] * len(game.action)
    for ply, move in enumerate(replay_moves(game).moves[: plies[-1] + 1].tolist()):
        if ply in plies:
            if must_stop():
                raise GameAbandoned
            _, labels[ply] = ask_engine(engine, board, number, config, has_target=True)
            if labels[ply] is None:
                reason = f"game {number}, ply {ply}: it gives no score"
                raise EngineFailed(EngineFault.ILLEGAL_MOVE, reason)
        board.push(to_chess_move(board, move))
    columns: dict[str, Any] = columns_of_labels(labels) | empty_fingerprint_columns(1, len(labels))
    return replace(game, steps=np.zeros(len(labels), np.uint8), **columns)
