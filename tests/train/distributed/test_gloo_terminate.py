"""A failing thread of a C++ library, and the process around it."""

import ctypes
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, resource, sys, threading
from vecchess.train.distributed.collectives import hold_failing_threads

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
fail = ctypes.CDLL("libstdc++.so.6")["_ZSt9terminatev"]
release = hold_failing_threads()
if sys.argv[1] == "released":
    release()
thread = threading.Thread(target=fail, daemon=True)
thread.start()
thread.join(1.0)
print("still running" if thread.is_alive() else "", flush=True)
if sys.argv[1] == "main":
    fail()
"""


def ended(case: str) -> subprocess.CompletedProcess[str]:
    try:
        ctypes.CDLL("libstdc++.so.6")
    except OSError:
        pytest.skip("without GNU's C++ library")
    command = [sys.executable, "-c", PROGRAM, case]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.thorough
def test_a_failing_thread_waits_and_the_main_thread_ends_the_process() -> None:
    done = ended("main")
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "still running\n")
    assert "terminate called" in done.stderr


@pytest.mark.slow
def test_a_released_handler_ends_the_process() -> None:
    done = ended("released")
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "")
    assert "terminate called" in done.stderr
