"""Shards: files of finished games, written whole or not at all. numpy's npz, never pickled.

Sizes that a file declares are checked before memory is allocated: a kilobyte of zip can declare a
terabyte. A member's length and its array's header have to agree, and the total has to be in
proportion to the file.

Decision 176.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import lru_cache
from io import BytesIO
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import chess
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from vecchess.chess.fen import from_board, parse, to_board
from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import read_file, retried, unreadable
from vecchess.safe_parse import clip_line, open_regular
from vecchess.shapes import POSITION_WORDS
from vecchess.store.id_set import IdSet
from vecchess.store.records import (
    COLUMN_DTYPES,
    SCHEMA,
    GameRecords,
    check_outcomes,
)

MOST_RATIO = 10
ROOM_BYTES = 16 << 20
"""A file unpacks to so many times its size and this much on top: columns of zeros pack well."""
_DIRECTORY_BYTES = 1 << 14
"""Longest list of members: of some thirty, with their names."""
_HEADER_BYTES = 256
_END, _END_64 = b"PK\5\6", b"PK\6\7"
_END_BYTES = 22
_FAULTS = (
    ValueError, KeyError, TypeError, OSError, EOFError, SyntaxError, TokenError,
    NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Raised by zipfile and numpy for damaged or malicious files."""


def read_columns(file: BinaryIO, dtypes: Mapping[str, np.dtype[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file among ``dtypes``, the expected types.

    Raises DataError with the reason where one is of another type, where the file is damaged, or
    declares more than its size can hold; members of other names are left alone.
    """
    try:
        size = file.seek(0, 2)
        _check_directory(file, size)
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, dtypes)
            declared = sum(member.file_size for member in members.values())
            if not fits(declared, size):
                raise DataError(f"it has {size} bytes and declares to unpack to {declared}")
            return {name: _array(archive, members[name], dtypes[name]) for name in members}
    except _FAULTS as error:
        raise DataError(clip_line(error) or type(error).__name__) from None


def fits(unpacked_bytes: int, packed_bytes: int) -> bool:
    """Whether a file may unpack to so many bytes; writers do not compress what would not fit."""
    return unpacked_bytes <= MOST_RATIO * packed_bytes + ROOM_BYTES


def _check_directory(file: BinaryIO, size: int) -> None:
    """Refuse a list of members as long as the file, which zipfile would read whole."""
    file.seek(max(size - _END_BYTES - 0xFFFF, 0))
    tail = file.read()
    end = tail.rfind(_END)
    if end < 0 or len(tail) - end < _END_BYTES:
        raise DataError("it is no npz file, or cut short")
    length = int.from_bytes(tail[end + 12 : end + 16], "little")
    if length > _DIRECTORY_BYTES or tail[max(end - 20, 0) : end].startswith(_END_64):
        raise DataError("it lists more members than a shard has")


def _members(
    archive: zipfile.ZipFile, wanted: Mapping[str, np.dtype[Any]]
) -> dict[str, zipfile.ZipInfo]:
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in found:
            raise DataError(f'column "{name}" is there twice')
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f'column "{name}" is packed in a way that is not read')
        if name in wanted:
            found[name] = member
    return found


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, dtype: np.dtype[Any]) -> NDArray[Any]:
    with archive.open(member) as file:
        if npy.read_magic(file) != (1, 0):
            raise DataError(f"{member.filename} has a header of another version")
        shape, _, found = npy.read_array_header_1_0(file, _HEADER_BYTES)
        if found != dtype or found.hasobject:
            raise DataError(f"{member.filename} holds {found}, not {dtype}")
        if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != (
            member.file_size - file.tell()
        ):
            raise DataError(f"{member.filename} does not hold the array its header tells of")
        file.seek(0)
        array: NDArray[Any] = npy.read_array(file, False, max_header_size=_HEADER_BYTES)
        return array


SET_ASIDE_SUFFIX = ".set-aside"
"""Suffix of a shard in no manifest that is damaged, foreign, or has games recorded already."""
NO_RUN = ""
"""Run id of games that no run has played, such as imported ones."""
_HEADERS_BYTES = 1 << 16
"""An upper limit for the headers of all columns."""


class ForeignShard(DataError):  # noqa: N818
    """A shard, whole or not, that another run has written."""


@dataclass(frozen=True)
class ShardFile:
    """A shard that may be read."""

    path: Path
    sha256: str | None = None
    """Its hash in its manifest; None where no manifest lists it."""
    ids: IdSet | None = field(default=None, compare=False)
    """The numbers of its games, as in its manifest."""
    read_moved: "Callable[[ShardFile], GameRecords | None] | None" = field(
        default=None, compare=False, repr=False
    )
    """Reads its games from other shards, where these have replaced it; None where none have."""

    def read(self) -> GameRecords:
        """Its games, also where a compaction has moved them to another shard. Raises FileUnreadable
        where reading fails, again and again, and DataError where it is damaged or pruned."""
        if self.path.exists() or (moved := self._moved()) is None:
            try:
                return retried(read_shard, self.path, self.sha256)
            except FileUnreadable:
                if (moved := self._moved()) is None:
                    raise
        return moved

    def _moved(self) -> GameRecords | None:
        return None if self.read_moved is None else self.read_moved(self)

    def numbers(self) -> NDArray[np.int64]:
        """int64[G]: the numbers of its games, ascending, as far as its manifest has them without
        opening the file. Raises as ``read``."""
        if self.ids is not None:
            return self.ids.ids
        return np.sort(retried(read_numbers, self.path))


def read_shards(
    shards: Iterable[ShardFile], report_line: ReportLine | None
) -> Iterator[GameRecords]:
    """The games of one shard after the other. A damaged one is left out and reported; without
    ``report_line`` it raises DataError. One that cannot be read raises FileUnreadable."""
    for shard in shards:
        try:
            records = shard.read()
        except FileUnreadable:
            raise
        except DataError as error:
            if report_line is None:
                raise
            report_line(f"a shard is left out: {error}")
        else:
            yield records


def write_shard(path: Path, records: GameRecords, run_id: str = NO_RUN) -> str:
    """Write ``records`` of the run ``run_id`` to ``path`` atomically; returns the file's sha256.

    Raises DataError where writing fails, which leaves nothing behind.
    """
    data = shard_bytes(records, run_id)
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def shard_bytes(
    records: GameRecords,
    run_id: str = NO_RUN,
    compressed: bool = True,
    **more: NDArray[np.generic],
) -> bytes:
    """``records`` as the contents of a shard, or of a file with ``more`` columns than that."""
    columns: dict[str, Any] = {f.name: getattr(records, f.name) for f in fields(records)} | more
    columns["nets"] = np.array(records.nets, COLUMN_DTYPES["nets"])
    columns["run"] = np.array(run_id, COLUMN_DTYPES["run"])
    buffer = BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, schema=np.int64(SCHEMA), **columns)
    data = buffer.getvalue()
    size = sum(column.nbytes for column in columns.values()) + _HEADERS_BYTES
    if compressed and not fits(size, len(data)):
        return shard_bytes(records, run_id, False, **more)
    return data


def read_shard(path: Path, sha256: str | None = None) -> GameRecords:
    """The games of a shard; raises DataError where it is missing, damaged or not what was written.

    ``sha256``: of the file, as its manifest has it; None is not compared.
    """
    return parse_shard(path, read_file(path), {}, sha256)[0]


def parse_shard(
    path: Path,
    data: bytes,
    more: Mapping[str, np.dtype[Any]],
    sha256: str | None = None,
    run_id: str | None = None,
) -> tuple[GameRecords, dict[str, NDArray[Any]]]:
    """The games in ``data``, the bytes of ``path``, and the columns ``more``, which no shard has;
    raises as ``read_shard``.

    ``run_id``: of the run that wrote it; None is not compared.
    """
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise DataError(f"{path} is not the file that was written: its sha256 differs")
    with _reading(path):
        columns: dict[str, Any] = read_columns(BytesIO(data), {**COLUMN_DTYPES, **more})
        if "schema" not in columns or columns["schema"].shape:
            raise DataError("it has no schema")
        schema = int(columns.pop("schema"))
        if schema != SCHEMA:
            raise DataError(f"it has schema {schema}; this vecchess reads {SCHEMA}")
        if lacking := sorted({"run", *more} - columns.keys()):
            raise DataError(f'it lacks the column "{lacking[0]}"')
        _check_run(path, columns.pop("run"), run_id)
        others = {name: columns.pop(name) for name in more}
        return _checked(columns), others


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say of what is wrong with the content of a file that it makes ``path`` no shard."""
    try:
        yield
    except (ForeignShard, FileUnreadable):  # they name the file
        raise
    except DataError as error:
        raise DataError(f"{path} is not a readable shard: {error}") from None


def read_numbers(path: Path) -> NDArray[np.int64]:
    """int64[G]: the numbers of a shard's games, without reading the games. Raises DataError."""
    (numbers,) = _some_columns(path, "numbers")
    return numbers


@dataclass(frozen=True)
class GameOutcomes:
    """How G games ended, without their moves: one entry a game in each column."""

    numbers: NDArray[np.int64]
    plies: NDArray[np.int64]
    result: NDArray[np.int8]
    """White's: 1, 0, -1."""
    termination: NDArray[np.uint8]
    """Codes of ``chess.rules.Termination``."""


def read_outcomes(path: Path, run_id: str | None = None) -> GameOutcomes:
    """How the games of a shard ended. Raises DataError, see ``read_shard``."""
    names = ("numbers", "offsets", "result", "termination")
    numbers, offsets, result, termination = _some_columns(path, *names, run_id=run_id)
    plies = np.diff(offsets)
    lengths = {len(plies), len(result), len(termination)}
    with _reading(path):
        if lengths != {len(numbers)} or plies.min(initial=0) < 0:
            raise DataError("its lengths do not fit its games")
        check_outcomes(numbers, result, termination)
    return GameOutcomes(numbers, plies, result, termination)


def _some_columns(path: Path, *names: str, run_id: str | None = None) -> list[NDArray[Any]]:
    """Columns of a shard with one number each."""
    try:
        with _reading(path), open_regular(path) as file:
            source = _FileOrUnreadable(path, file)
            found = read_columns(source, {name: COLUMN_DTYPES[name] for name in ("run", *names)})
            _check_run(path, found.pop("run", None), run_id)
            if any(name not in found or found[name].ndim != 1 for name in names):
                raise DataError(f"it lacks the {names[-1]} of its games")
    except OSError as error:
        raise unreadable(path, error) from None
    return [found[name] for name in names]


class _FileOrUnreadable(BytesIO):
    """An open file, whose failing reads raise FileUnreadable: OSError means a damaged zip file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__()
        self._path, self._file = path, file

    def read(self, size: int | None = -1) -> bytes:
        try:
            return self._file.read(-1 if size is None else size)
        except OSError as error:
            raise unreadable(self._path, error) from None

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _check_run(path: Path, found: NDArray[Any] | None, run_id: str | None) -> None:
    """Raise ForeignShard where ``found``, str[], is not the id of the run; None is not compared."""
    if run_id is not None and (found is None or found.shape or str(found) != run_id):
        raise ForeignShard(f"{path} was written by another run")


def _checked(columns: dict[str, Any]) -> GameRecords:
    """The records in the columns of a file. Raises DataError where they are not whole."""
    if lacking := sorted(COLUMN_DTYPES.keys() - columns.keys() - {"schema", "run"}):
        raise DataError(f'it lacks the column "{lacking[0]}"')
    if columns["action"].ndim != 1 or columns["numbers"].ndim != 1 or columns["nets"].ndim != 1:
        raise DataError("its columns have too many dimensions")
    columns["nets"] = tuple(str(net) for net in columns["nets"])
    records = GameRecords(**columns)
    records.validate()
    if not all(map(_is_position, {row.tobytes() for row in records.start})):
        raise DataError("a game begins with no position that can be played from")
    return records


@lru_cache(1 << 14)
def _is_position(row: bytes) -> bool:
    """Whether the eight words are those of the FEN they describe, as kernels require."""
    words = np.frombuffer(row, np.uint64, POSITION_WORDS)
    try:
        board: chess.Board = to_board(words)
        again = from_board(parse(board.shredder_fen(en_passant="legal")))
    except (ConfigError, ValueError, IndexError, AssertionError, OverflowError):
        return False
    return bool(np.array_equal(again, words))
