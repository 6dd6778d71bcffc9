"""Self-play in a cgroup with little memory and half a core, where this machine lets us make one."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.system.commands import PROGRAM
from vecchess.machine_limits import MEGABYTE, own_folders

ROOT = Path("/")


class Cgroup:
    """New cgroups inside those of this process."""

    def __init__(self, memory_mb: int, cores: float) -> None:
        name = f"vecchess-test-{os.getpid()}"
        self.folders = [own_folders(ROOT, kind)[0] / name for kind in ("memory", "cpu")]
        for folder in dict.fromkeys(self.folders):
            folder.mkdir()
        memory, cpu = self.folders
        nbytes, quota = str(memory_mb * MEGABYTE), str(int(cores * 100_000))
        if (memory / "memory.limit_in_bytes").exists():
            (memory / "memory.limit_in_bytes").write_text(nbytes)
            (cpu / "cpu.cfs_quota_us").write_text(quota)
        else:
            (memory / "memory.max").write_text(nbytes)
            (cpu / "cpu.max").write_text(f"{quota} 100000")

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        """The finished command, started in these cgroups."""
        enter = "".join(f"echo $$ > '{folder}/cgroup.procs'; " for folder in self.folders)
        program = ["sh", "-ec", f'{enter}exec "$@"', "sh", *map(str, command)]
        return subprocess.run(program, capture_output=True, text=True, timeout=240, check=False)

    def remove(self) -> None:
        """Remove them, once their last process has been waited for by the system."""
        for folder in dict.fromkeys(self.folders):
            for _ in range(100):
                with suppress(OSError):
                    folder.rmdir()
                if not folder.exists():
                    break
                time.sleep(0.1)


@pytest.fixture
def cgroup() -> Iterator[Cgroup]:
    made = Cgroup.__new__(Cgroup)
    made.folders = []
    try:
        made.__init__(700, 0.5)  # type: ignore[misc]
        is_there = made.run("true").returncode == 0
    except (OSError, IndexError):
        is_there = False
    if not is_there:
        made.remove()
        pytest.skip("this machine lets us make no cgroup")
    yield made
    made.remove()


def selfplay(cgroup: Cgroup, run: Path, *options: object) -> tuple[int, dict[str, Any], str]:
    """Exit code, summary and what was said."""
    command = [*PROGRAM, "selfplay", "--net", "tiny", "--gpus", "cpu", "--run-dir", run, "--json"]
    done = cgroup.run(*command, "--max-plies", 30, *options)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_small_container(cgroup: Cgroup, tmp_path: Path) -> None:
    """A run plays in it, with fewer games at a time where trees would not fit; goes on with half
    after a kill for want of memory; and says what it would need."""
    ask = "from vecchess.machine_limits import *; print(num_cores(), memory_text())"
    told = cgroup.run(sys.executable, "-c", ask).stdout
    assert told.startswith("1 700 MB (memory.")

    code, summary, said = selfplay(cgroup, tmp_path / "plain", "--games", 8)
    assert (code, summary["games"]) == (0, 8), said

    hungry = ["--backend", "tests.selfplay.odd_backends:hungry?mb_a_slot=12", "--net", "constant"]
    code, summary, said = selfplay(cgroup, tmp_path / "killed", "--games", 64, *hungry)
    assert (code, summary["games"], summary["restarts"]) == (0, 64, 1), said
    assert "killed by the system, out of memory: it may use 700 MB (memory." in said
    assert "worker 0 (cpu) goes on with 32 games at a time and 32 slots" in said

    huge = ["--search", "puct", "--sims", 1_000_000]
    code, _, said = selfplay(cgroup, tmp_path / "huge", "--games", 64, *huge)
    assert code == 2
    assert "1 tree of 1,000,000 simulations may take" in said
    assert "more than the memory, 700 MB (memory." in said
    assert not (tmp_path / "huge").exists()
