"""The games of runs, folders of shards, shards and PGN files, one at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from vecchess.errors import ConfigError, DataError
from vecchess.importers.imported_game import to_records
from vecchess.importers.pgn_import import SOURCE, ImportCounts, finished_games, is_pgn
from vecchess.runtime.reporting import ReportLine
from vecchess.store.id_set import IdSet
from vecchess.store.records import GameRecords
from vecchess.store.shard import read_shards
from vecchess.store.sources import check_source, find_shards

MOST_GAMES_OF_A_PLACE = 1 << 40


def check_places(places: Sequence[Path]) -> None:
    """Raise ConfigError for a place that does not exist or holds no games; writes nothing."""
    for place in places:
        if not place.exists():
            raise ConfigError(f"there is no PGN file, run, folder or shard {place}")
        if not is_pgn(place):
            check_source(place)
        elif place.is_file() and not place.stat().st_size:
            raise ConfigError(f"{place} is empty")


def count_games(places: Sequence[Path]) -> int:
    """The games of all ``places``; 0, for unknown, where one is a PGN file."""
    if any(map(is_pgn, places)):
        return 0
    return sum(len(shard.numbers()) for shard in find_shards(places))


def recorded_games(
    places: Sequence[Path], skip_bad: bool, report_line: ReportLine
) -> Iterator[GameRecords]:
    """Every game of ``places`` as records of its own, read shard by shard.

    Its number is that which it has there, for the second place plus 2**40, for the third 2**41 and
    so on: games that come to a place later change no number. Games of a PGN file count from 0.
    A damaged shard is left out and reported, with ``skip_bad`` a bad game of a PGN file too. Raises
    ConfigError for one without, DataError where a place has two games of one number.
    """
    for index, place in enumerate(places):
        seen = IdSet()
        for records in _parts(place, skip_bad, report_line):
            numbers = IdSet.of(records.numbers)
            if len(numbers) < records.num_games or numbers & seen:
                raise DataError(f"{place} has two games of one number: give its shards one by one")
            if len(places) > 1 and numbers.span[1] > MOST_GAMES_OF_A_PLACE:
                raise ConfigError(f"{place} has games of several places: label it alone")
            seen |= numbers
            for game in range(records.num_games):
                one = records.take(np.array([game]))
                one.numbers[:] += index * MOST_GAMES_OF_A_PLACE
                yield one


def _parts(place: Path, skip_bad: bool, report_line: ReportLine) -> Iterator[GameRecords]:
    if not is_pgn(place):
        yield from read_shards(find_shards([place]), report_line)
        return
    for game in finished_games(place, skip_bad, ImportCounts()):
        yield to_records([game], SOURCE)
