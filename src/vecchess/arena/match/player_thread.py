"""A seat at the table: a player in a thread of its own. MoveRequests go in, replies come out."""

from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeAlias

from vecchess.arena.player_protocol import MoveReplies, MoveRequests, Player

Outbox: TypeAlias = "SimpleQueue[tuple[int, MoveReplies] | BaseException]"
"""MoveReplies with the number of the seat they come from, or what a player raised."""


class PlayerThread:
    """Lets one player think while others do."""

    def __init__(self, player: Player, number: int, outbox: Outbox) -> None:
        """The thread starts now."""
        self._player, self._number, self._outbox = player, number, outbox
        self._inbox: SimpleQueue[MoveRequests | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=f"player-{number}", daemon=True)
        self._thread.start()

    def ask(self, turns: MoveRequests) -> None:
        """Hand ``turns`` to the player; it replies in the outbox, in parts and in any order."""
        self._inbox.put(turns)

    def leave(self) -> None:
        """End the thread; what the player is thinking about is left."""
        self._inbox.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            while self._listen():
                replies = self._player.replies()
                if len(replies):
                    self._outbox.put((self._number, replies))
        except BaseException as error:
            self._outbox.put(error)

    def _listen(self) -> bool:
        """Hand on what was asked, waiting for it if there is nothing to think about; False: end."""
        try:
            while True:
                turns = self._inbox.get(block=self._player.is_idle)
                if turns is None:
                    return False
                self._player.ask(turns)
        except Empty:
            return True
