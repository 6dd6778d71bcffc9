"""The journal of a rewrite: which files of a ``games`` folder it may make superfluous.

``maintenance/rewrite.py`` writes it. A run adopts none of the files that it names.
"""

from pathlib import Path

from vecchess.errors import DataError, FileUnreadable
from vecchess.runtime.retried_read import read_file, retried
from vecchess.safe_parse import clip_line, parse_json_object

SCHEMA = 1
JOURNAL_NAME = "rewriting.json"
REWRITTEN_PREFIX = "compact-"
"""Prefix of shards that a rewrite makes: only a rewrite adds them to a manifest."""
_MOST_BYTES = 1 << 26


def journal_names(folder: Path) -> set[str]:
    """The files that a rewrite in progress, or a killed one, names; none without one.

    Raises DataError where the journal is damaged, FileUnreadable where it cannot be read.
    """
    path = folder / JOURNAL_NAME
    try:
        data = retried(lambda: _read(path))
        if not data:
            return set()
        values = parse_json_object(data, _MOST_BYTES)
        if values["schema"] != SCHEMA:
            raise ValueError(f"schema {values['schema']}; this vecchess reads {SCHEMA}")
        return {str(name) for name in values["files"] if "/" not in str(name)}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged: {clip_line(error)}; remove it") from None


def _read(path: Path) -> bytes:
    """The bytes of the journal; none where there is no journal."""
    try:
        return read_file(path)
    except FileUnreadable:
        if not path.exists():
            return b""
        raise
