"""Freed memory stays in the process: the next block of the size needs no new pages."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from resource import RUSAGE_SELF, getrusage
from vecchess.runtime.freed_memory import keep_freed_memory

def faults():
    before = getrusage(RUSAGE_SELF).ru_minflt
    np.empty(48 << 20, np.uint8).fill(1)
    return getrusage(RUSAGE_SELF).ru_minflt - before

assert keep_freed_memory()
first = faults()
print(first, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of glibc")
def test_a_second_block_needs_no_pages() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = map(int, done.stdout.split())
    assert second < first / 2
