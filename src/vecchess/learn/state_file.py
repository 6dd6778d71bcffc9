"""The file of a checkpoint's state: what torch is given is looked through before.

torch.load with weights_only runs no code of the file, but the file may still be a zip of terabytes
of zeros, ask for a bytearray of any size, or put a tuple into another so often that hashing them
takes for ever. Our own files hold tensors, dicts, lists and plain values, and need few of pickle's
words.
"""

import pickletools
import re
import zipfile
from pathlib import Path
from typing import Any

from vecchess.errors import DataError

_MOST_MEMBERS = 1 << 16
_MOST_PICKLE_BYTES = 1 << 23
_MOST_WORDS = 1 << 19
"""Words of a pickle; a state has some forty for each of its tensors."""
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


def read_state(file: Path) -> Any:
    """What was packed into ``file``: tensors on the CPU, dicts, lists and plain values.

    Raises DataError with the reason where it is damaged, or holds what no checkpoint does.
    """
    import torch

    try:
        _look_through(file)
        return torch.load(file, map_location="cpu", weights_only=True)
    except DataError:
        raise
    except Exception as error:  # torch's reader of zips and pickles raises whatever it meets
        raise DataError(_reason(error)) from None


def _look_through(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise DataError("it has more parts than a checkpoint")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DataError("its parts are packed, as those of no checkpoint are")
        if sum(member.file_size for member in members) > file.stat().st_size:
            raise DataError("it declares more bytes than it has")
        if len({member.filename.lower() for member in members}) < len(members):
            raise DataError("it has a part twice")
        pickles = [member for member in members if member.filename.endswith("data.pkl")]
        if len(pickles) != 1 or pickles[0].file_size > _MOST_PICKLE_BYTES:
            raise DataError("it holds no state")
        _check_words(archive.read(pickles[0]))


def _check_words(pickled: bytes) -> None:
    """Refuse a pickle with other words than ours: a tuple is never used twice, either."""
    tuples: set[Any] = set()
    made = ""
    for number, (word, argument, _) in enumerate(pickletools.genops(pickled)):
        name = word.name
        if name not in _WORDS or number >= _MOST_WORDS:
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
