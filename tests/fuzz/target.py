"""What is fuzzed: a reader as a file, a line or a request of somebody else's reaches it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Read = Callable[[bytes], object]
"""Reads an input. May raise ``VecchessError``, and nothing else."""
Shape = Literal["bytes", "text", "json", "lines", "zip"]
"""What an input is made of, for the mutator: ``lines`` are JSON objects, a line each."""
MIB = 1 << 20


@dataclass(frozen=True)
class Target:
    """One reader."""

    name: str
    seeds: Callable[[], list[bytes]]
    """Inputs that are right, from our own writers."""
    opened: Callable[[Path], AbstractContextManager[Read]]
    """The reader, ready for many inputs; the folder is empty, and its to write to."""
    shape: Shape = "bytes"
    words: tuple[bytes, ...] = ()
    """What such inputs have in them: the mutator's vocabulary."""
    floor_mib: int = 8
    """Memory that a reader may take for any input; beyond it, ten times the input's size."""
    always_refuses: bool = False
    """It ends with an error whatever it reads, as a wire does whose other end hangs up."""
    is_slow: bool = False
    """Some thousand inputs a second at best."""


def plain(read: Read) -> Callable[[Path], AbstractContextManager[Read]]:
    """``opened`` of a reader that takes the bytes themselves."""

    @contextmanager
    def opened(_: Path) -> Iterator[Read]:
        yield read

    return opened


def of_file(
    name: str, read: Callable[[Path], object]
) -> Callable[[Path], AbstractContextManager[Read]]:
    """``opened`` of a reader that takes the path of a file of this name."""

    @contextmanager
    def opened(folder: Path) -> Iterator[Read]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)

        def from_file(data: bytes) -> object:
            path.write_bytes(data)
            return read(path)

        yield from_file

    return opened
