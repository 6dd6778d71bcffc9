"""Recorded games for the tests of exports: played by the server, with searches made up."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from tests.selfplay.playing import LoudBackend, play, recorded_games
from vecchess.chess.action import moves_to_actions
from vecchess.chess.fen import from_fens
from vecchess.chess.movegen import legal_moves
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig, SelfplayConfig, to_toml
from vecchess.export.game_source import RecordedGame
from vecchess.importers.imported_game import ImportedGame, to_records
from vecchess.shapes import TARGET_UNIT
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.replay_positions import replay_moves
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard

SEED = 7


@cache
def played(chess960: bool = False) -> GameRecords:
    """Eight games of up to 60 plies, the first three at random, by a network without a search."""
    config = GameConfig(max_plies=60, random_plies=3, chess960=chess960)
    return play(config, 8, LoudBackend(16), seed=SEED)


@cache
def searched(chess960: bool = False) -> GameRecords:
    """The same games as if searches had chosen: of four plies one is random, one fast, one full
    without a target, one full with a target over some of the legal moves."""
    records = played(chess960)
    draw = np.random.default_rng(3)
    kind = draw.integers(0, 4, len(records.action))
    moves, num_moves = legal_moves(replay_moves(records).positions)
    targets = [
        _target(draw, row[:count]) if chosen == 3 else {}
        for row, count, chosen in zip(moves, num_moves, kind, strict=True)
    ]
    offsets = np.concatenate([[0], np.cumsum([len(target) for target in targets])])
    return replace(
        records,
        steps=np.where(kind == 0, 0, records.steps).astype(np.uint8),
        prob=np.where(kind == 0, 0.05, 1).astype(np.float32),
        visits=np.where(kind > 0, draw.integers(2, 900, len(kind)), 0).astype(np.uint32),
        thought=np.where(kind > 0, draw.integers(2, 3000, len(kind)), 0).astype(np.uint32),
        full=(kind > 1).astype(np.uint8),
        target_offsets=offsets.astype(np.int64),
        target_action=np.array([code for t in targets for code in t], np.uint16),
        target_prob=np.array([part for t in targets for part in t.values()], np.uint16),
    )


def _target(draw: np.random.Generator, moves: np.ndarray) -> dict[int, int]:
    """Some of ``moves``, by action code, with weights."""
    chosen = draw.choice(moves, min(len(moves), 5), replace=False)
    codes = np.sort(moves_to_actions(chosen))
    weights = draw.dirichlet(np.ones(len(codes))) * TARGET_UNIT
    return {int(code): round(weight) for code, weight in zip(codes, weights, strict=True)}


def games_of(records: GameRecords, chess960: bool = False) -> list[RecordedGame]:
    return list(recorded_games(records, SEED, chess960))


def from_others(fens: list[str], moves: list[list[int]]) -> GameRecords:
    """Drawn games that nobody judged, from ``fens``, by ``moves`` in the mover's view."""
    games = [
        ImportedGame(number, start, 0, Termination.ADJUDICATION, moves_to_actions(played).tolist())
        for number, (start, played) in enumerate(zip(from_fens(fens), moves, strict=True))
    ]
    return to_records(games, "pgn")


def make_run(path: Path, records: GameRecords, shards: list[list[int]]) -> RunFolder:
    """A run whose shards hold the games of these indices."""
    run = RunFolder(path)
    run.create()
    run.config.write_text(to_toml(SelfplayConfig(seed=SEED)))
    manifest = Manifest(run.games)
    for index, rows in enumerate(shards):
        part = concatenate([records.take(np.array([row])) for row in rows])
        name = f"{index}.npz"
        manifest.append(ShardEntry.of(name, write_shard(run.games / name, part), part))
    return run


def with_a_bad_shard() -> tuple[GameRecords, list[list[int]]]:
    """Three shards of one game each; the second begins with a move that cannot be made."""
    records = played().take(np.arange(3))
    action = records.action.copy()
    action[records.offsets[1]] = 0  # a1a2, where a pawn stands
    return replace(records, action=action), [[0], [1], [2]]
