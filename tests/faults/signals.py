"""Signals at random moments: ``python -m tests.faults.signals COMMAND --times N --seed K``.

Starts the real command again and again, waits for a phase as the command itself tells of it, and a
random part of that phase's length more, and sends TERM, INT, USR1, USR2 or HUP, to the parent alone
or to the whole group, as a terminal does, sometimes a second one. Then it looks at how the command
ended and what it left. Prints one JSON object; exit code 3 where anything was wrong.
"""

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.faults.aftermath import Blow, Outcome, digest, right_codes, wrong_with_run
from tests.faults.running import Running
from tests.faults.subjects import SUBJECTS, Subject, prepare
from vecchess.runtime.signals import EXIT_OK, stop_signals

OUT_S, ALONE_S, PATIENCE_S = 25.0, 5.0, 240.0
SHORTEST_S = 0.3


class Torment:
    """One command, disturbed many times."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        """Runs it undisturbed once, to know how long its phases last and what it comes to."""
        self._subject, self._folder = subject, folder
        prepare(folder)
        self.lengths = self._undisturbed()
        self._digest = digest(folder / "undisturbed") if subject.resumes else ""

    def blow(self, blow: Blow) -> Outcome:
        """Start the command, disturb it, look at the end."""
        outcome = Outcome(blow)
        running = Running(self._folder / str(blow.number), self._subject.arguments(self._of(blow)))
        try:
            self._strike(running, blow, outcome)
            self._judge(running, outcome)
            if blow.resumes and outcome.landed and not outcome.wrong:
                self._go_on(running, outcome)
        finally:
            running.close()
        if outcome.wrong:
            print(running.folder, outcome, file=sys.stderr, flush=True)
        else:
            shutil.rmtree(running.folder)
        return outcome

    def _of(self, blow: Blow) -> Path:
        return self._folder / str(blow.number)

    def _undisturbed(self) -> list[float]:
        folder = self._folder / "undisturbed"
        running, times = Running(folder, self._subject.arguments(folder)), []
        try:
            for number in range(len(self._subject.phases)):
                self._reach(running, number)
                times.append(time.monotonic())
            if self._subject.says:
                time.sleep(1.0)
                running.say("quit")
            if running.wait(PATIENCE_S) != EXIT_OK:
                raise RuntimeError(f"the undisturbed command failed: {running.told()}")
        finally:
            running.close()
        times.append(time.monotonic())
        return [max(b - a, SHORTEST_S) for a, b in pairwise(times)]

    def _reach(self, running: Running, number: int) -> bool:
        """Wait until a phase has begun, and say what is to be said; False where it is over."""
        phase, deadline = self._subject.phases[number], time.monotonic() + PATIENCE_S
        while not phase.begins(running):
            if running.process.poll() is not None:
                return phase.begins(running)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{phase.name} does not begin: {running.told()}")
            time.sleep(0.01)
        if line := self._subject.says.get(phase.name):
            running.say(line)
        return True

    def _strike(self, running: Running, blow: Blow, outcome: Outcome) -> None:
        for number in range(blow.phase + 1):
            self._reach(running, number)
        time.sleep(blow.share * self.lengths[blow.phase])
        landed = self._landed(running, blow)
        start = time.monotonic()
        if not running.send(blow.first, blow.to_group):
            outcome.code = running.wait(0)
            return
        outcome.landed = landed
        if blow.second is not None:
            time.sleep(blow.pause_s)
            running.send(blow.second, blow.to_group)
        outcome.code = running.wait(OUT_S + 35)
        outcome.seconds = round(time.monotonic() - start, 2)

    def _landed(self, running: Running, blow: Blow) -> str:
        """The phase that has begun last; where one begins when it is told to, it has told none
        after that of the blow."""
        phases = self._subject.phases[: blow.phase + 1 if self._subject.says else None]
        return [phase.name for phase in phases if phase.begins(running)][-1]

    def _judge(self, running: Running, outcome: Outcome) -> None:
        wrong = outcome.wrong
        if outcome.seconds > OUT_S or outcome.code is None:
            wrong.append(f"took {outcome.seconds} s to leave")
        if outcome.code not in right_codes(self._subject, outcome):
            wrong.append(f"exit code {outcome.code}")
        if left := running.left_processes(ALONE_S):
            wrong.append(f"left processes: {left}")
        if files := running.left_files():
            wrong.append(f"left files: {files}")
        wrong += [
            f"said {word}" for word in ("Traceback", "Exception ign") if word in running.err()
        ]
        if self._subject.resumes:
            wrong += wrong_with_run(running.folder / "run", outcome)

    def _go_on(self, running: Running, outcome: Outcome) -> None:
        """Resume what can be, and compare with the undisturbed run."""
        arguments = self._subject.arguments(running.folder)
        if (running.folder / "run" / "config.toml").exists():
            arguments.append("--resume")
        again = Running(running.folder / "again", arguments)
        try:
            if again.wait(PATIENCE_S) != EXIT_OK:
                outcome.wrong.append(f"does not resume: {again.told()[-400:]}")
            elif digest(running.folder) != self._digest:
                outcome.wrong.append("resumed, it came to something else")
        finally:
            again.close()


def blows(subject: Subject, times: int, seed: int, resume_share: float) -> list[Blow]:
    """``times`` blows, the phases in turn, the rest at random."""
    rng, found = random.Random(f"{seed} {subject.name}"), []
    for number in range(times):
        second = rng.choice([signal.SIGINT, *stop_signals()]) if rng.random() < 0.25 else None
        found.append(
            Blow(
                number=number,
                phase=number % len(subject.phases),
                share=rng.random(),
                first=rng.choice(stop_signals()),
                second=second,
                pause_s=rng.random() * 2.0,
                to_group=rng.random() < 0.4,
                resumes=subject.resumes and rng.random() < resume_share,
            )
        )
    return found


def torment(
    name: str,
    times: int,
    seed: int,
    at_a_time: int = 1,
    resume_share: float = 0.2,
    minutes: float = 1e6,
) -> dict[str, Any]:
    """Disturb the command ``name`` so many times, or minutes; the facts, ready for JSON."""
    subject = next(one for one in SUBJECTS if one.name == name)
    folder = Path(tempfile.mkdtemp(prefix="vecchess-signals-"))
    torment = Torment(subject, folder)
    end = time.monotonic() + 60 * minutes

    def in_time(blow: Blow) -> Outcome | None:
        return torment.blow(blow) if time.monotonic() < end else None

    with ThreadPoolExecutor(at_a_time) as pool:
        done = pool.map(in_time, blows(subject, times, seed, resume_share))
        outcomes = [outcome for outcome in done if outcome is not None]
    wrong = [
        {"blow": vars(one.blow) | {"first": one.blow.first.name}, "landed": one.landed,
         "code": one.code, "seconds": one.seconds, "wrong": one.wrong}
        for one in outcomes if one.wrong
    ]  # fmt: skip
    if not wrong:
        shutil.rmtree(folder)
    landed = Counter(one.landed or "over" for one in outcomes)
    return {
        "schema": 1,
        "command": name,
        "times": len(outcomes),
        "seed": seed,
        "lengths_s": [round(length, 2) for length in torment.lengths],
        "landed": dict(landed),
        "codes": dict(Counter(str(one.code) for one in outcomes)),
        "resumed": sum(one.blow.resumes and bool(one.landed) for one in outcomes),
        "slowest_s": max(one.seconds for one in outcomes),
        "wrong": wrong,
        "folder": str(folder) if wrong else "",
    }


def main() -> int:
    """Torment the command of the arguments, and print what was seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=[one.name for one in SUBJECTS])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e6, help="fewer times than take longer")
    parser.add_argument("--at-a-time", type=int, default=2)
    parser.add_argument("--resume-share", type=float, default=0.2)
    given = parser.parse_args()
    # a shell lets what it starts with "&" ignore it, and what that starts would begin so too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = torment(
        given.command, given.times, given.seed, given.at_a_time, given.resume_share, given.minutes
    )
    print(json.dumps(found))
    return 3 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
