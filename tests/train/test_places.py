"""SharedBuffers for batches: shared with processes, and of no account to the size of /dev/shm."""

import errno
import os
import shutil
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from vecchess.errors import ConfigError
from vecchess.train.data.samples import row_bytes
from vecchess.train.data.shared_buffers import SharedBuffers


def fill(places: SharedBuffers) -> None:
    for index in range(places.ahead + 1):
        places[index][:] = index + 1


def test_a_process_writes_where_others_read() -> None:
    places = SharedBuffers(num_rows=3, num_workers=2, prefetch=2)
    assert places.ahead == 4
    assert places[0].nbytes == 3 * row_bytes(25)
    process = get_context("spawn").Process(target=fill, args=(places,))
    process.start()
    process.join()
    for index in range(5):
        assert (places[index] == index + 1).all()
        assert (places[index + 5] == index + 1).all()


def test_no_process_needs_nothing_to_share() -> None:
    places = SharedBuffers(num_rows=3)
    assert (places.ahead, places[0].nbytes) == (0, 3 * row_bytes(25))
    assert places[0].base is places[1].base


def test_a_lack_of_memory_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(ConfigError, match=r"2 loader processes need 55 MB .*--loaders 0"):
        SharedBuffers(num_rows=4096, num_workers=2)


def test_a_small_dev_shm_will_do(tmp_path: Path) -> None:
    """In a mount namespace whose /dev/shm has room for nothing but semaphores."""
    if shutil.which("unshare") is None or os.geteuid():
        pytest.skip("needs unshare, and to be root")
    program = (
        "from vecchess.train.data.shared_buffers import SharedBuffers\n"
        "from tests.train.test_places import *\n"
        "if __name__ == '__main__':\n"
        "    places = SharedBuffers(1024, 1)\n"
        "    test_a_process_writes_where_others_read(); fill(places)\n"
        "    print(places[0].nbytes)\n"
    )
    file = tmp_path / "program.py"
    file.write_text(program)
    script = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$0" "$1"'
    command = ["unshare", "--mount", "sh", "-c", script, sys.executable, str(file)]
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("may not mount")
    assert (done.returncode, done.stdout) == (0, f"{1024 * row_bytes(25)}\n"), done.stderr
