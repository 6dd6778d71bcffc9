"""The result of a block: one object with the games that ended in it and those that wait.

A block is the segments of some seats in one generation of a training, or some games of self-play.
Task T is the T-th set of blocks that a run has given out. Its block B, played by a player P, is the
object fleet/blocks/T/B-P. In the run's folder the same games are games/bT-B-P.npz, and the games
that wait cuts/bT-B-P.npz (``store/manifest.py``).

    8 bytes   "VCBLOCK1"
    8 bytes   length of the file with the games that wait, little-endian
              that file, and then the shard; each as it lies in the run's folder
"""

import re
from typing import NamedTuple

from vecchess.errors import DataError
from vecchess.store.manifest import REWRITTEN_PREFIX

HEAD_BYTES = 16
BLOCKS = "fleet/blocks/"
_MAGIC = b"VCBLOCK1"
PLAYER_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,62}", re.ASCII)
"""What names a player: one word, so that it may stand in the name of a file."""
_FILE = re.compile(rf"b(\d{{6,9}})-(\d{{5,9}})-({PLAYER_NAME.pattern})\.npz", re.ASCII)
_OBJECT = re.compile(rf"fleet/blocks/(\d{{6,9}})/(\d{{5,9}})-({PLAYER_NAME.pattern})", re.ASCII)


class BlockName(NamedTuple):
    """Which block it is of which task, and who played it."""

    task: int
    block: int
    player: str

    @property
    def object(self) -> str:
        """Name of the object with the result, from the run's root on."""
        return f"{blocks_of(self.task)}{self.block:05d}-{self.player}"

    @property
    def file(self) -> str:
        """Name of the shard, and of the file with the games that wait."""
        return f"b{self.task:06d}-{self.block:05d}-{self.player}.npz"

    @classmethod
    def of_file(cls, name: str) -> "BlockName | None":
        """The inverse of ``file``; None for the shard of a local worker."""
        return cls._of(_FILE.fullmatch(name))

    @classmethod
    def of_object(cls, name: str) -> "BlockName | None":
        """The inverse of ``object``; None for anything else."""
        return cls._of(_OBJECT.fullmatch(name))

    @classmethod
    def _of(cls, found: re.Match[str] | None) -> "BlockName | None":
        return found and cls(int(found[1]), int(found[2]), found[3])


def may_be_of(file: str, player: str) -> bool:
    """Whether a shard may have games of a player: after compaction its name does not tell."""
    name = BlockName.of_file(file)
    return name.player == player if name else file.startswith(REWRITTEN_PREFIX)


def blocks_of(task: int) -> str:
    """What the names of all results of a task begin with."""
    return f"{BLOCKS}{task:06d}/"


def pack_block(shard: bytes, cut: bytes = b"") -> bytes:
    """The object of a block. ``cut``: the file with the games that wait, empty without any."""
    return _MAGIC + len(cut).to_bytes(8, "little") + cut + shard


def unpack_block(name: str, data: bytes) -> tuple[bytes, bytes]:
    """Shard and cut of ``pack_block``; raises DataError with ``name`` where it is none."""
    length = int.from_bytes(data[8:HEAD_BYTES], "little")
    if data[:8] != _MAGIC or len(data) < HEAD_BYTES + length:
        raise DataError(f"{name} is not the result of a block, or cut short")
    return data[HEAD_BYTES + length :], data[HEAD_BYTES : HEAD_BYTES + length]
