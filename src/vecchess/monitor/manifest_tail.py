"""Reads the manifest of a run in progress: shards and counts, each line once."""

from pathlib import Path

from vecchess.monitor.log_tail import LONGEST_LINE, LogTail
from vecchess.safe_parse import parse_json_object
from vecchess.store.manifest import MANIFEST_NAME, ShardEntry, parse_lines
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
        for offset, block in self._tail.blocks():
            changed = True
            lines = bytes(block).splitlines()
            if offset == 0:
                self.stats.add(_pruned(lines.pop(0)))
            entries = _parsed(lines)
            if entries is None:
                entries = [entry for line in lines for entry in _parsed([line]) or ()]
            self.entries += entries
            self.stats.add(*(entry.stats for entry in entries))
        return changed


def _parsed(lines: list[bytes]) -> list[ShardEntry] | None:
    """The entries of ``lines``; None where one is damaged."""
    try:
        return parse_lines(lines)
    except ValueError:
        return None


def _pruned(head: bytes) -> GameStats:
    """The counts over pruned games, of a manifest's first line."""
    try:
        return GameStats.from_dict(parse_json_object(head, LONGEST_LINE).get("pruned_stats", {}))
    except (ValueError, TypeError):
        return GameStats()
