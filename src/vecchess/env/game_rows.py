"""Games as arrays, one a row, and the record through which kernels reach them."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.history import MOST_POSITIONS, Pasts
from vecchess.chess.position import Positions
from vecchess.chess.rules import KEY_HISTORY
from vecchess.memory_layout import F32, I32, I64, U8, U64, Array, Record
from vecchess.shapes import MAX_MOVES, POSITION_WORDS


class GameRows(NamedTuple):
    """G games, in progress or over. A row depends on no other.

    positions: uint64[G, 8] (``chess.position``), keys: uint64[G, 102] (``chess.rules``), past:
    uint64[G, 8, 8] the positions before (``chess.history``), [G, 0, 8] where none are seen,
    repetitions: uint8[G] earlier occurrences of the position in its game, numbers: int64[G] of the
    games, starts: int32[G] where each began, a row of the start table, plies: int32[G] since then,
    codes: uint8[G] of ``Termination``, legal: uint16[G, 218] actions of the legal moves, in the
    order of generation; items behind them mean nothing. num_legal: uint8[G], 0 where the game is
    over.
    """

    positions: Positions
    keys: NDArray[np.uint64]
    past: Pasts
    repetitions: NDArray[np.uint8]
    numbers: NDArray[np.int64]
    starts: NDArray[np.int32]
    plies: NDArray[np.int32]
    codes: NDArray[np.uint8]
    legal: NDArray[np.uint16]
    num_legal: NDArray[np.uint8]

    @classmethod
    def empty(cls, num_games: int, has_past: bool) -> Self:
        """Rows whose content means nothing before games are started in them."""
        return cls(
            positions=np.zeros((num_games, POSITION_WORDS), np.uint64),
            keys=np.zeros((num_games, KEY_HISTORY), np.uint64),
            past=np.zeros((num_games, MOST_POSITIONS * has_past, POSITION_WORDS), np.uint64),
            repetitions=np.zeros(num_games, np.uint8),
            numbers=np.arange(num_games, dtype=np.int64),
            starts=np.zeros(num_games, np.int32),
            plies=np.zeros(num_games, np.int32),
            codes=np.zeros(num_games, np.uint8),
            legal=np.zeros((num_games, MAX_MOVES), np.uint16),
            num_legal=np.zeros(num_games, np.uint8),
        )

    def copy(self) -> "GameRows":
        """The same games in memory of their own."""
        return GameRows._make(array.copy() for array in self)


class EnvRecord(Record):
    """The addresses of an environment's memory, and what its games are played by."""

    tables: I64
    """the lookup tables of ``chess``"""
    positions: I64
    keys: I64
    past: I64
    """0 where no earlier positions are seen"""
    repetitions: Array[U8]
    numbers: Array[I64]
    starts: Array[I32]
    plies: Array[I32]
    codes: Array[U8]
    legal: I64
    num_legal: Array[U8]
    actions: Array[I64]
    rewards: Array[F32]
    ended: Array[U8]
    final_positions: I64
    final_plies: Array[I32]
    masks: I64
    """uint8[G, 4672], or 0"""
    observations: I64
    """what is seen after each step, or 0"""
    item_bytes: I64
    """of an unpacked plane's element, 0 for packed planes"""
    one: U64
    """the bits of an unpacked 1"""
    num_planes: I64
    start_table: I64
    num_starts: I64
    seed: U64
    num_games: I64
    random_plies: I64
    max_plies: I64
    auto_reset: I64
