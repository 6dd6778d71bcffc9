"""A player that is a UCI engine: a few processes of it, a game of the match on each at a time."""

from queue import Empty, SimpleQueue

import numpy as np

from vecchess.arena.player_protocol import MoveReplies, MoveRequests
from vecchess.arena.players.uci_options import EngineOptions
from vecchess.arena.players.uci_process import EngineDesk
from vecchess.importers.find_engine import find_engine

WAIT_S = 0.02


class UciPlayer:
    """Hands each lane to one of its processes.

    With a clock each process plays one game at a time, so that no move waits for another's. With
    other limits it hops between games. Where no time limits it, it is told "ucinewgame" before
    every move: what it plays then depends on the game alone, if the engine can repeat a move.
    """

    def __init__(self, command: str, options: EngineOptions, processes: int, name: str) -> None:
        """Start so many processes of ``command``; raises ConfigError for an engine that will not
        do."""
        self.name = name
        self.max_games = processes if options.clock else None
        self._outbox: SimpleQueue[MoveReplies | BaseException] = SimpleQueue()
        self._num_asked = 0
        self.command = find_engine(command)
        """The program and its arguments."""
        self._desks: list[EngineDesk] = []
        try:
            for _ in range(processes):
                self._desks.append(EngineDesk(self.command, options, self._outbox))
        except BaseException:
            self.close()
            raise
        self.engine_name = self._desks[0].engine_name
        """What the engine calls itself."""

    @property
    def is_idle(self) -> bool:
        """See ``Player``."""
        return self._num_asked == 0

    def ask(self, turns: MoveRequests) -> None:
        """See ``Player``."""
        self._num_asked += len(turns)
        for place in range(len(turns)):
            desk = self._desks[int(turns.lanes[place]) % len(self._desks)]
            desk.inbox.put(turns.take(np.array([place])))

    def replies(self) -> MoveReplies:
        """See ``Player``. Raises ConfigError where an engine does not start again."""
        parts: list[MoveReplies] = []
        try:
            while True:
                found = self._outbox.get(block=not parts, timeout=WAIT_S)
                if isinstance(found, BaseException):
                    raise found
                parts.append(found)
        except Empty:
            pass
        self._num_asked -= len(parts)
        return MoveReplies.joined(parts)

    def close(self) -> None:
        """See ``Player``."""
        for desk in self._desks:
            desk.close()
