"""The disk quota of a run: the setting ``keep_gb``. The oldest games make room for new ones."""

from contextlib import suppress
from time import monotonic

from vecchess.errors import WriteLater
from vecchess.runtime.reporting import ReportLine
from vecchess.store.maintenance.prune_games import GB, down_to, prune
from vecchess.store.manifest import Manifest
from vecchess.store.run_log import LogEvent

INTERVAL_S = 10.0
SHARE_KEPT = 0.95
"""Share of the quota that an excess is pruned to: each pruning writes the manifest anew."""


class DiskQuota:
    """Prunes the games of one manifest when they take more than ``keep_gb``."""

    def __init__(
        self, manifest: Manifest, keep_gb: float, report_line: ReportLine, log_event: LogEvent
    ) -> None:
        """``keep_gb`` 0: no quota. Nothing is looked at yet."""
        self._manifest, self._most_bytes = manifest, keep_gb * GB
        self._report_line, self._log_event = report_line, log_event
        self._sizes: dict[str, int] = {}
        self._next_time = 0.0
        self._has_warned = False

    def enforce(self) -> None:
        """Prune if it is time to look and too much is there. A training's games are spared.

        Raises DataError where the disk fails; what is refused for now is tried again later.
        """
        if not self._most_bytes or monotonic() < self._next_time:
            return
        self._next_time = monotonic() + INTERVAL_S
        if self._num_bytes() > self._most_bytes:
            with suppress(WriteLater):
                self._prune()

    def _prune(self) -> None:
        choose = down_to(SHARE_KEPT * self._most_bytes)
        done = prune(self._manifest, choose, is_training=False)
        if done.games:
            self._log_event("pruned", games=done.games, bytes=done.num_bytes)
        if done.bytes_left > self._most_bytes and not self._has_warned:
            self._has_warned = True
            self._report_line(
                f"games take {done.bytes_left / GB:.2f} GB, more than keep_gb = "
                f"{self._most_bytes / GB:g}: the training still reads them"
            )

    def _num_bytes(self) -> int:
        """Bytes of the listed shards; each file is looked at once."""
        before, self._sizes = self._sizes, {}
        for entry in self._manifest.entries:
            size = before.get(entry.file)
            if size is None:
                with suppress(OSError):
                    size = (self._manifest.folder / entry.file).stat().st_size
            self._sizes[entry.file] = size or 0
        return sum(self._sizes.values())
