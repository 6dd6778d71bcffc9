"""A training, or games, of a fleet on this machine: bits, and speed, while players come and go.

    python -m bench.fleet --players 3                         # the network of one machine?
    python -m bench.fleet --players 5 --slow 1 --kills 40 --late 2 --lose 0.1
    python -m bench.fleet --games --players 4 --latency 4ms+20us --slow 1 --seconds 60

Players are processes of ``vecchess contribute``. A killed one is replaced a second later.
With --games and a latency they play on fake devices (``bench/fake_device.py``), which leave the
processor free: the rate of all is compared with that of one, times their number. --slow: so many
players at a third of the speed. --lose: a share of the writes to the store is confirmed, and lost.
Prints JSON.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

VECCHESS = [sys.executable, "-m", "vecchess_cli.main"]
TRAINING = [
    "--net", "tiny", "--iterations", "5", "--positions-per-iter", "6000", "--seats", "48",
    "--sims", "4", "--eval-every", "0", "--batch-size", "64", "--seed", "5", "--block-seats", "2",
    "--gpus", "cpu", "--max-plies", "60", "--loaders", "0", "--quiet", "--json",
]  # fmt: skip
GAMES = [
    "--net", "constant", "--max-plies", "100", "--seed", "5", "--quiet", "--json",
    "--verify-share", "0",
]  # fmt: skip
ENVIRON = os.environ | {"VECCHESS_THREADS": "1", "PYTHONPATH": "."}


class Players:
    """Processes that contribute to a run; some are slow, some are killed."""

    def __init__(self, place: str, given: argparse.Namespace) -> None:
        """No process is started."""
        self.place, self._given = place, given
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._draw, self.kills, self._is_over = random.Random(given.seed), 0, threading.Event()

    def start(self, index: int) -> None:
        """Start player ``index``; the first ones may be slow."""
        command = [*VECCHESS, "contribute", self.place, "--gpus", "cpu", "--quiet"]
        is_slow = index < self._given.slow
        if self._given.latency:
            slower = "&slow_worker=0" if is_slow else ""
            command += [
                "--backend", f"bench.fake_device:open_fake?latency={self._given.latency}{slower}",
                "--concurrent-games", str(self._given.rows),
            ]  # fmt: skip
        log = open(Path(self._given.folder) / f"player{index}.log", "ab")  # noqa: SIM115
        self._running[index] = subprocess.Popen(command, env=ENVIRON, stdout=log, stderr=log)
        log.close()
        if is_slow and not self._given.latency:
            threading.Thread(target=self._slow_down, args=(index,), daemon=True).start()

    def run(self) -> None:
        """Start all, late ones later, and kill some until the end."""
        for index in range(self._given.players):
            self.start(index)
        late = [time.monotonic() + 20 * (each + 1) for each in range(self._given.late)]
        while not self._is_over.wait(self._draw.uniform(0.5, 2 * self._given.kill_every)):
            if late and time.monotonic() > late[0]:
                del late[0]
                self.start(len(self._running))
            if self.kills < self._given.kills:
                index = self._draw.choice(sorted(self._running))
                self._running[index].kill()
                self._running[index].wait()
                self.kills += 1
                self._is_over.wait(1.0)
                self.start(index)

    def end(self) -> list[int]:
        """Ask all to end; returns their exit codes."""
        self._is_over.set()
        for process in self._running.values():
            process.terminate()
        return [process.wait() for process in self._running.values()]

    def _slow_down(self, index: int) -> None:
        """Stop the processes of a player for two thirds of the time."""
        while not self._is_over.wait(0.1):
            for number, seconds in ((signal.SIGSTOP, 0.2), (signal.SIGCONT, 0.0)):
                for pid in _family(self._running[index].pid):
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
                time.sleep(seconds)


def _family(pid: int) -> list[int]:
    """A process and its children."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(each for child in children for each in _family(int(child)))]


@contextmanager
def store_of(given: argparse.Namespace) -> Iterator[str]:
    """Where the run lies: a folder, or a bucket whose server loses some of what is written."""
    if not given.lose:
        yield str(Path(given.folder) / "run")
        return
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), _losing(port, given.lose, given.seed))
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_port}"), ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_ALLOW_HTTP", "true"),
    ):  # fmt: skip
        ENVIRON[name] = value
    bucket = HTTPConnection("127.0.0.1", port)
    bucket.request("PUT", "/bucket")
    bucket.getresponse().read()
    try:
        yield "s3://bucket/run"
    finally:
        proxy.shutdown()
        server.stop()


def _losing(port: int, share: float, seed: int) -> type[BaseHTTPRequestHandler]:
    """A proxy of the server at ``port``: it confirms a share of the writes that players make, and
    drops them. What the learner alone writes for itself, its checkpoints and lists, is passed on.
    """
    draw = random.Random(seed)

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on()

        def do_PUT(self) -> None:
            self._pass_on(
                is_lost="/fleet/" in self.path
                and ".probe" not in self.path
                and draw.random() < share
            )

        def do_POST(self) -> None:
            self._pass_on()

        def do_DELETE(self) -> None:
            self._pass_on()

        def do_HEAD(self) -> None:
            self._pass_on()

        def _pass_on(self, is_lost: bool = False) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server = HTTPConnection("127.0.0.1", port)
            if is_lost:
                server.request("HEAD", self.path)  # what is there already is not made again
                is_lost = server.getresponse().status == 404
                server = HTTPConnection("127.0.0.1", port)
            if is_lost:
                status, headers, data = 200, [("ETag", '"lost"')], b""
            else:
                server.request(self.command, self.path, body, dict(self.headers))
                answer = server.getresponse()
                status, headers, data = answer.status, answer.getheaders(), answer.read()
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    return Proxy


def run(command: Sequence[str], place: str, players: Players | None) -> dict[str, Any]:
    """The summary of a learner whose games ``players`` play, or its own devices."""
    others = ["--executor", "mailbox"] if players else []
    process = subprocess.Popen(
        [*VECCHESS, *command, "--run-dir", place, *others], env=ENVIRON, stdout=subprocess.PIPE
    )
    if players:
        threading.Thread(target=players.run, daemon=True).start()
    output, _ = process.communicate()
    assert process.returncode == 0, output
    found: dict[str, Any] = json.loads(output)
    return found


def train(given: argparse.Namespace) -> dict[str, Any]:
    """The same training alone and by a fleet: the sha256 of both networks."""
    folder = Path(given.folder)
    began = time.monotonic()
    command = ["train", *TRAINING, *(["--lag", "1"] if given.lag else [])]
    alone = run(command, str(folder / "alone" / "run"), None)
    alone_s = time.monotonic() - began
    with store_of(given) as place:
        players = Players(place, given)
        began = time.monotonic()
        fleet = run([*command, "--verify-share", str(given.verify)], place, players)
        fleet_s = time.monotonic() - began
        codes = players.end()
    sums = [hashlib.sha256(Path(each["net"]).read_bytes()).hexdigest() for each in (alone, fleet)]
    return {
        "equal": sums[0] == sums[1], "sha256": sums, "kills": players.kills,
        "seconds": [round(alone_s, 1), round(fleet_s, 1)], "exit_codes": codes,
    }  # fmt: skip


def play(given: argparse.Namespace) -> dict[str, Any]:
    """Games/s of one player, and of all together, as their share of the sum of their speeds."""
    rates = []
    for num, slow in ((1, 0), (given.players, given.slow)):
        one = argparse.Namespace(**{**vars(given), "players": num, "slow": slow})
        place = str(Path(given.folder) / f"run{num}")
        players = Players(place, one)
        summary = run(
            ["selfplay", *GAMES, "--games", str(given.num_games * num),
             "--block-seats", str(given.block)], place, players,
        )  # fmt: skip
        players.end()
        assert summary["games"] == given.num_games * num
        rates.append(_rate(Path(place), given.block))
    total = given.players - given.slow * 2 / 3
    return {
        "games_per_s": [round(rate, 2) for rate in rates],
        "speeds": total,
        "share": round(rates[1] / rates[0] / total, 3),
    }


def _rate(run_dir: Path, block: int) -> float:
    """Games/s from when each player has sent a result, as they start at other times, to the end."""
    files = [file for file in run_dir.glob("fleet/blocks/*/*-*") if not file.suffix]
    firsts: dict[str, float] = {}
    for file in files:
        player, time_s = file.name.partition("-")[2], file.stat().st_mtime
        firsts[player] = min(firsts.get(player, time_s), time_s)
    begin = max(firsts.values())
    after = [time_s for file in files if (time_s := file.stat().st_mtime) > begin]
    return len(after) * block / (max(after) - begin)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the options say, and print JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--slow", type=int, default=0)
    parser.add_argument("--late", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--kill-every", type=float, default=2.0)
    parser.add_argument("--lose", type=float, default=0.0)
    parser.add_argument("--lag", type=int, default=0)
    parser.add_argument("--verify", type=float, default=0.02)
    parser.add_argument("--games", action="store_true")
    parser.add_argument("--num-games", type=int, default=4000)
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--latency", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="")
    given = parser.parse_args(arguments)
    given.folder = given.folder or tempfile.mkdtemp(prefix="vecchess-fleet-")
    Path(given.folder).mkdir(parents=True, exist_ok=True)
    found = play(given) if given.games else train(given)
    print(json.dumps({"settings": vars(given), **found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
