"""What a user names as ``--data``, as places with shards: PGN files are gathered into the run."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from vecchess.errors import ConfigError
from vecchess.importers.pgn_import import import_pgn
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.runtime.reporting import ReportLine
from vecchess.store.sources import check_source

PGN_SUFFIX = ".pgn"


def check_data(places: Sequence[Path]) -> None:
    """Raise ConfigError for a place that is not there or holds no games: nothing is made yet."""
    for place in places:
        if not place.exists():
            raise ConfigError(f"there is no PGN file, run, folder or shard {place}")
        if not _is_pgn(place):
            check_source(place)
        elif place.is_file() and not place.stat().st_size:
            raise ConfigError(f"{place} is empty")


def shards_of(
    places: Sequence[Path], folder: Path, report_line: ReportLine, gathers: bool
) -> list[Path]:
    """``places``, each PGN file replaced by a folder of shards in ``folder``.

    Where that is not there yet it is made, if this process ``gathers``: one of a machine does.
    Raises ConfigError with the file, game and move where a game is not right.
    """
    found = []
    for index, place in enumerate(places):
        if not _is_pgn(place):
            found.append(place)
            continue
        out = folder / f"{index}-{place.stem}"
        if gathers and not out.exists():
            counts = _gather(place, out)
            report_line(f"{place}: {counts} games gathered into {out}")
        found.append(out)
    return found


def _is_pgn(place: Path) -> bool:
    return place.suffix.lower() == PGN_SUFFIX


def _gather(file: Path, out: Path) -> int:
    """Gather ``file`` into ``out``, whole or not at all; returns the number of games."""
    partial = out.with_name(PARTIAL_PREFIX + out.name)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        counts = import_pgn([file], partial)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return counts.games
