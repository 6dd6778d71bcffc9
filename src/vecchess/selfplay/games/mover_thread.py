"""A mover in a thread of its own: rows go in by its inbox and come back by the server's outbox."""

from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Self

import numpy as np

from vecchess.selfplay.games.finished_games import FinishedGames
from vecchess.selfplay.games.mover import Mover, Rows
from vecchess.store.inflight import SavedGames
from vecchess.store.records import GameRecords


@dataclass(frozen=True)
class MoverOutput:
    """What one call of a mover gave."""

    thread: "MoverThread"
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

    def __init__(self, mover: Mover, index: int, outbox: Outbox) -> None:
        """A thread that is not started; all rows of ``mover`` are vacant."""
        self.mover, self.index = mover, index
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
        """Let the thread end after what is in its inbox."""
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
        self.num_pending += 1
        self._inbox.put(rows)

    def fill_vacant(self, most: int) -> int:
        """Start games in up to ``most`` vacant rows; returns in how many."""
        rows = self.vacant[:most]
        if len(rows):
            self.vacant = self.vacant[len(rows) :]
            self.send(rows)
        return len(rows)

    def take_in(self, output: MoverOutput) -> None:
        """Note what a call of the mover gave."""
        self.num_pending -= 1
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

    def _run(self) -> None:
        """Body of the thread."""
        try:
            while (rows := self._inbox.get()) is not None:
                ready, vacant = self.mover.play(rows)
                num_shown, self._num_shown = self._num_shown, 0
                snapshot = self.mover.snapshot(num_shown) if num_shown else None
                finished, has_saved = self.mover.take_finished(), self.is_saving
                saved = self.mover.snapshot_inflight() if has_saved else None
                self._outbox.put(
                    MoverOutput(self, ready, vacant, finished, snapshot, saved, has_saved)
                )
        except BaseException as error:
            self._outbox.put(error)
