"""Reads the manifest of a run in progress: shards and counts, each line once."""

from pathlib import Path

from vecchess.monitor.log_tail import LONGEST_LINE, LogTail
from vecchess.safe_parse import parse_json_object
from vecchess.store.manifest import MANIFEST_NAME
from vecchess.store.shard_entry import ShardEntry
from vecchess.store.stats import GameStats


class ManifestTail:
    """The shards of one ``games`` folder and their counts. Damaged lines are left out."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read before ``refresh``; the folder need not exist."""
        self.folder = folder
        self.entries: list[ShardEntry] = []
        self.stats = GameStats()
        """Counts over all of them."""
        self._tail = LogTail(folder / MANIFEST_NAME)

    def refresh(self) -> bool:
        """Read the lines that are new; returns whether anything changed."""
        changed = self._tail.was_replaced()
        if changed:
            self.entries, self.stats = [], GameStats()
        for _, block in self._tail.blocks():
            changed = True
            for line in bytes(block).splitlines():
                entry = _parsed(line)
                if isinstance(entry, ShardEntry):
                    self.entries.append(entry)
                if entry is not None:
                    self.stats.add(entry.stats if isinstance(entry, ShardEntry) else entry)
        return changed


def _parsed(line: bytes) -> ShardEntry | GameStats | None:
    """The entry of a line, or counts over pruned games of the first; None where it is damaged."""
    try:
        values = parse_json_object(line, LONGEST_LINE)
        if "pruned_stats" in values:
            return GameStats.from_dict(values["pruned_stats"])
        return ShardEntry.from_dict(values)
    except (ValueError, KeyError, TypeError):
        return None
