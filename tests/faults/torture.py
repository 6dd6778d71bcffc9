"""Self-play under faults, for a number of minutes: ``python -m tests.faults.torture MINUTES``.

Runs of three workers are killed, paused, starved of memory and of disk space, and refused reads, at
random moments and at named points, compacted meanwhile, and resumed until they are complete. Then
every game has to be recorded once, the same as without faults. All choices follow from a seed,
which is reported; the moments also depend on the machine. The exit code is 3 where a game is lost.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tests.faults import processes
from tests.faults.injector import POINTS, READ_ACTIONS, READ_POINTS, VARIABLE
from tests.faults.invariants import broken_in_progress, broken_invariants
from tests.faults.processes import Victims
from vecchess.errors import VecchessError
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import OnSignal, Stopped, StopSignals, exit_code, stopped_text
from vecchess.store.maintenance.rewrite import finish_rewriting
from vecchess.store.run_folder import RunFolder

SCHEMA = 1
LONGEST_S = 600.0
"""A run that is not complete after this time has failed. After half of it there are no more
faults."""
EXIT_CODES = {0, 1, -signal.SIGKILL}
"""Exit codes of a supervisor: complete, a disk error (reported in one line), killed."""
FAULTS = {
    "kill a worker": 16, "kill all workers": 2, "kill the supervisor": 2, "kill all processes": 1,
    "pause a worker": 2, "pause the supervisor": 1, "slow a worker": 1, "no room": 2,
    "starve a worker": 1, "compact": 8,
}  # fmt: skip
"""Faults at random moments, and their relative frequency."""
TOTALS = ("runs", "starts", "games", "kills")
"""Counts besides the faults; "kills" are processes, of which some faults end several."""
GAPS_S = (0.15, 0.5, 1.5)
"""Mean times between faults; each start draws one."""
SHARE_AT_POINTS = 0.5
"""Share of the starts, and of the compactions, with a fault at a named point."""
ACTIONS_AT_POINTS = ("kill", "kill", "full", "broken", "read", "read", "read")
SHARE_TAMPERED = 0.3
"""Share of the restarts before which a file is damaged as a crash of the machine may do."""
COMPACTION_S = 120.0
COMPACTION_CODES = {0, 1, 2, -signal.SIGKILL}
"""Done, a disk error (reported in one line), refused, killed."""
PROGRAM = (sys.executable, "-m", "tests.faults.tortured")


@dataclass(frozen=True)
class Setting:
    """One kind of run."""

    name: str
    num_games: int
    flags: tuple[str, ...]


COMMON = (
    "--net=tiny", "--seed=5", "--slots=16", "--concurrent-games=40", "--threads=1", "--movers=1",
    "--max-plies=60", "--random-plies=2", "--shard-interval-s=0.2", "--inflight-interval-s=0.2",
    "--stall-timeout-s=20",
)  # fmt: skip
SETTINGS = (
    Setting("constant", 20_000, ("--net=constant", "--concurrent-games=500")),
    Setting("policy", 1200, ()),
    Setting("gumbel", 300, ("--search=gumbel", "--sims=4", "--cache-mb=1")),
    Setting("puct", 300, ("--search=puct", "--sims=6", "--cache-mb=1")),
)


class Compaction:
    """One process that compacts; it is left to itself until ``end``."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        """``environment``: variables added to those of this process."""
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed by end)
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=self._words,
            env=os.environ | environment,
        )

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process, if it runs."""
        self._process.kill()

    def end(self) -> list[str]:
        """Wait for the process; what was wrong with it, if anything."""
        with self._words, suppress(subprocess.TimeoutExpired):
            code = self._process.wait(COMPACTION_S)
            self._words.seek(0)
            said = self._words.read()
            is_right = code in COMPACTION_CODES and "Traceback" not in said
            return [] if is_right else [f"compaction, exit code {code}: {said}"]
        self._process.kill()
        return [f"compaction: not done after {COMPACTION_S:g} s"]


class Torture:
    """Runs in turn: each is started, put under faults, completed and checked."""

    def __init__(
        self,
        seed: int,
        report_line: ReportLine,
        settings: tuple[Setting, ...] = SETTINGS,
        folder: Path | None = None,
        longest_s: float = LONGEST_S,
    ) -> None:
        """``report_line`` gets progress lines. ``folder``: where runs lie; None: a temporary one.
        longest_s: for each run."""
        self._random = random.Random(seed)
        self._seed, self._report_line, self._settings = seed, report_line, settings
        self._folder, self._longest_s = folder, longest_s
        self._stop = StopSignals()
        self._digests: dict[str, str] = {}
        self._count: Counter[str] = Counter()
        self._broken: list[str] = []
        self._compaction: Compaction | None = None

    def run(self, minutes: float, kills: int | None = None) -> dict[str, Any]:
        """Run for ``minutes``, until ``kills`` processes were killed, or until a signal.

        The report: the counts, "faults" by name, what it was "stopped_by" ("" by itself), and the
        list of what is "broken".
        """
        start = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="vecchess-torture-", dir=self._folder) as folder,
            self._stop,
            suppress(Stopped),
            self._stop.interrupting(),
        ):
            while not self._broken and (time.monotonic() - start < 60 * minutes):
                self._cycle(Path(folder))
                self._report_line(
                    f"{self._count['runs']} runs, {self._count['kills']} kills: {self}"
                )
                if kills is not None and kills <= self._count["kills"]:
                    break
        kinds = sorted({*self._count, *FAULTS}.difference(TOTALS))
        return {
            "schema": SCHEMA,
            "seed": self._seed,
            "seconds": round(time.monotonic() - start, 1),
            **{name: self._count[name] for name in TOTALS},
            "faults": {name: self._count[name] for name in kinds},
            "stopped_by": self._stop.reason,
            "broken": self._broken,
        }

    def __str__(self) -> str:
        return "; ".join(self._broken) or "nothing is lost"

    def _cycle(self, folder: Path) -> None:
        """One run, from its first start to the look at what is there."""
        setting = self._random.choice(self._settings)
        if setting.name not in self._digests:
            self._digests[setting.name] = self._digest_without_faults(folder, setting)
        run = RunFolder(folder / f"run-{self._count['runs']}")
        start = time.monotonic()
        while not self._broken and not self._session(run, setting, start):
            self._broken += broken_in_progress(run, setting.num_games) if run.has_begun else []
            if run.has_begun and self._random.random() < SHARE_TAMPERED:
                self._tamper(run)
        if not self._broken:
            digest = self._digests[setting.name]
            finish_rewriting(run.manifest())
            self._broken += broken_invariants(run, setting.num_games, digest)
        self._count["runs"] += 1
        self._count["games"] += setting.num_games
        if self._broken and run.path.exists():
            kept = Path(tempfile.mkdtemp(prefix="vecchess-broken-")) / run.path.name
            shutil.copytree(run.path, kept)
            self._broken.append(f"the run is kept in {kept}")
        shutil.rmtree(run.path, ignore_errors=True)

    def _digest_without_faults(self, folder: Path, setting: Setting) -> str:
        run = RunFolder(folder / f"quiet-{setting.name}")
        with tempfile.TemporaryFile("w+") as words:
            with self._started(run, setting, "", "cpu:1", words) as supervisor:
                code = supervisor.wait()
            words.seek(0)
            if code:
                raise VecchessError(f"self-play fails without any fault: {_last_line(words)}")
        return run.records().digest()

    def _session(self, run: RunFolder, setting: Setting, start: float) -> bool:
        """One start of the supervisor, of a run that began at ``start``; True where the run is
        complete then."""
        is_late = time.monotonic() - start > self._longest_s / 2
        calm = is_late or self._random.random() < 0.1  # some starts must come to the end
        fault = "" if is_late else self._fault_at_point()
        gap_s = self._random.choice(GAPS_S)
        starved = self._count["starve a worker"]
        with tempfile.TemporaryFile("w+") as words, ExitStack() as at_end:
            at_end.callback(self._end_compaction)
            with self._started(run, setting, fault, "cpu:3", words) as supervisor:
                while supervisor.poll() is None:
                    time.sleep(self._random.expovariate(1 / gap_s))
                    if not calm and supervisor.poll() is None:
                        self._inject(Victims.of(supervisor), run)
                    if time.monotonic() - start > self._longest_s:
                        self._broken.append(f"not complete after {self._longest_s:g} s")
                        break
            code = supervisor.wait()
            words.seek(0)
            stderr = words.read()
        self._count["starts"] += 1
        # a process without memory may print a traceback
        if num_tracebacks(stderr, code) and self._count["starve a worker"] == starved:
            self._broken.append(f"a traceback: {stderr}")
        if code not in EXIT_CODES:
            self._broken.append(f"exit code {code}: {stderr}")
        return code == 0

    @contextmanager
    def _started(
        self, run: RunFolder, setting: Setting, fault: str, devices: str, words: TextIO
    ) -> Iterator[subprocess.Popen[str]]:
        """A supervisor, whose stderr goes to the file ``words``. After the block, also after an
        exception, none of its processes is left."""
        resume = ["--resume"] if run.has_begun else []
        arguments = [*COMMON, *setting.flags, f"--games={setting.num_games}", f"--gpus={devices}"]
        self._stop.set_action()  # an exception after the fork would leave a process behind
        supervisor = subprocess.Popen(
            [*PROGRAM, "selfplay", "--quiet", f"--run-dir={run.path}", *resume, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", **_with_fault(fault, run)},
        )
        try:
            self._stop.set_action(OnSignal.RAISE)
            yield supervisor
        finally:
            if supervisor.poll() is None:
                processes.end(supervisor)

    def _fault_at_point(self) -> str:
        """A fault for a process to be started with; "" for none."""
        if self._random.random() > SHARE_AT_POINTS:
            return ""
        action = self._random.choice(ACTIONS_AT_POINTS)
        self._count[f"{action} at a point"] += 1
        points = READ_POINTS if action == "read" else POINTS
        if action == "read":
            action = self._random.choice(sorted(READ_ACTIONS))
        point = self._random.choice(sorted(points))
        number = self._random.randint(1, {"any": 200, "read any": 60}.get(point, 12))
        lasting = "" if action == "kill" else f" for {self._random.uniform(0.01, 2.0):.2f}"
        return f"{action} at {point} {number}{lasting}"

    def _inject(self, victims: Victims, run: RunFolder) -> None:
        """Inject one fault now."""
        what = self._random.choices(list(FAULTS), list(FAULTS.values()))[0]
        if not victims.workers and "worker" in what:
            return  # they have not started yet
        worker = self._random.choice(victims.workers) if victims.workers else victims.supervisor
        all_processes = (victims.supervisor, *victims.workers)
        moment = self._random.uniform(0.01, 2.0)
        self._count[what] += 1
        if what.startswith("kill"):
            chosen = {
                "kill a worker": (worker,),
                "kill all workers": victims.workers,
                "kill the supervisor": (victims.supervisor,),
                "kill all processes": all_processes,
            }[what]
            self._count["kills"] += len(chosen)
            for pid in chosen:
                processes.kill(pid)
        elif what.startswith("pause"):
            pid = worker if what == "pause a worker" else victims.supervisor
            processes.pause(pid)
            time.sleep(moment)
            processes.resume(pid)
        elif what == "slow a worker":
            processes.slow(worker, moment)
        elif what == "compact":
            self._compact(run)
        elif what == "no room":
            size = self._random.choice((0, 100, 5000, 50_000))
            with processes.limited_files(victims, size):
                time.sleep(moment)
        else:
            processes.starve(worker, 1 << 20)
            time.sleep(moment)
            processes.starve(worker, -1)

    def _compact(self, run: RunFolder) -> None:
        """Compact the games while they are played; kill a compaction that is still going on."""
        if self._compaction is not None and self._compaction.is_running:
            self._count["kills"] += 1
            self._compaction.kill()
        self._end_compaction()
        command = [*PROGRAM, "games", "compact", str(run.path), "--shard-games=200"]
        environment = _with_fault(self._fault_at_point(), run)
        self._stop.set_action()
        self._compaction = Compaction(command, environment)
        self._stop.set_action(OnSignal.RAISE)

    def _end_compaction(self) -> None:
        if self._compaction is not None:
            self._broken += self._compaction.end()
            self._compaction = None

    def _tamper(self, run: RunFolder) -> None:
        """Damage a file as a crash of the machine may: the manifest's end, games in progress."""
        self._count["tampered"] += 1
        manifest = run.manifest().path
        saved = sorted(run.inflight.glob("[!.]*.npz"))
        if saved and self._random.random() < 0.7:
            with suppress(FileNotFoundError):  # a worker without supervisor may remove it
                self._damage(self._random.choice(saved))
        elif manifest.exists():
            line = json.dumps({"schema": 1, "file": "torn"})
            with manifest.open("a") as file:
                file.write(line[: self._random.randint(1, len(line))])

    def _damage(self, path: Path) -> None:
        """Flip a bit of a file, or cut its end."""
        data = bytearray(path.read_bytes())
        if data and self._random.random() < 0.5:
            data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        else:
            del data[self._random.randint(0, len(data)) :]
        path.write_bytes(data)


def _with_fault(fault: str, run: RunFolder) -> dict[str, str]:
    """The environment of a process with ``fault`` among the files of ``run``; "": none."""
    return {VARIABLE: f"{fault};{run.path}" if fault else ""}


def num_tracebacks(stderr: str, code: int) -> int:
    """Number of tracebacks of vecchess in the stderr of a supervisor that ended with ``code``, and
    of its workers.

    A spawned process that loses its supervisor before it has received its task prints a traceback
    of Python's multiprocessing, before any code of vecchess runs in it. Those do not count.
    """
    stillborn = stderr.count("reduction.pickle.load(from_parent)") if code == -signal.SIGKILL else 0
    return stderr.count("Traceback") - stillborn


def _last_line(words: TextIO) -> str:
    return (words.read().strip().splitlines() or ["no output"])[-1]


def main() -> int:
    """Torture, and print what was seen: progress on stderr, one JSON object on stdout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument("--kills", type=int, help="end after this number of kills")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report = Torture(options.seed, _note).run(options.minutes, options.kills)
    stopped = f", {stopped_text(report['stopped_by'])}" if report["stopped_by"] else ""
    _note("BROKEN: " + "; ".join(report["broken"]) if report["broken"] else "nothing is lost")
    _note(f"{report['kills']} processes killed in {report['seconds']:.0f} s{stopped}")
    print(json.dumps(report))
    return 3 if report["broken"] else exit_code(report["stopped_by"])


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
