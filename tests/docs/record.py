"""Writes what the commands and Python blocks of pages print into the pages.

    python -m tests.docs.record docs/formats.md ...

Commands run at full scale, unlike in the tests. Long outputs are cut with a line of dots.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import Block, blocks_in
from tests.docs.pages import Reader, is_run

MOST_LINES = 30
KEPT_AT_END = 8


def record(text: str, page: Path, folder: Path) -> str:
    """``text`` of ``page`` with its outputs, found by running it in ``folder``."""
    lines, shift = text.splitlines(), 0
    reader = Reader(folder, full_scale=True)
    printed: list[str] = []
    for block in blocks_in(page, text):
        if is_run(block):
            print(block.name, file=sys.stderr)
            printed = reader.run(block)
        new = _content(block, printed, folder)
        if new is not None:
            first = block.line + shift
            lines[first : first + len(block.text.splitlines())] = new
            shift += len(new) - len(block.text.splitlines())
    return "\n".join(lines) + "\n"


def _content(block: Block, printed: list[str], folder: Path) -> list[str] | None:
    """The new lines of a block; None where they stay."""
    if block.language == "output":
        return printed[-1].splitlines()
    if block.language != "console" or block.needs:
        return None
    lines: list[str] = []
    for command, output in zip(block.commands, printed, strict=True):
        if lines and not lines[-1].startswith("$ "):
            lines.append("")
        lines += f"$ {command}".splitlines()
        lines += _short(_tidy(output, folder))
    return lines


def _tidy(output: str, folder: Path) -> list[str]:
    """Without trailing spaces, and without the names of this machine's folders."""
    output = output.replace(str(folder), "~").replace(str(Path.home()), "~")
    if kernels := os.environ.get("NUMBA_CACHE_DIR"):
        output = output.replace(kernels, "~/.cache/vecchess/numba")
    lines = [line.rstrip() for line in output.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _short(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES - KEPT_AT_END], "...", *lines[-KEPT_AT_END:]]


def main() -> None:
    """Record the pages named on the command line."""
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(record(page.read_text(), page, Path(folder)))


if __name__ == "__main__":
    main()
