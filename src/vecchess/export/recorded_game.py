"""One recorded game, as the writers of all formats read it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import to_board
from vecchess.chess.pgn import start_board
from vecchess.chess.position import Positions
from vecchess.chess.rules import Termination
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import ReplayedMoves, replay_moves


@dataclass(frozen=True)
class RecordedGame:
    """Game ``index`` of ``records``, whose moves are ``replayed``."""

    records: GameRecords
    replayed: ReplayedMoves
    index: int
    seed: int | None
    """The run's; None for games that no run of ours played."""
    chess960: bool
    """Castling is Chess960's."""

    @property
    def number(self) -> int:
        """In its run or folder."""
        return int(self.records.numbers[self.index])

    @property
    def num_plies(self) -> int:
        """Moves made."""
        return len(self.moves)

    @cached_property
    def plies(self) -> slice:
        """Its part of the ply columns."""
        first, end = self.records.offsets[self.index : self.index + 2]
        return slice(int(first), int(end))

    @property
    def positions(self) -> Positions:
        """uint64[plies, 8]: before each ply, mover's view."""
        return self.replayed.positions[self.plies]

    @property
    def moves(self) -> NDArray[np.uint16]:
        """uint16[plies]: played, mover's view."""
        return self.replayed.moves[self.plies]

    @property
    def result(self) -> int:
        """1 White won, 0 draw, -1 Black won."""
        return int(self.records.result[self.index])

    @property
    def termination(self) -> Termination:
        """Reason of the end."""
        return Termination(self.records.termination[self.index])

    @property
    def nets(self) -> list[str]:
        """Sources of the moves, one name a span: sha256 of networks, names of others."""
        spans = slice(*self.records.span_offsets[self.index : self.index + 2])
        return [self.records.nets[net] for net in self.records.span_net[spans]]

    @cached_property
    def evaluated(self) -> NDArray[np.bool_]:
        """bool[plies]: the position was evaluated, so that its value means something."""
        return (self.records.steps[self.plies] > 0) | (self.records.visits[self.plies] > 0)

    @cached_property
    def balance(self) -> NDArray[np.float64]:
        """float64[plies]: P(win) - P(loss), -1 to 1, mover's view, where it was evaluated."""
        win, draw = (self.column(name).astype(np.float64) for name in ("win", "draw"))
        return (2 * win + draw - VALUE_UNIT) / VALUE_UNIT

    def column(self, name: str) -> NDArray[Any]:
        """The game's part of a ply column of ``GameRecords``."""
        part: NDArray[Any] = getattr(self.records, name)[self.plies]
        return part

    def start_board(self) -> chess.Board:
        """Before the first move."""
        return start_board(self.records.start[self.index], self.chess960)


def recorded_games(
    records: GameRecords, seed: int | None = None, chess960: bool = False
) -> Iterator[RecordedGame]:
    """The games of ``records`` in their order; see ``open_game``. Raises DataError."""
    replayed = replay_moves(records)
    for index in range(records.num_games):
        yield open_game(records, replayed, index, seed, chess960)


def open_game(
    records: GameRecords, replayed: ReplayedMoves, index: int, seed: int | None, chess960: bool
) -> RecordedGame:
    """Game ``index``; castling is Chess960's where ``chess960``, or where the start needs it."""
    own = to_board(records.start[index]).has_chess960_castling_rights()
    return RecordedGame(records, replayed, index, seed, chess960 or own)
