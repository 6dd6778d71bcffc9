"""Shards that are written but not recorded: the disk has no room for a line in the manifest."""

from collections.abc import Callable
from time import monotonic

from vecchess.errors import DiskFull
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.store.manifest import ShardEntry

RETRY_S = 1.0


class PendingShards:
    """Writes to the manifest in their order, as soon as there is room."""

    def __init__(self, ledger: GameLedger, note: Callable[[str], object]) -> None:
        """Empty. ``note`` hears when shards have to wait, and when no longer."""
        self._ledger, self._note = ledger, note
        self._waiting: list[tuple[int, ShardEntry]] = []
        self._next_try = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether every shard that was added is recorded."""
        return not self._waiting

    @property
    def num_games(self) -> int:
        """Games of the shards that wait."""
        return sum(entry.stats.games for _, entry in self._waiting)

    def add(self, worker: int, entry: ShardEntry) -> None:
        """Record a shard that ``worker`` reports; raises DataError, see ``GameLedger.record``."""
        self._waiting.append((worker, entry))
        self.record()

    def record(self) -> None:
        """Record what waits, if it is time to try. Raises DataError, see ``GameLedger.record``."""
        while self._waiting and self.attempt(lambda: self._ledger.record(*self._waiting[0])):
            del self._waiting[0]

    def attempt(self, work: Callable[[], object]) -> bool:
        """Do what writes to the manifest, unless there was no room for it a moment ago.

        False where it has to be tried again. Raises what ``work`` does but for DiskFull.
        """
        if monotonic() < self._next_try:
            return False
        try:
            work()
        except DiskFull as error:
            if not self._next_try:
                self._note(f"{error}: what workers have written is recorded when there is room")
            self._next_try = monotonic() + RETRY_S
            return False
        if self._next_try:
            self._next_try = 0.0
            self._note("there is room on the disk again: shards are recorded")
        return True

    def forget(self, worker: int) -> None:
        """Leave what ``worker`` wrote to ``GameLedger.release``, which finds it on the disk."""
        self._waiting = [waiting for waiting in self._waiting if waiting[0] != worker]
