"""The file of a checkpoint's state: what torch is given is looked through before.

torch.load with weights_only runs no code of the file, but the file may still be a zip of terabytes
of zeros, ask for a bytearray of any size, or put a tuple into another so often that hashing them
takes for ever. Our own files hold tensors, dicts, lists and plain values, and need few of pickle's
words.
"""

import io
import pickletools
import re
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from vecchess.errors import DataError

_ENDS = struct.Struct("<4s44xQ 4s4xQ4x 4s12xLH")
"""The last records of a zip, of sizes of 64 bits and of 32: their marks, where the directory is,
where the first of them is, and how long a comment follows."""
_MOST_MEMBERS = 1 << 16
_MOST_PICKLE_BYTES = 1 << 23
_MOST_WORDS = 1 << 20
"""Words of a pickle, each of which makes 64 bytes of objects at the most. A state has some forty
for each of its tensors and sixty for each match, and nothing else that grows as a run goes on."""
_GLOBALS = re.compile(
    r"torch\._utils _rebuild_tensor_v[23]|collections OrderedDict|torch [A-Za-z0-9]+Storage|"
    r"torch\.storage UntypedStorage|torch u?int[0-9]{1,2}"
)
_TUPLES = {"EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"}
_PUTS, _GETS = {"BINPUT", "LONG_BINPUT"}, {"BINGET", "LONG_BINGET"}
_WORDS = _TUPLES | _PUTS | _GETS | {
    "PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1",
    "BINFLOAT", "BINUNICODE", "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM",
    "SETITEMS", "GLOBAL", "REDUCE", "BINPERSID",
}  # fmt: skip


def state_bytes(values: Any) -> bytes:
    """The contents of a file of ``values``, which ``packed`` made.

    Raises DataError where ``read_state`` would not take them back.
    """
    import torch

    buffer = io.BytesIO()  # torch would turn a disk's error into one of its own
    torch.save(values, buffer)
    _look_through(buffer)
    return buffer.getvalue()


def read_state(file: Path) -> Any:
    """What was packed into ``file``: tensors on the CPU, dicts, lists and plain values.

    Raises DataError with the reason where it is damaged, or holds what no checkpoint does.
    """
    import torch

    try:
        with file.open("rb") as opened:
            _look_through(opened)
        return torch.load(file, map_location="cpu", weights_only=True)
    except DataError:
        raise
    except Exception as error:  # torch's reader of zips and pickles raises whatever it meets
        raise DataError(_reason(error)) from None


def _look_through(file: BinaryIO) -> None:
    size = file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if not members or not _is_all_one_zip(file, size, archive):
            raise DataError("it is no zip, or more than one")
        if len(members) > _MOST_MEMBERS:
            raise DataError("it has more parts than a checkpoint")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DataError("its parts are packed, as those of no checkpoint are")
        if sum(member.file_size for member in members) > size:
            raise DataError("it declares more bytes than it has")
        names = [member.filename.lower() for member in members]  # torch does not tell them apart
        if len(set(names)) < len(names):
            raise DataError("it has a part twice")
        folder, slash, _ = names[0].partition("/")
        if not slash or not all(name.startswith(f"{folder}/") for name in names):
            raise DataError("its parts are not in one folder")
        pickles = [
            m for m, name in zip(members, names, strict=True) if name == f"{folder}/data.pkl"
        ]
        if not pickles or pickles[0].file_size > _MOST_PICKLE_BYTES:
            raise DataError("it holds no state, or one of too many words")
        _check_words(archive.read(pickles[0]))


def _is_all_one_zip(file: BinaryIO, size: int, archive: zipfile.ZipFile) -> bool:
    """Whether torch finds the same members in it.

    torch takes a file that does not begin as a zip for a bare pickle, and looks for the directory
    where the end says that it is; ``zipfile`` forgives bytes before and behind all that.
    """
    file.seek(0)
    begins = file.read(4) == b"PK\3\4" and min(m.header_offset for m in archive.infolist()) == 0
    return begins and _recorded_directory(file, size) == archive.start_dir


def _recorded_directory(file: BinaryIO, size: int) -> int:
    """Where the end of a zip says that the directory is; -1 where it does not end with its end."""
    file.seek(max(size - _ENDS.size, 0))
    tail = file.read()
    if len(tail) < _ENDS.size:
        return -1
    mark64, offset64, locator, place64, mark, offset, comment = _ENDS.unpack(tail)
    if mark != b"PK\5\6" or comment:
        return -1
    if locator != b"PK\6\7":
        return int(offset)
    return int(offset64) if mark64 == b"PK\6\6" and place64 == size - _ENDS.size else -1


def _check_words(pickled: bytes) -> None:
    """Refuse a pickle with other words than ours: a tuple is never used twice, either."""
    tuples: set[Any] = set()
    made = ""
    for number, (word, argument, _) in enumerate(pickletools.genops(pickled)):
        name = word.name
        if number >= _MOST_WORDS:
            raise DataError("its state has more words than a checkpoint's")
        if name not in _WORDS:
            raise DataError(f"its state has the word {name}, which is none of a checkpoint's")
        if name == "GLOBAL" and not _GLOBALS.fullmatch(str(argument)):
            raise DataError(f"its state asks for {str(argument)[:80]}")
        if name in _GETS and argument in tuples:
            raise DataError("its state uses a tuple twice")
        if name not in _PUTS:
            made = name
        elif made in _TUPLES:
            tuples.add(argument)
        else:
            tuples.discard(argument)


def _reason(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:200] or type(error).__name__
