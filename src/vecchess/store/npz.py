"""Arrays from an untrusted npz file: its declared sizes are checked before memory is allocated.

A zip file declares the length of each member, and an npy header its array; neither need be true,
and a kilobyte can declare a terabyte. Here both have to agree, and the total has to be in
proportion to the file. Arrays must have the expected types; nothing is ever unpickled.

Decision 176.
"""

import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.safe_parse import clip_line

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
