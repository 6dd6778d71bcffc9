"""The layout of samples, and buffers that processes share whatever the size of /dev/shm."""

import errno
import os
import shutil
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from vecchess.errors import ConfigError
from vecchess.train.data.samples import SharedBuffers, row_bytes, samples_in


def fill(buffers: SharedBuffers) -> None:
    for index in range(buffers.ahead + 1):
        buffers[index][:] = index + 1


@pytest.mark.parametrize("num_planes", [25, 37, 109])
def test_rows_share_one_buffer(num_planes: int) -> None:
    buffer = np.zeros(3 * row_bytes(num_planes), np.uint8)
    rows = samples_in(buffer, 3, num_planes)
    assert rows.planes.shape == (3, num_planes)
    for name, column in rows._asdict().items():
        assert column.flags["ALIGNED"], name
        column[...] = 1
    assert sum(column.nbytes for column in rows) == 3 * row_bytes(num_planes)
    assert rows.map(lambda column: column[:2]).legal.shape == (2, 218)


def test_a_process_writes_where_others_read() -> None:
    buffers = SharedBuffers(num_rows=3, num_workers=2, prefetch=2)
    assert buffers.ahead == 4
    assert buffers[0].nbytes == 3 * row_bytes(25)
    process = get_context("spawn").Process(target=fill, args=(buffers,))
    process.start()
    process.join()
    for index in range(5):
        assert (buffers[index] == index + 1).all()
        assert (buffers[index + 5] == index + 1).all()


def test_without_processes_there_is_one_buffer() -> None:
    buffers = SharedBuffers(num_rows=3)
    assert (buffers.ahead, buffers[0].nbytes) == (0, 3 * row_bytes(25))
    assert buffers[0].base is buffers[1].base


def test_a_lack_of_memory_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(ConfigError, match=r"2 loader processes need 55 MB .*--loaders 0"):
        SharedBuffers(num_rows=4096, num_workers=2)


def test_a_small_dev_shm_is_enough(tmp_path: Path) -> None:
    """In a mount namespace whose /dev/shm has room for nothing but semaphores."""
    if shutil.which("unshare") is None or os.geteuid():
        pytest.skip("needs unshare, and to be root")
    program = (
        "from vecchess.train.data.samples import SharedBuffers\n"
        "from tests.train.data.test_samples import *\n"
        "if __name__ == '__main__':\n"
        "    buffers = SharedBuffers(1024, 1)\n"
        "    test_a_process_writes_where_others_read(); fill(buffers)\n"
        "    print(buffers[0].nbytes)\n"
    )
    file = tmp_path / "program.py"
    file.write_text(program)
    script = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$0" "$1"'
    command = ["unshare", "--mount", "sh", "-c", script, sys.executable, str(file)]
    path = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("may not mount")
    assert (done.returncode, done.stdout) == (0, f"{1024 * row_bytes(25)}\n"), done.stderr
