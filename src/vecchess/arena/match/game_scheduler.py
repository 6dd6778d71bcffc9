"""Plays the games of a match: many at a time, each in a slot, moved by two players in threads.

    games to play --> slots --> requests --> two players, each in a thread of its own
                        ^                                  |
                        +-- moves, adjudication <-- replies

A slot whose game is over takes the next one, so that the batches of networks stay full.

Decision 135.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.match.adjudication import NO_POINTS, Adjudicator
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import NO_FORFEIT, MoveReplies, MoveRequests, Player
from vecchess.chess.game_arrays import Games
from vecchess.chess.rules import Termination
from vecchess.config import Adjudication

WAIT_S = 0.2
"""``GameScheduler.games`` yields at least so often, whether games ended or not."""
Outbox = SimpleQueue[MoveReplies | BaseException]


class PlayerThread:
    """Lets one player think in a thread of its own."""

    def __init__(self, player: Player, outbox: Outbox) -> None:
        """Start the thread. ``outbox`` gets its replies, or the exception that it raised."""
        self._player, self._outbox = player, outbox
        self._inbox: SimpleQueue[MoveRequests | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="vecchess-player", daemon=True)
        self._thread.start()

    def ask(self, requests: MoveRequests) -> None:
        """Give ``requests`` to the player; the replies come in parts and in any order."""
        self._inbox.put(requests)

    def stop(self) -> None:
        """End the thread; the moves that the player is thinking about are dropped."""
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._pass_requests_on():
                replies = self._player.replies()
                if len(replies):
                    self._outbox.put(replies)
        except BaseException as error:
            self._outbox.put(error)

    def _pass_requests_on(self) -> bool:
        """Give the player its requests, waiting for some while it is idle; False: stop."""
        try:
            while True:
                requests = self._inbox.get(block=self._player.is_idle)
                if requests is None:
                    return False
                self._player.ask(requests)
        except Empty:
            return True


class GameScheduler:
    """Plays games between two players, which may be one and the same."""

    def __init__(
        self,
        players: tuple[Player, Player],
        openings: Games,
        numbers: Sequence[int],
        num_slots: int,
        rules: Adjudication | None = None,
    ) -> None:
        """The games with these ``numbers``, up to ``num_slots`` at a time, in this order.

        Opening p % N of the N ``openings`` is played in games 2 p and 2 p + 1: the first player
        has the first move after it in the one, the second in the other.
        """
        num_slots = min(num_slots, len(numbers))
        self._openings = openings
        self._numbers = iter(numbers)
        self._boards = openings.take(np.zeros(num_slots, np.int64))
        self._game = np.zeros(num_slots, np.int64)
        self._values = np.zeros((num_slots, openings.moves.shape[1]), np.float32)
        self._visits = np.zeros((num_slots, openings.moves.shape[1]), np.int32)
        self._adjudicator = Adjudicator(rules or Adjudication(), num_slots)
        self._outbox: Outbox = SimpleQueue()
        first = PlayerThread(players[0], self._outbox)
        same = players[0] is players[1]
        self._threads = [first, first if same else PlayerThread(players[1], self._outbox)]
        self._num_open = 0
        self.plies = 0
        """Made so far by the players, in all games."""

    def games(self) -> Iterator[list[MatchGame]]:
        """Play; yields games as they end, and an empty list now and then while none does.

        To be called once. Raises what a player raised.
        """
        self._begin_games(np.arange(len(self._game)))
        while self._num_open:
            ended: list[MatchGame] = []
            for replies in self._receive():
                ended += self._apply(replies)
            yield ended

    def close(self) -> None:
        """Stop the players' threads."""
        for thread in dict.fromkeys(self._threads):
            thread.stop()

    def _receive(self) -> list[MoveReplies]:
        """All replies that have come; waits a while for the first."""
        parts: list[MoveReplies] = []
        try:
            while True:
                item = self._outbox.get(block=not parts, timeout=WAIT_S)
                if isinstance(item, BaseException):
                    raise item
                parts.append(item)
        except Empty:
            return parts

    def _begin_games(self, slots: NDArray[np.int64]) -> None:
        """Begin the next games in ``slots``, as many as there are, and ask for moves."""
        numbers = np.fromiter(islice(self._numbers, len(slots)), np.int64)
        slots = slots[: len(numbers)]
        self._num_open += len(slots)
        self._game[slots] = numbers
        self._boards.put(slots, self._openings, self._opening_of(numbers))
        self._values[slots] = np.nan
        self._visits[slots] = 0
        self._adjudicator.begin(slots)
        self._ask(slots)

    def _opening_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which opening the games of these numbers begin with, int64[K]."""
        return numbers // 2 % self._openings.num_games

    def _ask(self, slots: NDArray[np.int64]) -> None:
        """Ask the players to move in ``slots``."""
        numbers, plies = self._game[slots], self._boards.plies[slots]
        mover = (numbers + plies - self._openings.plies[self._opening_of(numbers)]) % 2
        for number, thread in enumerate(self._threads):
            own = slots[mover == number]
            if len(own):
                thread.ask(MoveRequests.of(self._boards, own, self._game[own]))

    def _apply(self, replies: MoveReplies) -> list[MatchGame]:
        """Make the moves of ``replies``, and ask for the next; returns the games that ended."""
        ended = self._forfeited(replies) | self._make_moves(replies)
        going = np.array([slot for slot in replies.slots.tolist() if slot not in ended], np.int64)
        self._ask(going)
        self._num_open -= len(ended)
        self._begin_games(np.array(sorted(ended), np.int64))
        return list(ended.values())

    def _forfeited(self, replies: MoveReplies) -> dict[int, MatchGame]:
        """The games, by slot, that a player lost instead of moving."""
        lost = np.flatnonzero(replies.forfeits)
        slots, codes = replies.slots[lost], replies.forfeits[lost]
        points = np.where(self._boards.colours[slots] == 0, 0.0, 1.0)
        return self._finished(slots, codes, points)

    def _make_moves(self, replies: MoveReplies) -> dict[int, MatchGame]:
        """Make the moves, all of them legal; returns the games, by slot, that ended."""
        replies = replies.take(np.flatnonzero(replies.forfeits == NO_FORFEIT))
        slots, boards = replies.slots, self._boards
        was_white, plies = boards.colours[slots] == 0, boards.plies[slots]
        self._values[slots, plies] = replies.values
        self._visits[slots, plies] = replies.visits
        boards.play(slots, replies.moves)
        self.plies += len(slots)
        points = self._adjudicator.adjudicate(boards, replies)
        codes = boards.codes[slots]
        by_rule = np.where(codes == Termination.CHECKMATE, 1.0, 0.5)
        points = np.where(points == NO_POINTS, by_rule, points)
        over = codes != Termination.ONGOING
        white_points = np.where(was_white, points, 1 - points)
        return self._finished(slots[over], codes[over], white_points[over])

    def _finished(
        self,
        slots: NDArray[np.int64],
        codes: NDArray[np.uint8],
        white_points: NDArray[np.float64],
    ) -> dict[int, MatchGame]:
        """The games of ``slots``, int64[K], which are over, by slot."""
        boards, numbers = self._boards, self._game[slots]
        opening_plies = self._openings.plies[self._opening_of(numbers)]
        white_began = self._openings.colours[self._opening_of(numbers)] == 0
        games = {}
        for row, slot in enumerate(slots.tolist()):
            plies = int(boards.plies[slot])
            games[slot] = MatchGame(
                number=int(numbers[row]),
                start=boards.begun[slot].copy(),
                opening_plies=int(opening_plies[row]),
                moves=boards.moves[slot, :plies].copy(),
                values=self._values[slot, :plies].copy(),
                visits=self._visits[slot, :plies].copy(),
                ending=int(codes[row]),
                white_points=float(white_points[row]),
                first_is_white=bool(white_began[row]) == (int(numbers[row]) % 2 == 0),
            )
        return games
