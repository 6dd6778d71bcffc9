"""Games in progress, saved so that they can be resumed after their worker, or the run, has ended.

inflight/<worker>.npz is a shard (``store/shard.py``) of unfinished games with two columns more. A
worker replaces its file at intervals and when it ends. Seed, settings and network decide a game
from its first move to its last, so all that is saved of a number is a beginning of the same game:
an old file does no harm, the longer of two beginnings is taken, and recorded games come first.

cuts/*.npz are such files too: the games that a generation of a training left unfinished. They are
as durable as shards, and the next generation goes on with all of them.

Decisions 24 and 224.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError, FileMissing, FileUnreadable
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import list_folder, read_file, retried
from vecchess.store.id_set import IdSet
from vecchess.store.records import GameRecords, concatenate, span_columns
from vecchess.store.seating import Seating
from vecchess.store.shard import (
    NO_RUN,
    ForeignShard,
    GameOutcomes,
    parse_shard,
    read_outcomes,
    shard_bytes,
)

Numbers = NDArray[np.int64]
MORE_COLUMNS = {"low_turns": np.dtype(np.uint8), "level_plies": np.dtype(np.uint8)}


@dataclass(frozen=True)
class SavedGames:
    """G games in progress.

    records: the games, with ``Termination.ONGOING`` and their fingerprints so far. low_turns:
    uint8[G, 2] turns in a row in which White, Black were below the limit of resigning.
    level_plies: uint8[G] plies in a row within the limit of a draw. left: int32[G] turns after
    which each has to wait, below 0: none; None: as the rules say. It is not saved.
    """

    records: GameRecords
    low_turns: NDArray[np.uint8]
    level_plies: NDArray[np.uint8]
    left: NDArray[np.int32] | None = None

    @property
    def num_games(self) -> int:
        """G."""
        return self.records.num_games

    def take(self, indices: NDArray[np.int64]) -> "SavedGames":
        """The games at ``indices`` (int64[K]), in that order."""
        records, left = self.records.take(indices), self.left
        return SavedGames(
            records,
            self.low_turns[indices],
            self.level_plies[indices],
            None if left is None else left[indices],
        )

    def longest(self) -> "SavedGames":
        """Each number once, with most of its plies, in the order of the numbers."""
        numbers, lengths = self.records.numbers, self.records.lengths
        order = np.lexsort((-lengths, numbers))
        is_first = np.diff(numbers[order], prepend=-1) != 0
        return self.take(order[is_first])

    def to_bytes(self, run_id: str = NO_RUN, compressed: bool = False) -> bytes:
        """The contents of a file of the run ``run_id``; ``compressed`` for a network's sake."""
        more = {name: getattr(self, name) for name in MORE_COLUMNS}
        return shard_bytes(self.records, run_id, compressed, **more)


def join_saved(parts: list[SavedGames]) -> SavedGames:
    """One after another. Needs at least one part."""
    return SavedGames(
        concatenate([part.records for part in parts]),
        np.concatenate([part.low_turns for part in parts]),
        np.concatenate([part.level_plies for part in parts]),
    )


def read_saved(path: Path, run_id: str | None = None, sha256: str | None = None) -> SavedGames:
    """The games of one file; raises DataError where it is missing, damaged or something else.

    ``run_id``: of the run that wrote it, ``sha256``: of the file. None is not compared.
    """
    return parse_saved(path, read_file(path), run_id, sha256)


def parse_saved(
    path: Path, data: bytes, run_id: str | None = None, sha256: str | None = None
) -> SavedGames:
    """The games of ``read_saved``, from ``data``, the bytes of ``path``."""
    records, more = parse_shard(path, data, MORE_COLUMNS, sha256, run_id)
    saved = SavedGames(records, **more)
    shapes = {"low_turns": (records.num_games, 2), "level_plies": (records.num_games,)}
    for name, shape in shapes.items():
        if more[name].shape != shape:
            raise DataError(f'{path}: column "{name}" has {more[name].shape}, not {shape}')
    if not records.prob.all():
        raise DataError(f"{path} has plies that cannot be put back into a log")
    return saved


class InflightFolder:
    """The files of workers that have ended, managed by the run's parent."""

    def __init__(self, path: Path, run_id: str = NO_RUN) -> None:
        """Read nothing before ``survey``; the folder need not exist.

        ``run_id``: files of another run are left alone.
        """
        self.path = path
        self._run_id = run_id
        self._saved: dict[str, GameOutcomes] = {}

    def survey(self, is_needed: Callable[[Numbers], bool], alive: Collection[str]) -> None:
        """Read which games are saved, except by the workers named ``alive``.

        Files none of whose games is needed any more are removed, and so are damaged and partial
        ones: their games are played from the start. Those of another run stay. Raises
        FileUnreadable.
        """
        self._saved = {}
        for path in self._files(alive):
            with suppress(OSError, ForeignShard):
                games = self._beginnings_in(path)
                if games is not None and is_needed(games.numbers):
                    self._saved[path.name] = games
                else:
                    path.unlink()

    def files_with(self, ids: IdSet) -> list[str]:
        """Names of the files with games out of ``ids``."""
        saved = self._saved.items()
        return [name for name, games in saved if ids.contains(games.numbers).any()]

    def count(self, ids: IdSet) -> int:
        """How many games out of ``ids`` are saved."""
        return int(ids.contains(np.unique(self._column("numbers"))).sum())

    def num_plies(self, ids: IdSet) -> int:
        """Plies that are saved of the games out of ``ids``, together."""
        numbers, lengths = self._column("numbers"), self._column("plies")
        order = np.lexsort((lengths, numbers))
        is_longest = np.diff(numbers[order], append=-1) != 0
        longest = order[is_longest]
        return int(lengths[longest][ids.contains(numbers[longest])].sum())

    def _column(self, name: str) -> Numbers:
        parts = (getattr(games, name) for games in self._saved.values())
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _files(self, alive: Collection[str]) -> list[Path]:
        names = retried(list_folder, self.path)
        files = [self.path / name for name in names if name.endswith(".npz")]
        return [path for path in files if path.stem.removeprefix(PARTIAL_PREFIX) not in alive]

    def _beginnings_in(self, path: Path) -> GameOutcomes | None:
        """The games of a file; None where it is damaged or partial."""
        if path.name.startswith(PARTIAL_PREFIX):
            return None
        try:
            return retried(read_outcomes, path, self._run_id)
        except FileMissing:  # a worker whose parent was lost has played its games to the end
            return None
        except (FileUnreadable, ForeignShard):
            raise
        except DataError:
            return None


def read_saved_games(
    folder: Path,
    names: list[str],
    ids: IdSet,
    net: str,
    report_line: ReportLine,
    run_id: str = NO_RUN,
) -> SavedGames | None:
    """What the files ``names`` of ``folder`` hold of games out of ``ids``, each once.

    ``net``: sha256 of the network that plays; beginnings by another are left out, and so are files
    that are damaged, gone or not of the run ``run_id``: these are reported. None where nothing is
    left. Raises FileUnreadable.
    """
    parts = list[SavedGames]()
    for name in names:
        try:
            saved = retried(read_saved, folder / name, run_id)
            parts.append(_wanted(saved, ids, net))
        except DataError as error:
            if isinstance(error, FileUnreadable) and not isinstance(error, FileMissing):
                raise
            report_line(f"saved games are left out, and played from the start: {error}")
    joined = join_saved(parts).longest() if parts else None
    return joined if joined is not None and joined.num_games else None


def read_cuts(
    files: Sequence[tuple[Path, str]],
    seating: Seating,
    segments: IdSet,
    net: str,
    report_line: ReportLine,
) -> SavedGames | None:
    """The unfinished games with which the seats of ``segments``, of one generation, go on.

    files: those with the games as the generation before left them, and their sha256. net: sha256 of
    the network that plays on. A damaged file is reported, and left out: its seats begin new games;
    None where nothing is left. Raises FileUnreadable, since a training would go on differently.
    """
    parts = list[SavedGames]()
    for path, sha256 in files:
        try:
            saved = retried(read_saved, path, None, sha256)
        except FileUnreadable as error:
            more = "an empty file in its place would begin new games instead"
            raise type(error)(f"{error}; {more}") from None
        except DataError as error:
            report_line(f"unfinished games are left out: {error}")
        else:
            its_own = segments.contains(seating.of_games(segments, saved.records.numbers))
            parts.append(saved.take(np.flatnonzero(its_own)))
    joined = join_saved(parts) if parts else None
    return _played_on(joined, net) if joined is not None and joined.num_games else None


def _played_on(saved: SavedGames, net: str) -> SavedGames:
    """``saved`` for ``net``, which plays these games from here on. A network that was not asked
    about any position of a game is left out."""
    records = saved.records
    asked = np.concatenate([[0], np.cumsum(records.evaluated())])
    spans = []
    for game, (first, end) in enumerate(pairwise(records.offsets.tolist())):
        before = records.spans(game)
        last = before[-1][0]
        if asked[end] == asked[first + last]:
            spans.append([*before[:-1], (last, net)])
        else:
            spans.append([*before, (end - first, net)])
    return replace(saved, records=replace(records, **span_columns(spans)))


def _wanted(saved: SavedGames, ids: IdSet, net: str) -> SavedGames:
    records = saved.records
    is_net = np.array([name == net for name in records.nets] or [False])
    is_ours = is_net[records.span_net[records.span_offsets[:-1]]]
    is_ours &= np.diff(records.span_offsets) == 1
    return saved.take(np.flatnonzero(is_ours & ids.contains(records.numbers)))
