"""Runs a page: its console and Python blocks in order, in a folder of its own."""

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.docs.blocks import ROOT, Block
from tests.docs.scale import scaled
from tests.system.commands import inside
from vecchess.jit import cache_base

LINKED = ("configs", "bench", "docs", "src")
"""Folders of the repository that a reader's commands may name."""
TIMEOUT_S = 900


@dataclass
class Reader:
    """Runs the commands and the code of a page in ``folder``."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    """The namespace of the page's Python."""
    full_scale: bool = False
    """Run commands as they stand, not as the tests scale them."""
    in_process: bool = False
    """Run vecchess in this process, which has imported everything already."""

    def __post_init__(self) -> None:
        for name in LINKED:
            (self.folder / name).symlink_to(ROOT / name)
        programs = self.folder / ".bin"
        programs.mkdir()
        program = programs / "vecchess"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vecchess_cli.main "$@"\n')
        program.chmod(0o755)
        kernels = os.environ.get("NUMBA_CACHE_DIR") or str(cache_base())
        interpreter = Path(sys.executable).parent
        self.environ = os.environ | {
            "PATH": f"{programs}:{interpreter}:{os.environ['PATH']}:/usr/games",
            "XDG_CACHE_HOME": str(self.folder / ".cache"),
            "NUMBA_CACHE_DIR": kernels,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "cli"))),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }

    def run(self, block: Block) -> list[str]:
        """Do what ``block`` says; what each of its commands printed, or its Python code did.

        Raises AssertionError where a command ends with another exit code than the page says.
        """
        kinds: dict[str, Callable[[Block], list[str]]] = {
            "console": self._type,
            "python": self._execute,
        }
        return kinds[block.language](block)

    def _type(self, block: Block) -> list[str]:
        printed = []
        for number, command in enumerate(block.commands, start=1):
            is_last = number == len(block.commands)
            text = command if self.full_scale else scaled(block.page, command)
            done = self._inside(text) if self.in_process else self._shell(text)
            wanted = block.exit_code if is_last else 0
            assert done.returncode == wanted, f"{block.name}: {text}\n{done.stdout}{done.stderr}"
            printed.append(done.stdout)
        return printed

    def _shell(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def _inside(self, command: str) -> subprocess.CompletedProcess[str]:
        """Only calls of vecchess, without anything that needs a shell."""
        words = shlex.split(command)
        assert words[0] == "vecchess", command
        with contextlib.chdir(self.folder):
            return inside(*words[1:])

    def _execute(self, block: Block) -> list[str]:
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(compile(block.text, block.name, "exec"), self.names)
        return [printed.getvalue()]


def is_run(block: Block) -> bool:
    """Whether a test machine can do what ``block`` says."""
    return block.language in ("console", "python") and not block.needs


def read_aloud(reader: Reader, blocks: list[Block]) -> None:
    """Run all of a page that can be run; Python has to print what the page says it does.

    A block in the language "output" is what the Python block before it prints.
    """
    printed = [""]
    for block in blocks:
        if is_run(block):
            printed = reader.run(block)
        elif block.language == "output":
            assert printed[-1] == block.text, f"{block.name}: it prints\n{printed[-1]}"
