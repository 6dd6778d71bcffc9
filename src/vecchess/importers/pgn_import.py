"""PGN files as shards: the main lines of finished games, read one at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from vecchess.errors import ConfigError
from vecchess.importers.import_folder import ImportFolder, open_import_folder
from vecchess.importers.imported_game import ImportedGame, to_records
from vecchess.importers.pgn_main_line import RESULTS, read_main_line

SCHEMA = 1
SOURCE = "pgn"
"""Stands in the records for a network."""
SHARD_GAMES = 1000
OnPgnProgress = Callable[["ImportCounts"], object]


@dataclass
class ImportCounts:
    """Counts of one import."""

    games: int = 0
    plies: int = 0
    empty: int = 0
    """Left out: headers without moves."""
    unfinished: int = 0
    """Left out: no result."""
    bad: int = 0
    """Left out: an illegal move, a bad position, a contradiction, another game than chess."""
    first_bad: str = ""
    """What was wrong with the first of those."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"schema": SCHEMA, **vars(self)}


def import_pgn(
    files: Sequence[Path],
    out: Path,
    skip_bad: bool = False,
    shard_games: int = SHARD_GAMES,
    on_progress: OnPgnProgress = lambda _: None,
) -> ImportCounts:
    """Record the games of ``files`` in the new folder ``out``, in their order.

    A bad game is an error, or left out and counted with ``skip_bad``; after an error nothing is
    left in ``out``. ``on_progress`` is called after each game. Raises ConfigError with file, game
    and move.
    """
    for file in files:
        if not file.exists() or file.is_dir():
            raise ConfigError(f"there is no file {file}")
    counts = ImportCounts()
    with open_import_folder(out, {"schema": SCHEMA, "source": SOURCE}) as folder:
        if folder.manifest.entries:
            raise ConfigError(f"{out} holds imported games already: choose another --out")
        try:
            _import(files, folder, skip_bad, shard_games, counts, on_progress)
        except BaseException:
            folder.remove()
            raise
    return counts


def finished_games(file: Path, skip_bad: bool, counts: ImportCounts) -> Iterator[ImportedGame]:
    """The finished games of a file, numbered on from ``counts``, which counts the others too.

    A bad game raises ConfigError, or is left out with ``skip_bad``.
    """
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as handle:
            yield from _finished(handle, file, skip_bad, counts)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None


def _import(
    files: Sequence[Path], folder: ImportFolder, skip_bad: bool, shard_games: int,
    counts: ImportCounts, on_progress: OnPgnProgress,
) -> None:  # fmt: skip
    waiting: list[ImportedGame] = []
    for file in files:
        before = counts.games
        for game in finished_games(file, skip_bad, counts):
            waiting.append(game)
            if len(waiting) == shard_games:
                folder.write(to_records(waiting, SOURCE))
                waiting = []
            on_progress(counts)
        if counts.games == before:
            raise ConfigError(f"{file} holds no finished games with moves in PGN")
    if waiting:
        folder.write(to_records(waiting, SOURCE))


def _finished(
    handle: TextIO, file: Path, skip_bad: bool, counts: ImportCounts
) -> Iterator[ImportedGame]:
    index = 0
    while (read := read_main_line(handle)) is not None:
        index += 1
        fault = read.fault or read.contradiction()
        if fault:
            line = f"{file}, game {index}: {fault}"
            if not skip_bad:
                raise ConfigError(f"{line}; --skip-bad leaves such games out")
            counts.bad += 1
            counts.first_bad = counts.first_bad or line
        elif not read.actions:
            counts.empty += 1
        elif read.result not in RESULTS:
            counts.unfinished += 1
        else:
            yield read.game(counts.games)
            counts.games += 1
            counts.plies += len(read.actions)
