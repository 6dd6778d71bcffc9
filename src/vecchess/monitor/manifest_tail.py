"""Reads the manifest of a run in progress: shards and counts, each line once."""

from pathlib import Path

from vecchess.monitor.log_tail import LogTail
from vecchess.safe_parse import parse_json_object
from vecchess.store.manifest import MANIFEST_NAME, ShardEntry
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
                entry = _entry(line)
                if entry is not None:
                    self.entries.append(entry)
                    self.stats.add(entry.stats)
        return changed


def _entry(line: bytes) -> ShardEntry | None:
    try:
        return ShardEntry.from_dict(parse_json_object(line))
    except (ValueError, KeyError, TypeError):
        return None
