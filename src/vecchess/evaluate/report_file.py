"""Reports of evaluations as JSON files."""

import json
from pathlib import Path
from typing import Any

from vecchess import __version__
from vecchess.config import MatchConfig
from vecchess.runtime.atomic_write import write_atomically

MOST_REPORT_BYTES = 1 << 24
"""Longer reports are refused. A network takes some six kilobytes."""
NO_INFLUENCE = {"concurrency", "gpus", "backend", "threads", "sprt"}
"""Settings that decide no game of an evaluation."""


def report_facts(
    values: dict[str, Any], config: MatchConfig, stopped_by: str, seconds: float
) -> dict[str, Any]:
    """A report's values with its settings. ``stopped_by``: "" where all was played."""
    return values | {
        "settings": config.model_dump(mode="json", exclude=NO_INFLUENCE),
        "stopped_by": stopped_by,
        "seconds": round(seconds, 1),
        "vecchess": __version__,
    }


def write_report(file: Path, values: dict[str, Any]) -> None:
    """Write ``values``, atomically; raises DataError where writing fails."""
    write_atomically(file, (json.dumps(values, indent=1) + "\n").encode())
