"""A real command in a process group of its own, and what it leaves behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PROGRAM = [sys.executable, "-m", "vecchess_cli.main"]
SHM = Path("/dev/shm")
SHARED = ("psm_", "sem.", "pymp-", "torch_", "__KMP", "vecchess")
"""How names of shared memory begin that Python, torch, OpenMP and we ourselves may make."""
KEPT = "torchinductor_*"
"""Torch's cache of what it compiled."""


class Running:
    """A command that runs in ``folder``, which is new; what it says is in files there."""

    def __init__(self, folder: Path, arguments: list[object]) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "tmp").mkdir()
        self._shared = _shared()
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            self.process = subprocess.Popen(
                [*PROGRAM, *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                env=os.environ | {"TMPDIR": str(folder / "tmp")},
                start_new_session=True,
            )

    def told(self) -> str:
        """All it said so far, on both streams."""
        return (self.folder / "out").read_text() + self.err()

    def err(self) -> str:
        """What it said to people."""
        return (self.folder / "err").read_text()

    def say(self, line: str) -> None:
        """Write a line to its standard input; nobody minds where nobody reads."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()

    def send(self, number: signal.Signals, to_group: bool) -> bool:
        """Send a signal; False where it is over already."""
        if self.process.poll() is not None:
            return False
        if to_group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return True

    def wait(self, timeout_s: float) -> int | None:
        """The exit code; None where it takes longer."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def left_processes(self, patience_s: float) -> list[str]:
        """Processes of the group that are still there after a while: their commands."""
        deadline = time.monotonic() + patience_s
        while (left := _members(self.process.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def left_files(self) -> list[str]:
        """Shared memory, temporary and partial files that it left behind."""
        temporary = set((self.folder / "tmp").iterdir()) - set((self.folder / "tmp").glob(KEPT))
        partial = [*self.folder.rglob(".partial-*"), *self.folder.rglob(".probe-*")]
        shared = [path for path in _shared() - self._shared if not _is_open(path)]
        return [str(path) for path in [*temporary, *partial, *shared]]

    def close(self) -> None:
        """End whatever is left of it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()


def _shared() -> set[Path]:
    return {path for path in SHM.iterdir() if path.name.startswith(SHARED)}


def _members(group: int) -> list[str]:
    """Commands of the living processes of a group: proc_pid_stat(5), fields 3 and 5."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, pgrp = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(pgrp) == group and state != "Z":
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(f"{folder.name} {state} {words.decode(errors='replace')}")
        except OSError:
            continue
    return found


def _is_open(file: Path) -> bool:
    """Whether some process has ``file`` mapped or open: then it belongs to somebody who lives."""
    name = str(file)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if name in (folder / "maps").read_text():
                return True
            if any(os.readlink(handle) == name for handle in (folder / "fd").iterdir()):
                return True
        except OSError:
            continue
    return not file.exists()
