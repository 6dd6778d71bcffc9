"""Lines of text files as the world has them: compressed, of any encoding and line ends."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, cast

from vecchess.errors import ConfigError, missing_library
from vecchess.safe_parse import MOST_BYTES

_ZSTD_FRAME, _SKIPPED_FRAME = b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, ValueError)


def read_lines(file: Path) -> Iterator[str]:
    """The lines of ``file``, with their ends; it may be compressed by gzip, bzip2, xz or zstd.

    A line that is not UTF-8 is read as Windows-1252, a file with a mark for it as UTF-16; NUL, with
    which some programs end a line, is left out. Raises
    ConfigError where it cannot be read, is damaged or cut off, or has a line of over a mebibyte.
    """
    with _refusals(file), file.open("rb") as raw:
        yield from _decoded(_decompressed(raw, file), file)


def read_hashed_lines(file: Path) -> tuple[str, Iterator[str]]:
    """The sha256 of ``file``, and its lines as ``read_lines`` gives them. It is read once: a pipe
    has nothing for a second reader. Raises as ``read_lines``."""
    with _refusals(file):
        data = file.read_bytes()

    def lines() -> Iterator[str]:
        with _refusals(file):
            yield from _decoded(_decompressed(io.BufferedReader(io.BytesIO(data)), file), file)

    return sha256(data).hexdigest(), lines()


@contextmanager
def _refusals(file: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise ConfigError(f"cannot read {file}: it is damaged or cut off ({error})") from None
    except OSError as error:
        reason = error.strerror or f"it is damaged or cut off ({error})"
        raise ConfigError(f"cannot read {file}: {reason}") from None


def _decompressed(raw: "io.BufferedReader[Any]", file: Path) -> IO[bytes]:
    first = raw.peek(6)
    if first.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if first.startswith(b"BZh"):
        return cast(IO[bytes], bz2.BZ2File(raw))
    if first.startswith(b"\xfd7zXZ"):
        return cast(IO[bytes], lzma.LZMAFile(raw))
    if first.startswith(_ZSTD_FRAME) or (first[1:4] == _SKIPPED_FRAME and first[0] >> 4 == 5):
        return _zstd(raw, file)
    return raw


def _zstd(raw: "io.BufferedReader[Any]", file: Path) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise missing_library("zstandard", "zstd", f", or decompress {file} first") from None

    class Reader(io.RawIOBase):
        """The stream; unlike ``zstandard.stream_reader`` it tells where a frame is cut off."""

        def __init__(self) -> None:
            self._frame, self._left = zstandard.ZstdDecompressor().decompressobj(), b""
            self._ready, self._has_begun = memoryview(b""), False

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            while not self._ready:
                read = self._left or raw.read(1 << 12)
                if not read:
                    if self._has_begun:
                        raise EOFError("a frame does not end")
                    return 0
                self._decompress(read)
            count = min(len(buffer), len(self._ready))
            buffer[:count], self._ready = self._ready[:count], self._ready[count:]
            return count

        def _decompress(self, read: bytes) -> None:
            try:
                self._ready = memoryview(self._frame.decompress(read))
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from None
            self._has_begun, self._left = not self._frame.eof, b""
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = zstandard.ZstdDecompressor().decompressobj()

    return io.BufferedReader(Reader())


def _decoded(stream: IO[bytes], file: Path) -> Iterator[str]:
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    is_wide = buffered.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding, errors = ("utf-16", "replace") if is_wide else ("utf-8-sig", "surrogateescape")
    with io.TextIOWrapper(buffered, encoding, errors) as text:
        while line := text.readline(MOST_BYTES):
            if len(line) == MOST_BYTES and not line.endswith("\n"):
                raise ConfigError(f"{file} has a line of more than {MOST_BYTES:,} characters")
            line = line.replace("\0", "")
            yield line if line.isascii() else _mended(line)


def _mended(line: str) -> str:
    """The line, where its bytes are no UTF-8 as Windows-1252."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return line.encode("utf-8", "surrogateescape").decode("cp1252", "replace")
    return line
