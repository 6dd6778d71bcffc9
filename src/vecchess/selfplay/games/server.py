"""The self-play server of one process: mover threads around one central inference loop.

    mover threads --- rows with requests ---> outbox ---> engine: slots, one time step a turn
         ^                                                           |
         +------- inbox of each mover <--- rows with answers --------+

Row numbers travel; positions, policies and values stay in the arrays they were written to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from queue import Empty, SimpleQueue
from threading import Thread
from time import thread_time_ns
from typing import Any, Self

import numpy as np

from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.selfplay.games.finished_games import FinishedGames
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.mover import Mover, Rows
from vecchess.store.inflight import SavedGames, join_saved
from vecchess.store.records import GameRecords, concatenate

IDLE_WAIT_S = 0.02
MakeMover = Callable[[Requests, GameIdPool], Mover]
"""Makes the mover of a part of the requests; its rows are numbered from 0."""


@dataclass(frozen=True)
class MoverOutput:
    """What one call of a mover gave."""

    thread: "MoverThread"
    num_batches: int
    """Batches of rows that it was given together."""
    ready: Rows
    """Rows with a new request."""
    vacant: Rows
    """Rows left without a game."""
    finished: list[FinishedGames]
    snapshot: GameRecords | None
    """Some games in progress, if they were requested and there are any."""
    saved: SavedGames | None
    """All games in progress, likewise."""
    has_saved: bool
    """Whether ``saved`` answers a request."""


Outbox = SimpleQueue[MoverOutput | BaseException]


class MoverThread:
    """All methods but the thread's body are called by the server's thread."""

    def __init__(self, mover: Mover, index: int, outbox: Outbox, holds_back: bool) -> None:
        """A thread that is not started; all rows of ``mover`` are vacant.

        holds_back: rows for a mover that is busy wait here until it is not, and wake it once.
        """
        self.mover, self.index = mover, index
        self._holds_back, self._held = holds_back, list[Rows]()
        self.vacant = mover.rows
        """Rows without a game, which wait for one."""
        self.num_pending = 0
        """Batches of rows that are with the mover."""
        self.snapshot: GameRecords | None = None
        self.saved: SavedGames | None = None
        """What the mover reported last when it was asked."""
        self.is_saving = False
        """Whether ``saved`` was requested and has not come yet."""
        self._num_shown = 0
        self._inbox: SimpleQueue[Rows | None] = SimpleQueue()
        self._outbox = outbox
        self._thread = Thread(target=self._run, name=f"mover-{index}", daemon=True)

    def start(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Let the thread end after all rows that were sent."""
        self._wake()
        self._inbox.put(None)

    def join(self) -> None:
        """Wait for the end of a thread that was started."""
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def has_games(self) -> bool:
        """Whether a row has a game."""
        return len(self.vacant) < len(self.mover.rows)

    def send(self, rows: Rows) -> None:
        """Let the mover play on in ``rows``, answered or vacant."""
        self._held.append(rows)
        if not (self._holds_back and self.num_pending):
            self._wake()

    def _wake(self) -> None:
        """Hand the mover what is held back for it."""
        if self._held:
            self.num_pending += 1
            self._inbox.put(np.concatenate(self._held))
            self._held = []

    def fill_vacant(self, most: int) -> int:
        """Start games in up to ``most`` vacant rows; returns in how many."""
        rows = self.vacant[:most]
        if len(rows):
            self.vacant = self.vacant[len(rows) :]
            self.send(rows)
        return len(rows)

    def take_in(self, output: MoverOutput) -> None:
        """Note what a call of the mover gave."""
        self.num_pending -= output.num_batches
        if not self.num_pending:
            self._wake()
        if len(output.vacant):
            self.vacant = np.concatenate([self.vacant, output.vacant])
        if output.snapshot is not None:
            self.snapshot = output.snapshot
        if output.has_saved:
            self.saved, self.is_saving = output.saved, False
        elif not self.has_games:  # it was asked when its last call was over already
            self.is_saving = False

    def request_snapshot(self, most: int) -> None:
        """Have up to ``most`` games in progress reported after the mover's next call."""
        self._num_shown = most

    def request_saved(self) -> None:
        """Have all games in progress, if there are any, reported after the mover's next call."""
        self.saved, self.is_saving = None, self.has_games

    def _take_batches(self) -> list[Rows]:
        """Wait for rows, and take all that came meanwhile, since each call of the mover has its
        price; none where the thread is to end."""
        batches = []
        while (batch := self._inbox.get()) is not None:
            batches.append(batch)
            if self._inbox.empty():
                return batches
        if batches:
            self._inbox.put(None)  # to be seen once these are played
        return batches

    def _run(self) -> None:
        """Body of the thread."""
        try:
            while batches := self._take_batches():
                ready, vacant = self.mover.play(np.concatenate(batches))
                num_shown, self._num_shown = self._num_shown, 0
                snapshot = self.mover.snapshot(num_shown) if num_shown else None
                finished, has_saved = self.mover.take_finished(), self.is_saving
                saved = self.mover.snapshot_inflight() if has_saved else None
                self._outbox.put(
                    MoverOutput(
                        self, len(batches), ready, vacant, finished, snapshot, saved, has_saved
                    )
                )
        except BaseException as error:
            self._outbox.put(error)


class SelfplayServer:
    """Plays the games of ``pool`` with one backend. ``step`` is to be called until idle."""

    def __init__(
        self,
        backend: Backend,
        make_mover: MakeMover,
        num_planes: int,
        num_games: int,
        num_movers: int,
        pool: GameIdPool,
        network: PlayableNet | None = None,
    ) -> None:
        """G = ``num_games`` rows, divided among ``num_movers`` movers.

        network: what ``backend`` computes, None for one that is built in.
        """
        self.network = network
        self.requests = Requests.empty(num_games, num_planes)
        self.engine = SlotEngine(backend, self.requests)
        self.pool = pool
        self._outbox: Outbox = SimpleQueue()
        self._bounds = np.linspace(0, num_games, num_movers + 1).astype(np.int32)
        self.movers = [
            make_mover(self.requests.part(slice(first, end)), pool)
            for first, end in pairwise(self._bounds.tolist())
        ]
        holds_back = getattr(backend, "is_asynchronous", False)
        self._threads = [
            MoverThread(mover, index, self._outbox, holds_back)
            for index, mover in enumerate(self.movers)
        ]
        self._finished: list[FinishedGames] = []

    def start(self) -> None:
        """Start the mover threads."""
        for thread in self._threads:
            thread.start()

    def step(self) -> None:
        """One turn of the central loop: start games, collect requests, advance the network one
        time step, dispatch answers.

        Waits a moment where there is nothing to do. Raises what a mover raised.
        """
        self._start_games()
        self._collect(wait=self.engine.is_idle)
        if not self.engine.is_idle:
            self._dispatch_answers(self.engine.step())

    def close(self) -> None:
        """Let the movers finish what they are at, end their threads, keep the games that ended."""
        for thread in self._threads:
            thread.stop()
        for thread in self._threads:
            thread.join()
        self._collect(wait=False)

    def _start_games(self) -> None:
        """Hand vacant rows to their movers while there are games to start."""
        available = len(self.pool)
        for thread in self._threads:
            available -= thread.fill_vacant(available)

    def _collect(self, wait: bool) -> None:
        """Take in what the movers have done: submit requests, keep finished games."""
        try:
            while True:
                output = self._outbox.get(block=wait, timeout=IDLE_WAIT_S)
                wait = False
                if isinstance(output, BaseException):
                    raise output
                self.engine.submit(output.ready + self._bounds[output.thread.index])
                self._finished += output.finished
                output.thread.take_in(output)
        except Empty:
            pass

    def _dispatch_answers(self, rows: Rows) -> None:
        """Send answered rows to the movers that own them."""
        rows = np.sort(rows)
        cuts = np.searchsorted(rows, self._bounds).tolist()
        parts = zip(self._threads, self._bounds[:-1], pairwise(cuts), strict=True)
        for thread, first, (start, end) in parts:
            if start < end:
                thread.send(rows[start:end] - first)

    @property
    def is_idle(self) -> bool:
        """True when no game is in progress and none can start."""
        is_moving = any(thread.num_pending for thread in self._threads)
        return self.engine.is_idle and not is_moving and not self.pool

    @property
    def net_sha(self) -> str:
        """sha256 of the network that plays, or the name of one that is built in."""
        return self.movers[0].net_sha

    @property
    def num_in_progress(self) -> int:
        """Games in progress."""
        return self.requests.num_rows - sum(len(thread.vacant) for thread in self._threads)

    @property
    def nbytes(self) -> int:
        """Bytes held for the games, outside the network."""
        return self.requests.nbytes + sum(mover.nbytes for mover in self.movers)

    def take_finished(self) -> list[FinishedGames]:
        """Games that ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self, most: int) -> GameRecords | None:
        """About ``most`` games in progress, each mover's as of its first call after the snapshot
        before this one was taken; None where there are none."""
        for thread in self._threads:
            thread.request_snapshot(-(-most // len(self._threads)))
        shown = [thread.snapshot for thread in self._threads if thread.has_games]
        records = [part for part in shown if part is not None]
        return concatenate(records) if records else None

    def request_saved(self) -> None:
        """Have every mover report its games in progress after its next call."""
        for thread in self._threads:
            thread.request_saved()

    @property
    def is_saved(self) -> bool:
        """Whether all movers have reported that were asked."""
        return not any(thread.is_saving for thread in self._threads)

    @property
    def saved(self) -> SavedGames | None:
        """What they reported, and saved games that still wait to be resumed; None if none."""
        reported = [thread.saved for thread in self._threads]
        parts = [*(part for part in reported if part is not None), *self.pool.saved]
        return join_saved(parts) if parts else None

    def saved_now(self) -> SavedGames | None:
        """The games in progress at this moment; the mover threads have ended."""
        for thread in self._threads:
            thread.saved = thread.mover.snapshot_inflight()
        return self.saved

    def drain(self) -> None:
        """Wait for rows that are on their way back without a game. No game may be in progress."""
        while any(thread.num_pending for thread in self._threads):
            self._collect(wait=True)
        assert self.is_idle, "a network is replaced while games go on"
        assert self.num_in_progress == 0, "a game was lost on its way"

    def set_network(self, backend: Backend, network: PlayableNet) -> None:
        """Play the games to come with ``network``, computed by ``backend``.

        The server is drained: each game is played by one network from its start to its end.
        """
        counters = self.engine.counters
        self.engine = SlotEngine(backend, self.requests)
        self.engine.counters = counters
        self.network = network
        for mover in self.movers:
            mover.set_network(
                network.sha256, backend.policy_scale, backend.value_scale, backend.time_steps
            )

    def to_message(self) -> dict[str, Any]:
        """Counters for a pipe: sums since the start. To be called by the thread of ``step``."""
        searches = [mover.search_counters() for mover in self.movers]
        apart = getattr(self.engine.backend, "is_asynchronous", False)
        return self.engine.counters.to_message() | {
            "host_ns": thread_time_ns() if apart else 0,
            "search": {name: sum(part[name] for part in searches) for name in searches[0]},
            "plies": sum(mover.plies for mover in self.movers),
            "mover_busy_ns": sum(mover.busy_ns for mover in self.movers),
            "movers": len(self.movers),
            "slots": self.engine.slots.num_slots,
            "seated": self.num_in_progress,
            "game_bytes": self.nbytes,
            "unstarted": len(self.pool),
        }
