"""Shards that are written but not recorded: the disk has no room for a line in the manifest."""

from collections.abc import Callable
from time import monotonic

from vecchess.errors import DiskFull
from vecchess.selfplay.ledger import Ledger
from vecchess.store.manifest import ShardEntry

RETRY_S = 1.0


class Backlog:
    """Records shards in their order, as soon as there is room."""

    def __init__(self, ledger: Ledger, note: Callable[[str], object]) -> None:
        """Empty. ``note`` hears when shards have to wait, and when no longer."""
        self._ledger, self._note = ledger, note
        self._waiting: list[tuple[int, ShardEntry]] = []
        self._next_try = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether every shard that was added is recorded."""
        return not self._waiting

    def add(self, worker: int, entry: ShardEntry) -> None:
        """Record a shard that ``worker`` reports; raises DataError as ``Ledger.record`` does."""
        self._waiting.append((worker, entry))
        if len(self._waiting) == 1:
            self._next_try = 0.0
            self.record()

    def record(self) -> None:
        """Record what waits, if it is time to try. Raises DataError as ``Ledger.record`` does."""
        had_to_wait = self._next_try > 0
        while self._waiting and monotonic() >= self._next_try:
            try:
                self._ledger.record(*self._waiting[0])
            except DiskFull as error:
                if not had_to_wait:
                    self._note(f"{error}: what workers have written is recorded when there is room")
                self._next_try = monotonic() + RETRY_S
                return
            del self._waiting[0]
        if had_to_wait and self.is_empty:
            self._next_try = 0.0
            self._note("there is room on the disk again: shards are recorded")

    def forget(self, worker: int) -> None:
        """Leave what ``worker`` wrote to ``Ledger.release``, which finds it on the disk."""
        self._waiting = [waiting for waiting in self._waiting if waiting[0] != worker]
