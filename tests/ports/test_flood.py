"""A run whose ports are flooded, as a program: it ends as ever, and answers meanwhile."""

import json
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.ports.test_prometheus import free_port
from tests.system.commands import PROGRAM
from vecchess.dash.web import assets

pytestmark = pytest.mark.thorough

resource = pytest.importorskip("resource")

FILES = 256
"""Files that each process of the run may open."""
HALF = 300
"""Connections at each port: more than the run could open files for."""
WAIT_S = 60.0


def flooded_run(run: Path, ports: dict[str, int]) -> subprocess.Popen[str]:
    flags = [f"--{name}={port}" for name, port in ports.items()]
    dash = ["--dash"] if "dash-port" in ports else []
    command = [*PROGRAM, "selfplay", "--net=material", "--games=forever", "--gpus=cpu", "--quiet"]
    return subprocess.Popen(
        [*command, f"--run-dir={run}", "--max-plies=40", "--shard-interval-s=0.1", *flags, *dash],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
    )


def connected(port: int) -> socket.socket:
    """A connection, once the port is there."""
    deadline = monotonic() + WAIT_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), WAIT_S)
        except ConnectionRefusedError:
            assert monotonic() < deadline
            sleep(0.1)


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, int]]]:
    """A run with a flood at each of its ports; it has to end with nothing but its games."""
    if not (assets.FOLDER / "index.html").is_file():
        pytest.skip("the pages are not built: make pages")
    run = tmp_path_factory.mktemp("flooded") / "run"
    ports = {name: free_port() for name in ("metrics-port", "dash-port")}
    with flooded_run(run, ports) as process, ExitStack() as stack:
        for port in ports.values():
            for _ in range(HALF):
                connection = stack.enter_context(connected(port))
                with suppress(ConnectionError):
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        yield run, ports
        games = games_of(run)
        while games_of(run) <= games:
            assert process.poll() is None
            sleep(0.1)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=WAIT_S)[1]
        assert process.returncode == 130, said
        assert "Too many open files" not in said
        assert "Traceback" not in said


def games_of(run: Path) -> int:
    with suppress(OSError, ValueError):
        return int(json.loads((run / "status.json").read_text())["games"])
    return 0


@pytest.mark.parametrize("port", ["metrics-port", "dash-port"])
def test_a_client_that_asks_is_answered(flooded: tuple[Path, dict[str, int]], port: str) -> None:
    _, ports = flooded
    with urllib.request.urlopen(f"http://127.0.0.1:{ports[port]}/healthz", timeout=20) as answer:
        assert answer.status == 200
