"""Games of a run decoded for people: recorded actions as moves in UCI and SAN.

Plain Python, so that no kernel has to be compiled. The moves of a game in progress are kept,
and only new ones are decoded.

Decision 155.
"""

from dataclasses import dataclass

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.pgn import RESULTS, start_board
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.errors import DataError
from vecchess.store.records import VALUE_UNIT, GameRecords


@dataclass(frozen=True)
class DecodedGame:
    """A game that is being played, or one that is recorded.

    Entries of lists over plies are of the position before the ply; ``win`` and ``draw`` are the
    mover's, out of 511, as recorded (``store/records.py``), and void where ``white_score`` is None.
    """

    number: int
    """Number in its run."""
    worker: int | None
    """Worker that plays it; None for recorded games, where it is not known."""
    seat: int
    """Its place among those that the worker shows; -1 for recorded games."""
    start_fen: str
    fen: str
    """After the last move."""
    ucis: list[str]
    """Castling is king takes rook where ``chess960``, else a step of two."""
    sans: list[str]
    white_score: list[float | None]
    """White's expected score, 0 to 1; None where the position was not evaluated."""
    win: list[int]
    draw: list[int]
    steps: list[int]
    """Time steps the network took; 0 where it was not asked."""
    visits: list[int]
    """Simulations of the search; 0 where there was none."""
    result: str
    """ "1-0", "0-1", "1/2-1/2", or "*" of a game in progress."""
    termination: str
    """``chess.rules.Termination`` in lower case: "checkmate", "ongoing", ..."""
    is_live: bool
    net: str
    """What chose the last moves: sha256 of a network, or the name of another player."""
    chess960: bool


class DecodedMoves:
    """The moves of one game from its start on."""

    def __init__(self, start: NDArray[np.uint64], chess960: bool) -> None:
        """``start``: uint64[8]. ``chess960``: the run plays Chess960. Raises DataError where this
        is no position."""
        try:
            self.board = start_board(start, chess960)
        except (ValueError, IndexError, OverflowError) as error:
            raise DataError(f"a game begins with no position: {error}") from None
        if self.board.king(chess.WHITE) is None or self.board.king(chess.BLACK) is None:
            raise DataError("a game begins without both kings")
        self.start_fen = self.board.fen()
        self.ucis: list[str] = []
        self.sans: list[str] = []
        self._actions: list[int] = []

    def is_prefix_of(self, actions: list[int]) -> bool:
        """Whether ``actions`` begin with the actions decoded so far."""
        return actions[: len(self._actions)] == self._actions

    def extend(self, actions: list[int]) -> None:
        """Decode the actions after those decoded so far. Raises DataError at an illegal one."""
        for action in actions[len(self._actions) :]:
            move = action_to_chess_move(self.board, action)
            if move is None:
                raise DataError(f"action {action} is no legal move in {self.board.fen()}")
            self.ucis.append(self.board.uci(move))
            self.sans.append(self.board.san(move))
            self.board.push(move)
            self._actions.append(action)


def decode_moves(
    known: DecodedMoves | None, records: GameRecords, row: int, chess960: bool
) -> DecodedMoves:
    """The moves of game ``row``, continuing ``known``. Raises DataError where one is not legal."""
    actions = records.action[records.plies(row)].tolist()
    if known is None or not known.is_prefix_of(actions):
        known = DecodedMoves(records.start[row], chess960)
    known.extend(actions)
    return known


def decode_game(
    records: GameRecords, row: int, moves: DecodedMoves, worker: int | None
) -> DecodedGame:
    """Game ``row`` of ``records``, whose ``moves`` are decoded."""
    plies, termination = records.plies(row), Termination(records.termination[row])
    is_live = termination is Termination.ONGOING
    win, draw = records.win[plies].astype(int), records.draw[plies].astype(int)
    steps, visits = records.steps[plies].tolist(), records.visits[plies].tolist()
    score = (win + draw / 2) / VALUE_UNIT
    black_first = " b " in moves.start_fen
    white = score.copy()
    white[1 - black_first :: 2] = 1 - score[1 - black_first :: 2]
    judged = records.evaluated(plies)
    return DecodedGame(
        number=int(records.numbers[row]),
        worker=worker,
        seat=row if is_live else -1,
        start_fen=moves.start_fen,
        fen=moves.board.fen(),
        ucis=list(moves.ucis),
        sans=list(moves.sans),
        white_score=[
            round(value, 4) if known else None
            for value, known in zip(white.tolist(), judged.tolist(), strict=True)
        ],
        win=win.tolist(),
        draw=draw.tolist(),
        steps=steps,
        visits=visits,
        result="*" if is_live else RESULTS[int(np.sign(records.result[row]))],
        termination=termination.name.lower(),
        is_live=is_live,
        net=records.spans(row)[-1][1],
        chess960=moves.board.chess960,
    )
