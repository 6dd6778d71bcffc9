"""A failing thread of a C++ library, and the process around it."""

import ctypes
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, resource, sys, threading
from vecchess.train.distributed.gloo_terminate import hold_failing_threads

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
fail = ctypes.CDLL("libstdc++.so.6")["_ZSt9terminatev"]
release = hold_failing_threads()
if sys.argv[1] == "released":
    release()
if sys.argv[1] == "main":
    fail()
thread = threading.Thread(target=fail, daemon=True)
thread.start()
thread.join(1.0)
print("still running" if thread.is_alive() else "", flush=True)
"""


def ended(case: str) -> subprocess.CompletedProcess[str]:
    try:
        ctypes.CDLL("libstdc++.so.6")
    except OSError:
        pytest.skip("without GNU's C++ library")
    command = [sys.executable, "-c", PROGRAM, case]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_failing_thread_waits() -> None:
    done = ended("thread")
    assert (done.returncode, done.stdout, done.stderr) == (0, "still running\n", "")


@pytest.mark.parametrize("case", ["main", "released"])
def test_the_main_thread_and_a_released_handler_end_the_process(case: str) -> None:
    done = ended(case)
    assert done.returncode == -signal.SIGABRT
    assert "terminate called" in done.stderr
