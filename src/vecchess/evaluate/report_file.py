"""Reports of evaluations as JSON files."""

import json
from pathlib import Path
from typing import Any, Protocol

from vecchess import __version__
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.runtime.atomic_write import write_atomically

MOST_REPORT_BYTES = 1 << 24
"""Of a report that is read. Ours have some six kilobytes for each network."""
UNTOLD = {"concurrency", "gpus", "backend", "threads", "sprt"}
"""Settings that decide no game of an evaluation."""


class Found(Protocol):
    """An evaluation, a history."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        ...


def report(found: Found, config: MatchConfig, stopped_by: str, seconds: float) -> dict[str, Any]:
    """What was found and how, ready for JSON. ``stopped_by``: "" where all was played."""
    return found.to_dict() | {
        "settings": config.model_dump(mode="json", exclude=UNTOLD),
        "stopped_by": stopped_by,
        "seconds": round(seconds, 1),
        "vecchess": __version__,
    }


def check_output_file(file: Path | None) -> None:
    """Raise ConfigError where ``file`` could not be written, before hours are spent on it."""
    if file is None:
        return
    if file.is_dir():
        raise ConfigError(f"{file} is a folder: name a file in it")
    if not file.absolute().parent.is_dir():
        raise ConfigError(f"cannot write {file}: there is no folder {file.absolute().parent}")


def write_report(file: Path, values: dict[str, Any]) -> None:
    """Write ``values``, atomically; raises DataError where the disk refuses."""
    write_atomically(file, (json.dumps(values, indent=1) + "\n").encode())
