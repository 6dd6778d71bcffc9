"""The self-play server of one process: mover threads around one central inference loop.

    movers --- rows with questions ---> outbox ---> engine: slots, one time step a turn
       ^                                                        |
       +------- inbox of each mover <--- rows with answers -----+

What travels are row numbers; positions, policies and values stay in the arrays they were made in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.mover import Mover
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.store.inflight import SavedGames, join_saved
from vecchess.store.records import GameRecords, concatenate

Rows = NDArray[np.int32]
IDLE_WAIT_S = 0.02
MakeMover = Callable[[Requests, int, int, GameIdPool], Mover]
"""Makes the mover of so many rows from a first one on."""


@dataclass(frozen=True)
class MoverOutput:
    """What a mover hands back: rows with questions, rows without a game, games that ended."""

    mover: int
    ready: Rows
    vacant: Rows
    finished: GameRecords | None
    glimpse: GameRecords | None
    """Games in progress, where somebody asked to see some."""
    has_saved: bool
    """Whether all games in progress were asked for, to be saved; they are ``saved`` then."""
    saved: SavedGames | None


class SelfplayServer:
    """Plays the games of ``numbers`` with one backend. ``turn`` is to be called until idle."""

    def __init__(
        self,
        backend: Backend,
        make_mover: MakeMover,
        num_planes: int,
        num_games: int,
        num_movers: int,
        numbers: GameIdPool,
        network: IntegerNet | None = None,
    ) -> None:
        """G = ``num_games`` seats, shared out among the movers that ``make_mover`` makes.

        network: what ``backend`` computes, None for one that is built in.
        """
        self.network = network
        self.requests = Requests.empty(num_games, num_planes)
        self.engine = SlotEngine(backend, self.requests)
        self.numbers = numbers
        self._bounds = np.linspace(0, num_games, num_movers + 1).astype(np.int32)
        self.movers = [
            make_mover(self.requests, int(first), int(end - first), numbers)
            for first, end in zip(self._bounds[:-1], self._bounds[1:], strict=True)
        ]
        self._vacant = [mover.rows for mover in self.movers]
        self._inboxes: list[SimpleQueue[Rows | None]] = [SimpleQueue() for _ in self.movers]
        self._outbox: SimpleQueue[MoverOutput | BaseException] = SimpleQueue()
        self._with_movers = [0] * num_movers
        self._finished: list[GameRecords] = []
        self._wanted = [0] * num_movers
        self._glimpses: list[GameRecords | None] = [None] * num_movers
        self._is_to_save = [False] * num_movers
        self._saved: list[SavedGames | None] = [None] * num_movers
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Start the mover threads."""
        for index in range(len(self.movers)):
            thread = Thread(target=self._move, args=(index,), name=f"mover-{index}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """Let the movers finish what they are at, end their threads, keep the games that ended."""
        for inbox in self._inboxes:
            inbox.put(None)
        for thread in self._threads:
            thread.join()
        self._receive(wait=False)

    @property
    def is_idle(self) -> bool:
        """True when no game is in progress and none can start."""
        return self.engine.is_idle and not any(self._with_movers) and not len(self.numbers)

    @property
    def net_sha(self) -> str:
        """sha256 of the network that plays, or the name of one that is built in."""
        return self.movers[0].net_sha

    @property
    def num_seated(self) -> int:
        """Games in progress."""
        return self.requests.num_rows - sum(len(rows) for rows in self._vacant)

    @property
    def nbytes(self) -> int:
        """Bytes held for the games, outside the network."""
        return self.requests.nbytes + sum(mover.nbytes for mover in self.movers)

    def turn(self) -> None:
        """Take in what the movers have ready, advance the network one time step, hand answers out.

        Waits a moment where there is nothing to do. Raises what a mover raised.
        """
        self._fill_vacant_seats()
        self._receive(wait=self.engine.is_idle)
        if self.engine.is_idle:
            return
        answered = self.engine.step()
        if len(answered):
            self._hand_out(answered)

    def come_to_rest(self) -> None:
        """Take rows in that are on their way back without a game. No game may be in progress."""
        while any(self._with_movers):
            self._receive(wait=True)
        assert self.is_idle, "a network is replaced while games go on"
        assert self.num_seated == 0, "a game was lost on its way"

    def take_network(self, backend: Backend, network: IntegerNet) -> None:
        """Play the games to come with ``network``, computed by ``backend``.

        The server is at rest: each game is played by one network from its start to its end.
        """
        counters = self.engine.counters
        self.engine = SlotEngine(backend, self.requests)
        self.engine.counters = counters
        self.network = network
        for mover in self.movers:
            mover.take_network(
                network.sha256, backend.policy_scale, backend.value_scale, backend.time_steps
            )

    def take_finished(self) -> list[GameRecords]:
        """Games that ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def look(self, most: int) -> GameRecords | None:
        """About ``most`` games in progress, as they stood when each mover had last moved after the
        call before this one; None where there are none."""
        self._wanted = [-(-most // len(self.movers))] * len(self.movers)
        seen = [
            glimpse
            for glimpse, mover, vacant in zip(
                self._glimpses, self.movers, self._vacant, strict=True
            )
            if glimpse is not None and len(vacant) < len(mover.rows)
        ]
        return concatenate(seen) if seen else None

    def ask_to_save(self) -> None:
        """Let every mover with a game tell how far its games have come, when it has next moved."""
        for index, (mover, vacant) in enumerate(zip(self.movers, self._vacant, strict=True)):
            self._saved[index] = None
            self._is_to_save[index] = len(vacant) < len(mover.rows)

    @property
    def is_saved(self) -> bool:
        """Whether all have told that were asked."""
        return not any(self._is_to_save)

    @property
    def saved(self) -> SavedGames | None:
        """What they told, and the games that still wait to go on; None if there are none."""
        parts = [*(part for part in self._saved if part is not None), *self.numbers.saved]
        return join_saved(parts) if parts else None

    def saved_now(self) -> SavedGames | None:
        """The same at this moment. The mover threads have ended."""
        self._saved = [mover.saved() for mover in self.movers]
        return self.saved

    def to_message(self) -> dict[str, Any]:
        """Counters for a pipe: sums since the start."""
        searches = [mover.search_counters() for mover in self.movers]
        return self.engine.counters.to_message() | {
            "search": {name: sum(part[name] for part in searches) for name in searches[0]},
            "plies": sum(mover.plies for mover in self.movers),
            "mover_busy_ns": sum(mover.busy_ns for mover in self.movers),
            "movers": len(self.movers),
            "slots": self.engine.slots.num_slots,
            "seated": self.num_seated,
            "game_bytes": self.nbytes,
            "unstarted": len(self.numbers),
        }

    def _fill_vacant_seats(self) -> None:
        """Hand vacant rows to their movers when there are numbers again."""
        available = len(self.numbers)
        for index, rows in enumerate(self._vacant):
            share = rows[:available]
            if len(share):
                available -= len(share)
                self._vacant[index] = rows[len(share) :]
                self._send(index, share)

    def _receive(self, wait: bool) -> None:
        """Submit the questions of every mover that has some ready."""
        try:
            while True:
                turn = self._outbox.get(block=wait, timeout=IDLE_WAIT_S)
                wait = False
                if isinstance(turn, BaseException):
                    raise turn
                self._with_movers[turn.mover] -= 1
                self.engine.submit(turn.ready)
                if len(turn.vacant):
                    self._vacant[turn.mover] = np.concatenate(
                        [self._vacant[turn.mover], turn.vacant]
                    )
                if turn.finished is not None:
                    self._finished.append(turn.finished)
                if turn.glimpse is not None:
                    self._glimpses[turn.mover] = turn.glimpse
                if turn.has_saved:
                    self._saved[turn.mover] = turn.saved
                    self._is_to_save[turn.mover] = False
        except Empty:
            pass

    def _hand_out(self, rows: Rows) -> None:
        """Give answered rows to the movers that own them."""
        if len(self.movers) == 1:
            self._send(0, rows)
            return
        owner = np.searchsorted(self._bounds, rows, side="right") - 1
        for index in range(len(self.movers)):
            mine = rows[owner == index]
            if len(mine):
                self._send(index, mine)

    def _send(self, index: int, rows: Rows) -> None:
        self._with_movers[index] += 1
        self._inboxes[index].put(rows)

    def _move(self, index: int) -> None:
        """Body of a mover thread."""
        mover = self.movers[index]
        try:
            while (rows := self._inboxes[index].get()) is not None:
                ready, vacant = mover.play(rows)
                wanted, self._wanted[index] = self._wanted[index], 0
                glimpse = mover.glimpse(wanted) if wanted else None
                finished, is_to_save = mover.take_finished(), self._is_to_save[index]
                saved = mover.saved() if is_to_save else None
                self._outbox.put(
                    MoverOutput(index, ready, vacant, finished, glimpse, is_to_save, saved)
                )
        except BaseException as error:
            self._outbox.put(error)
