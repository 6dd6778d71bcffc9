"""Settings of all tests."""

import copy
import gc
import hashlib
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any
from urllib.request import Request, urlopen

import pytest
from hypothesis import settings

from vecchess.runtime import retried_read
from vecchess.runtime.torch_environment import prepare_environment

# As the program does before it imports torch: otherwise OpenMP's threads spin in every training.
prepare_environment()
if os.environ.get("PYTEST_XDIST_WORKER"):  # known when numpy is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import torch  # noqa: E402

from vecchess.snn import create  # noqa: E402
from vecchess.snn.integer.integer_net import IntegerNet  # noqa: E402
from vecchess.snn.presets import NetConfig  # noqa: E402

# Files are compiled once, not in each of some hundred processes, where a container forbids that.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell has what it starts in the background ignore Ctrl-C, and so would all that tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Nearly all that imports make stays; ``pytest_collection_finish`` enables it again.
gc.disable()

_NUM_THREADS = 1 if os.environ.get("PYTEST_XDIST_WORKER") else torch.get_num_threads()
"""Threads of torch's operators at the start of each test."""

# A network of the same sizes and seed is made once in each test process: that takes a second.
_make_network = cache(create.create_sized)


def _made_network(config: NetConfig, seed: int) -> IntegerNet:
    return copy.deepcopy(_make_network(config, seed))


pytest.MonkeyPatch().setattr(create, "create_sized", _made_network)

# Without a GPU Triton's kernels run in its interpreter, which has to be known when Triton is
# imported; whoever compiles with torch imports it.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# The first example of a property compiles its kernels: no deadline.
settings.register_profile("vecchess", deadline=None, max_examples=50)
settings.load_profile("vecchess")

_deadline_s = math.inf
"""On the monotonic clock: after it tests are skipped."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--minutes",
        type=float,
        help="begin no test after so many minutes, and none that may take four times as long",
    )


def pytest_configure(config: pytest.Config) -> None:
    global _deadline_s
    if (minutes := config.getoption("--minutes")) is not None:
        _deadline_s = time.monotonic() + 60 * minutes


def pytest_runtest_setup(item: pytest.Item) -> None:
    torch.set_num_threads(_NUM_THREADS)  # what a test before left may hold for one thread alone
    if time.monotonic() > _deadline_s:
        pytest.skip("the minutes of --minutes are over")
    if _most_seconds(item) > 4 * 60 * (item.config.getoption("--minutes") or math.inf):
        pytest.skip("may take longer than four times the minutes of --minutes")


def pytest_collection_finish() -> None:
    """What is imported and collected by now stays: the garbage collector need not look at it each
    time, which takes 0.3 s with torch and all tests in memory."""
    gc.enable()
    gc.collect()
    gc.freeze()


def _commit(folder: Path) -> str:
    """The commit that is checked out in ``folder``; "" where git cannot say."""
    head = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=False).stdout.strip()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads that fail are tried again at once."""
    monkeypatch.setattr(retried_read, "PAUSES_S", (0.0,) * len(retried_read.PAUSES_S))


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a server of S3 on this machine, which forgets all at the end."""
    from moto.s3.responses import S3Response
    from moto.server import ThreadedMotoServer

    # its threads look whether an object is there, and then put theirs: both of two may
    lock, put_object = Lock(), S3Response.put_object

    def put_in_turn(response: S3Response) -> Any:
        with lock:
            return put_object(response)

    S3Response.put_object = put_in_turn  # type: ignore[method-assign]

    os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "100"  # names of one page of a listing
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_place(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty place in a new bucket, and the variables that tell where it is."""
    bucket = f"bucket-{token_hex(8)}"
    urlopen(Request(f"{s3_server}/{bucket}", method="PUT")).close()
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return f"s3://{bucket}/run"


def _most_seconds(item: pytest.Item) -> float:
    """The time-out that a slow test sets itself; 0 for others."""
    timeout = item.get_closest_marker("timeout")
    return float(timeout.args[0]) if timeout and item.get_closest_marker("slow") else 0.0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whole runs first, so that no process is left with the longest at the end; of the slow tests
    those last that may take the longest. With ``--minutes`` the commit's hash draws which files
    come first: no test is left out for long. Skip what needs Stockfish where there is none, unless
    it has to be there."""
    if config.getoption("--minutes") is None:
        items.sort(key=lambda item: (_most_seconds(item), "system" not in item.path.parts))
    else:
        commit = _commit(config.rootpath)
        items.sort(key=lambda item: hashlib.sha256(f"{commit} {item.path.name}".encode()).digest())
    if shutil.which("stockfish") or shutil.which("/usr/games/stockfish"):
        return
    if os.environ.get("VECCHESS_REQUIRE_STOCKFISH"):
        pytest.exit("VECCHESS_REQUIRE_STOCKFISH is set, but stockfish is not installed", 1)
    for item in items:
        if item.get_closest_marker("stockfish"):
            item.add_marker(pytest.mark.skip(reason="stockfish is not installed"))
