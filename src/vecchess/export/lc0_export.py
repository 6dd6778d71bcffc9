"""Recorded games as training data of lc0: a folder of gzip files, one a game, a V6 record a ply.

Fields of lc0 that our records do not have are filled with the nearest value we know:

    root, best, played   one value is stored a ply, the root's; it stands for all three. Without an
                         evaluation the result does: lc0's rescorer takes no NaN there
    orig                 the network's own answer: known where it was not searched, else NaN
    m                    no network of ours counts the moves left: 0, and NaN for orig
    visits               simulations; 1 where a network chose without a search, as lc0 counts its
                         answer; 0 without an evaluation
    rule50_count         at most 100, where lc0 ends a game and ours end too
    policy_kld, q_st     0, lc0's value for unknown

A ply without a policy target recommends the move that was played. Fast searches and random moves
recommend nothing: they are marked HISTORY_ONLY.

Decisions 102 and 104.
"""

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.movegen import legal_moves
from vecchess.chess.position import CLOCK_MASK, COLOUR_SHIFT, COUNTERS, Positions
from vecchess.chess.rules import FIFTY_MOVES_PLIES, Termination
from vecchess.errors import ConfigError
from vecchess.export.atomic_output import whole_folder
from vecchess.export.game_source import ExportSource, OnExported
from vecchess.export.lc0_record import (
    ADJUDICATED,
    HISTORY_ONLY,
    LENGTH_EXCEEDED,
    RECORD,
    VERSION,
)
from vecchess.export.recorded_game import RecordedGame
from vecchess.lc0.lc0_moves import move_indices
from vecchess.lc0.lc0_planes import CASTLING_PLANE, CLASSICAL, castling_rooks, game_planes
from vecchess.store.records import VALUE_UNIT
from vecchess.store.targets import lay_out_targets

COMPRESSION = 6
"""gzip's usual level, which lc0 takes too."""


class Lc0Counts(NamedTuple):
    """The size of an export."""

    games: int
    plies: int


def export_lc0(
    source: ExportSource, out: Path, on_exported: OnExported = lambda done, total: None
) -> Lc0Counts:
    """Write the games of ``source`` to the folder ``out``; ``game_<number>.gz`` as lc0 calls them.

    Raises ConfigError where ``out`` holds something or two games have one number, DataError where a
    game cannot be read or writing fails. ``out`` is there whole or not at all.
    """
    games = plies = 0
    with whole_folder(out) as folder:
        for game in source.games(on_exported):
            if not game.num_plies:
                continue  # lc0 has no files without a position
            data = gzip.compress(to_chunk(game).tobytes(), COMPRESSION, mtime=0)
            file = folder / f"game_{game.number:06d}.gz"
            if file.exists():
                raise ConfigError(f"two games have number {game.number}: export them one by one")
            file.write_bytes(data)
            games, plies = games + 1, plies + game.num_plies
    return Lc0Counts(games, plies)


NOT_LEGAL = -1.0
_INVARIANCE = {
    Termination.PLY_CAP: ADJUDICATED | LENGTH_EXCEEDED,
    Termination.RESIGNATION: ADJUDICATED,
    Termination.ADJUDICATION: ADJUDICATED,
    Termination.TABLEBASE: ADJUDICATED,
}
_CASTLING = [f"castling_{side}_{wing}" for side in ("us", "them") for wing in ("ooo", "oo")]


def to_chunk(game: RecordedGame) -> NDArray[np.void]:
    """``RECORD[plies]`` of a game. Raises DataError where a recorded target is not legal."""
    chunk = np.zeros(game.num_plies, RECORD)
    chunk["version"] = VERSION
    chunk["input_format"] = CASTLING_PLANE if game.chess960 else CLASSICAL
    chunk["planes"] = game_planes(game.positions)
    clock = game.positions[:, COUNTERS] & np.uint64(CLOCK_MASK)
    chunk["rule50_count"] = np.minimum(clock, FIFTY_MOVES_PLIES)
    chunk["side_to_move_or_enpassant"] = _is_black(game)
    chunk["invariance_info"] = _INVARIANCE.get(game.termination, 0)
    chunk["invariance_info"] |= np.where(_recommends_nothing(game), HISTORY_ONLY, 0).astype("u1")
    _set_castling(chunk, game.positions, game.chess960)
    _set_policy(chunk, game)
    _set_values(chunk, game)
    chunk["plies_left"] = np.arange(game.num_plies, 0, -1)
    return chunk


def _is_black(game: RecordedGame) -> NDArray[np.bool_]:
    is_black: NDArray[np.bool_] = game.positions[:, COUNTERS] >> np.uint64(COLOUR_SHIFT) != 0
    return is_black


def _recommends_nothing(game: RecordedGame) -> NDArray[np.bool_]:
    """bool[plies]: a fast search without a target, or a random move without an evaluation."""
    first, end = game.plies.start, game.plies.stop
    has_target = np.diff(game.records.target_offsets[first : end + 1]) > 0
    is_fast = (game.column("visits") > 0) & (game.column("full") == 0)
    is_random = ~game.evaluated & (game.column("prob") < 1)
    nothing: NDArray[np.bool_] = (is_fast | is_random) & ~has_target
    return nothing


def _set_castling(chunk: NDArray[np.void], positions: Positions, by_file: bool) -> None:
    """Rights of either side; ``by_file``: as the rook's file."""
    for name, rooks in zip(_CASTLING, castling_rooks(positions).T, strict=True):
        chunk[name] = rooks if by_file else rooks > 0


def _set_policy(chunk: NDArray[np.void], game: RecordedGame) -> None:
    """The recommended distribution over the legal moves; best and played move."""
    moves, num_moves = legal_moves(game.positions)
    listed = np.arange(moves.shape[1]) < num_moves[:, None]
    actions = np.zeros_like(moves)
    actions[listed] = moves_to_actions(moves[listed])
    plies = np.arange(game.plies.start, game.plies.stop)
    target = lay_out_targets(game.records, plies, actions, num_moves.astype(np.uint8))
    untargeted = target.sum(axis=1) == 0
    is_played = listed & (moves == game.moves[:, None])
    target[untargeted] = is_played[untargeted]
    indices = move_indices()
    chunk["probabilities"] = NOT_LEGAL
    ply, _ = np.nonzero(listed)
    chunk["probabilities"][ply, indices[moves[listed]]] = target[listed]
    chunk["played_idx"] = indices[game.moves]
    best = np.where(listed, target, NOT_LEGAL).argmax(axis=1)
    chunk["best_idx"] = indices[moves[np.arange(len(moves)), best]]


def _set_values(chunk: NDArray[np.void], game: RecordedGame) -> None:
    """Values, results and visits."""
    steps, visits = game.column("steps"), game.column("visits")
    result = game.result * np.where(_is_black(game), -1, 1)
    chunk["result_q"], chunk["result_d"] = result, game.result == 0
    q = np.where(game.evaluated, game.balance, result)
    d = np.where(game.evaluated, game.column("draw") / np.float64(VALUE_UNIT), game.result == 0)
    for name in ("root", "best", "played"):
        chunk[f"{name}_q"], chunk[f"{name}_d"] = q, d
    is_own = (steps > 0) & (visits == 0)
    chunk["orig_q"], chunk["orig_d"] = np.where(is_own, q, np.nan), np.where(is_own, d, np.nan)
    chunk["orig_m"] = np.nan
    chunk["visits"] = np.where(is_own, 1, visits)
