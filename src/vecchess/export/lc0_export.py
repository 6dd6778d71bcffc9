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

A record is ``V6TrainingData``, 8,356 bytes: order and sizes are those of lc0's
src/trainingdata/trainingdata_v6.h (packed, little endian), the meaning of the fields is told there
and in trainingdata.cc. Point of view: the mover's.

    probabilities   over lc0's 1858 moves (``lc0.lc0_moves``); -1 for those that are not legal
    planes          8 positions of 13 planes: own pawns, knights, bishops, rooks, queens, king,
                    theirs, and whether it occurred before; the newest position first, all as the
                    mover of the newest sees the board; a1 is the highest bit of the first byte
    castling        1 where it may be done; in CASTLING_PLANE the rook's file, as one of 8 bits
    q, d            P(win) - P(loss), P(draw)
    m, plies_left   plies

Decisions 102, 103 and 104.
"""

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.movegen import legal_moves
from vecchess.chess.position import CLOCK_MASK, COLOUR_SHIFT, COUNTERS
from vecchess.chess.rules import FIFTY_MOVES_PLIES, Termination
from vecchess.errors import ConfigError
from vecchess.export.game_source import ExportSource, OnExported, RecordedGame
from vecchess.lc0.lc0_moves import move_indices
from vecchess.lc0.lc0_planes import (
    CASTLING_PLANE,
    CLASSICAL,
    NUM_POSITIONS,
    PLANES_PER_POSITION,
    castling_rooks,
    game_planes,
)
from vecchess.runtime.atomic_output import whole_folder
from vecchess.store.records import VALUE_UNIT
from vecchess.store.targets import lay_out_targets

VERSION = 6

HISTORY_ONLY = 1 << 6
"""Bit of ``invariance_info``: lc0's rescorer keeps the position for what follows, and then leaves
it out: nothing is to be learnt from it."""
ADJUDICATED = 1 << 5
"""Bit of ``invariance_info``: the game did not end on the board."""
LENGTH_EXCEEDED = 1 << 4
"""Bit of ``invariance_info``: nor by adjudication: it was too long."""

RECORD = np.dtype(
    [
        ("version", "<u4"),
        ("input_format", "<u4"),
        ("probabilities", "<f4", (1858,)),
        ("planes", "<u8", (NUM_POSITIONS * PLANES_PER_POSITION,)),
        ("castling_us_ooo", "u1"),
        ("castling_us_oo", "u1"),
        ("castling_them_ooo", "u1"),
        ("castling_them_oo", "u1"),
        ("side_to_move_or_enpassant", "u1"),
        ("rule50_count", "u1"),
        ("invariance_info", "u1"),
        ("dummy", "u1"),
        ("root_q", "<f4"),
        ("best_q", "<f4"),
        ("root_d", "<f4"),
        ("best_d", "<f4"),
        ("root_m", "<f4"),
        ("best_m", "<f4"),
        ("plies_left", "<f4"),
        ("result_q", "<f4"),
        ("result_d", "<f4"),
        ("played_q", "<f4"),
        ("played_d", "<f4"),
        ("played_m", "<f4"),
        ("orig_q", "<f4"),
        ("orig_d", "<f4"),
        ("orig_m", "<f4"),
        ("visits", "<u4"),
        ("played_idx", "<u2"),
        ("best_idx", "<u2"),
        ("policy_kld", "<f4"),
        ("q_st", "<f4"),
    ]
)
"""``V6TrainingData`` field by field; packed, as numpy's structures are."""


COMPRESSION = 6
"""gzip's usual level, which lc0 takes too."""


def export_lc0(
    source: ExportSource, out: Path, on_exported: OnExported = lambda done, total: None
) -> tuple[int, int]:
    """Write the games of ``source`` to the folder ``out``; ``game_<number>.gz`` as lc0 calls them.
    Returns the numbers of games and plies written.

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
    return games, plies


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
    for name, rooks in zip(_CASTLING, castling_rooks(game.positions).T, strict=True):
        chunk[name] = rooks if game.chess960 else rooks > 0  # of Chess960 the rook's file
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
