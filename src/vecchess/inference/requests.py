"""Questions put to the network and their answers: one row a game, reused for every move.

A game has at most one question open, so what travels between movers, engine and backend is the
row's number, and the arrays stay where they are: a mover writes a question into its row, and the
backend writes the answer into the same row.

Decision 31.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.history import Pasts
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import encode_planes
from vecchess.chess.position import Positions
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES

POLICY_BYTES, WDL_BYTES = 4 * MAX_MOVES, 4 * NUM_OUTCOMES
"""Bytes of one row, for kernels that are given addresses; ``chess.action`` has ``LEGAL_BYTES``."""


class Requests(NamedTuple):
    """Struct of arrays with R rows, for Python and for kernels. Point of view: the mover's.

    Question, written by the mover that owns the row, before it submits the row:
        planes: uint64[R, P]     input words: planes as bitboards, and inputs of moves behind them
                                 where the network reads any (``chess.planes``)
        legal: uint16[R, L]      actions of the legal moves, in the order of generation
        num_legal: uint8[R]      how many of them count, 1 to 218

    Answer, written by the backend between submission and harvest:
        policy: int32[R, L]      accumulators of the legal actions, in the order of ``legal``;
                                 what follows them is undefined
        wdl: int32[R, 3]         accumulators of win, draw, loss
        steps: uint8[R]          time steps the answer took
    """

    planes: NDArray[np.uint64]
    legal: NDArray[np.uint16]
    num_legal: NDArray[np.uint8]
    policy: NDArray[np.int32]
    wdl: NDArray[np.int32]
    steps: NDArray[np.uint8]

    @classmethod
    def empty(cls, num_rows: int, num_planes: int) -> Self:
        """Rows without questions."""
        return cls(
            planes=np.zeros((num_rows, num_planes), np.uint64),
            legal=np.zeros((num_rows, MAX_MOVES), np.uint16),
            num_legal=np.zeros(num_rows, np.uint8),
            policy=np.zeros((num_rows, MAX_MOVES), np.int32),
            wdl=np.zeros((num_rows, NUM_OUTCOMES), np.int32),
            steps=np.zeros(num_rows, np.uint8),
        )

    @classmethod
    def at(
        cls,
        positions: Positions,
        num_planes: int,
        past: Pasts | None = None,
        repetitions: ArrayLike = 0,
    ) -> Self:
        """A row for each of ``positions``: uint64[R, 8]; see ``encode_planes``."""
        moves, num_moves = legal_moves(positions)
        requests = cls.empty(len(positions), num_planes)
        requests.planes[:] = encode_planes(positions, repetitions, past, num_planes)
        requests.num_legal[:] = num_moves
        listed = np.arange(MAX_MOVES) < num_moves[:, None]
        requests.legal[listed] = moves_to_actions(moves[listed])
        return requests

    @property
    def num_rows(self) -> int:
        """R."""
        return len(self.num_legal)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return sum(array.nbytes for array in self)

    def part(self, rows: slice) -> "Requests":
        """The rows of a slice: the same memory, numbered from 0."""
        return Requests._make(array[rows] for array in self)
