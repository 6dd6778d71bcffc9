"""Shards: files of finished games, written whole or not at all. numpy's npz, never pickled."""

import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.store.records import READABLE, SCHEMA, GameRecords, no_targets, no_witness

PARTIAL_PREFIX = ".partial-"
"""A file of this name was being written when its writer ended; it is never read."""
SET_ASIDE_SUFFIX = ".set-aside"
"""A file of this name is a shard that could not be read, or whose games were there already."""
Say = Callable[[str], object]
"""Takes a line for people."""


@dataclass(frozen=True)
class ShardFile:
    """A shard that somebody may want to read."""

    path: Path
    sha256: str | None = None
    """What its manifest says; None where no manifest lists it."""

    @property
    def aside(self) -> Path:
        """Its name once it is set aside."""
        return self.path.with_name(self.path.name + SET_ASIDE_SUFFIX)

    def read(self) -> GameRecords:
        """Its games. Raises DataError where it is missing, damaged, or was set aside."""
        try:
            return read_shard(self.path, self.sha256)
        except DataError:
            if self.path.exists() or not self.aside.exists():
                raise
        raise DataError(f"{self.path} was set aside, for it could not be read")


def read_shards(shards: Iterable[ShardFile], say: Say | None) -> Iterator[GameRecords]:
    """The games of one shard after the other. One that cannot be read is left out, and ``say``
    hears of it; where nobody listens that raises DataError."""
    for shard in shards:
        try:
            records = shard.read()
        except DataError as error:
            if say is None:
                raise
            say(f"a shard is left out: {error}")
        else:
            yield records


def write_shard(path: Path, records: GameRecords) -> str:
    """Write ``records`` to ``path`` atomically; returns the file's sha256.

    Raises DataError where the disk refuses; nothing of the attempt is left behind then.
    """
    data = shard_bytes(records)
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def shard_bytes(records: GameRecords, compressed: bool = True) -> bytes:
    """``records`` as the contents of a shard."""
    columns: dict[str, Any] = {f.name: getattr(records, f.name) for f in fields(records)}
    columns["nets"] = np.array(records.nets, "U64")
    buffer = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, schema=np.int64(SCHEMA), **columns)
    return buffer.getvalue()


def read_shard(path: Path, sha256: str | None = None) -> GameRecords:
    """Read a shard; raises DataError where it is missing, damaged or not what was written.

    A shard of schema 1 holds games without search, one of schema 2 games without fingerprints.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise DataError(f"{path} is not the file that was written: its sha256 differs")
    if not zipfile.is_zipfile(io.BytesIO(data)):  # numpy would take it for a pickle
        raise DataError(f"{path} is not a readable shard: it is no npz file, or cut short")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            columns: dict[str, Any] = dict(file)
        schema = int(columns.pop("schema"))
        if schema not in READABLE:
            raise DataError(f"it has schema {schema}; this vecchess reads up to {SCHEMA}")
        if schema == 1:
            columns |= no_targets(len(columns["action"]))
        if schema < 3:
            columns |= no_witness(len(columns["numbers"]), len(columns["action"]))
        columns["nets"] = tuple(str(net) for net in columns["nets"])
        records = GameRecords(**columns)
        records.validate()
    except (
        DataError,
        ValueError,
        KeyError,
        TypeError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
    ) as error:
        raise DataError(f"{path} is not a readable shard: {error}") from None
    return records


def read_numbers(path: Path) -> NDArray[np.int64]:
    """int64[G]: the numbers of a shard's games, without reading the games. Raises DataError."""
    try:
        with np.load(path, allow_pickle=False) as file:
            numbers: NDArray[np.int64] = file["numbers"]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is not a readable shard: {error}") from None
    return numbers


def write_atomically(path: Path, data: bytes, durably: bool = True) -> None:
    """Replace ``path`` by a file with ``data``: partial name, fsync, rename, fsync.

    ``durably``: it is to outlive a crash of the machine; without it there is no fsync. Raises
    DataError with one line where that fails, leaving what was there before.
    """
    partial = path.with_name(PARTIAL_PREFIX + path.name)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            if durably:
                os.fsync(file.fileno())
        partial.replace(path)
        if durably:
            sync_directory(path.parent)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DataError(f"cannot write {path}: {error.strerror}") from None


def sync_directory(directory: Path) -> None:
    """Make renames in ``directory`` durable, where the system lets a directory be synced."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:  # Windows opens no directories; its renames need no sync
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
