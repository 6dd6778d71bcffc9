"""The lanes of a match, a game in each, and the two seats they are played from.

    games to play --> lanes --> turns --> seats: two players, each in a thread of its own
                        ^                                  |
                        +---- moves, referee <-- replies <-+

A lane whose game is over takes the next one, so that the batches of networks stay full.
"""

from collections.abc import Iterator
from itertools import islice
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.game_batch import GameBatch
from vecchess.arena.match.adjudication import NO_POINTS, Referee
from vecchess.arena.match.player_thread import Outbox, PlayerThread
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import NO_FORFEIT, MoveReplies, Player
from vecchess.chess.rules import Termination
from vecchess.config import Adjudication

WAIT_S = 0.2
"""Whoever looks on gets a turn so often, whether games ended or not."""


class GameScheduler:
    """Plays games between two players, who may be one and the same."""

    def __init__(
        self,
        players: tuple[Player, Player],
        openings: GameBatch,
        num_games: int,
        num_lanes: int,
        rules: Adjudication | None = None,
    ) -> None:
        """Games 0 .. ``num_games`` - 1, up to ``num_lanes`` at a time, in the order of numbers.

        Opening p % N of the N ``openings`` is played in games 2 p and 2 p + 1: the first player
        has the first move after it in the one, the second in the other.
        """
        num_lanes = min(num_lanes, num_games)
        self._openings = openings
        self._numbers = iter(range(num_games))
        self._boards = openings.take(np.zeros(num_lanes, np.int64))
        self._game = np.zeros(num_lanes, np.int64)
        self._values = np.zeros((num_lanes, openings.max_plies), np.float32)
        self._visits = np.zeros((num_lanes, openings.max_plies), np.int32)
        self._referee = Referee(rules or Adjudication(), num_lanes)
        self._outbox: Outbox = SimpleQueue()
        self._seats = [PlayerThread(players[0], 0, self._outbox)]
        same = players[0] is players[1]
        self._seats.append(self._seats[0] if same else PlayerThread(players[1], 1, self._outbox))
        self._num_open = 0
        self.plies = 0
        """Made so far by the players, in all games."""

    def games(self) -> Iterator[list[MatchGame]]:
        """Play; yields games as they end, and an empty list now and then while none does.

        To be called once. Raises what a player raised.
        """
        self._begin(np.arange(len(self._game)))
        while self._num_open:
            ended: list[MatchGame] = []
            for replies in self._received():
                ended += self._go_on(replies)
            yield ended

    def close(self) -> None:
        """Let the players go; what they are at is left."""
        for seat in dict.fromkeys(self._seats):
            seat.leave()

    def _received(self) -> list[MoveReplies]:
        """What the seats have to say; waits for it a while."""
        parts: list[MoveReplies] = []
        try:
            while True:
                found = self._outbox.get(block=not parts, timeout=WAIT_S)
                if isinstance(found, BaseException):
                    raise found
                parts.append(found[1])
        except Empty:
            return parts

    def _begin(self, lanes: NDArray[np.int64]) -> None:
        """Let the next games begin in ``lanes``, as many as there are, and ask for a move."""
        numbers = np.fromiter(islice(self._numbers, len(lanes)), np.int64)
        lanes = lanes[: len(numbers)]
        self._num_open += len(lanes)
        self._game[lanes] = numbers
        self._boards.put(lanes, self._openings, self._opening_of(numbers))
        self._values[lanes] = np.nan
        self._visits[lanes] = 0
        self._referee.begin(lanes)
        self._ask(lanes)

    def _opening_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which opening the games of these numbers begin with, int64[K]."""
        return numbers // 2 % len(self._openings)

    def _ask(self, lanes: NDArray[np.int64]) -> None:
        """Ask whoever is to move in ``lanes``."""
        numbers, plies = self._game[lanes], self._boards.plies[lanes]
        mover = (numbers + plies - self._openings.plies[self._opening_of(numbers)]) % 2
        for number, seat in enumerate(self._seats):
            own = lanes[mover == number]
            if len(own):
                seat.ask(self._boards.turns(own, self._game[own]))

    def _go_on(self, replies: MoveReplies) -> list[MatchGame]:
        """Make the moves of ``replies``, and ask for the next; returns the games that ended."""
        ended = self._forfeited(replies) | self._played(replies)
        going = np.array([lane for lane in replies.lanes.tolist() if lane not in ended], np.int64)
        self._ask(going)
        self._num_open -= len(ended)
        self._begin(np.array(sorted(ended), np.int64))
        return list(ended.values())

    def _forfeited(self, replies: MoveReplies) -> dict[int, MatchGame]:
        """The games, by lane, that somebody lost instead of moving."""
        lost = np.flatnonzero(replies.forfeits)
        lanes, codes = replies.lanes[lost], replies.forfeits[lost]
        points = np.where(self._boards.white_to_move(lanes), 0.0, 1.0)
        return self._finished(lanes, codes, points)

    def _played(self, replies: MoveReplies) -> dict[int, MatchGame]:
        """Make the moves, all of them legal; returns the games, by lane, that ended."""
        replies = replies.take(np.flatnonzero(replies.forfeits == NO_FORFEIT))
        lanes, boards = replies.lanes, self._boards
        was_white, plies = boards.white_to_move(lanes), boards.plies[lanes]
        self._values[lanes, plies] = replies.values
        self._visits[lanes, plies] = replies.visits
        boards.play(lanes, replies.moves)
        self.plies += len(lanes)
        points = self._referee.judge(boards, replies)
        codes = boards.codes[lanes]
        by_rule = np.where(codes == Termination.CHECKMATE, 1.0, 0.5)
        points = np.where(points == NO_POINTS, by_rule, points)
        over = codes != Termination.ONGOING
        white_points = np.where(was_white, points, 1 - points)
        return self._finished(lanes[over], codes[over], white_points[over])

    def _finished(
        self,
        lanes: NDArray[np.int64],
        codes: NDArray[np.uint8],
        white_points: NDArray[np.float64],
    ) -> dict[int, MatchGame]:
        """The games of ``lanes``, int64[K], which are over, by lane."""
        boards, numbers = self._boards, self._game[lanes]
        opening_plies = self._openings.plies[self._opening_of(numbers)]
        white_began = self._openings.white_to_move(self._opening_of(numbers))
        found = {}
        for place, lane in enumerate(lanes.tolist()):
            plies = int(boards.plies[lane])
            found[lane] = MatchGame(
                number=int(numbers[place]),
                start=boards.starts[lane].copy(),
                opening_plies=int(opening_plies[place]),
                moves=boards.moves[lane, :plies].copy(),
                values=self._values[lane, :plies].copy(),
                visits=self._visits[lane, :plies].copy(),
                ending=int(codes[place]),
                white_points=float(white_points[place]),
                first_is_white=bool(white_began[place]) == (int(numbers[place]) % 2 == 0),
            )
        return found
