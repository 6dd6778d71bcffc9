"""What is done to a command, and how to tell whether it took it well."""

import json
import signal
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.subjects import Subject
from vecchess.errors import VecchessError
from vecchess.runtime.signals import EXIT_INTERRUPTED, EXIT_OK, exit_code
from vecchess.store.run_folder import RunFolder


@dataclass(frozen=True)
class Blow:
    """What is done to a command, and when."""

    number: int
    phase: int
    share: float
    """Share of the phase's length that passes before."""
    first: signal.Signals
    second: signal.Signals | None
    pause_s: float
    """Between the two."""
    to_group: bool
    resumes: bool


@dataclass
class Outcome:
    """How a command took it."""

    blow: Blow
    landed: str = ""
    """The phase it was in when the signal was sent; "" where it was over."""
    code: int | None = None
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def right_codes(subject: Subject, outcome: Outcome) -> set[int]:
    """Exit codes that are right for what was sent, and when."""
    blow, phases = outcome.blow, subject.phases
    if not outcome.landed:
        return {EXIT_OK}
    number = [phase.name for phase in phases].index(outcome.landed)
    sent = [blow.first, *([blow.second] if blow.second else [])]
    by_system = {-one for one in sent}
    if not subject.heeds:
        return (by_system - {-signal.SIGINT}) | (
            {EXIT_INTERRUPTED, -signal.SIGINT} if signal.SIGINT in sent else set()
        )
    right = {exit_code(blow.first.name)}
    if blow.second == signal.SIGINT:
        right.add(EXIT_INTERRUPTED)
    if phases[number].is_early:
        right |= by_system
    if number >= len(phases) - 2:  # it may have been through with everything
        right.add(EXIT_OK)
    return right


def wrong_with_run(folder: Path, outcome: Outcome) -> list[str]:
    """Games that are there twice, files that cannot be read, a status that is not true."""
    run, wrong = RunFolder(folder), []
    try:
        if run.games.is_dir() and run.manifest().entries:
            numbers = run.records().numbers.tolist()
            if len(set(numbers)) < len(numbers):
                wrong.append("games recorded twice")
    except VecchessError as error:
        wrong.append(str(error))
    status = folder / "status.json"
    if status.exists():
        state = json.loads(status.read_text())["state"]
        early = outcome.code is not None and outcome.code < 0
        if state not in ("done", "stopped") and not early:
            wrong.append(f"status says {state}")
    return wrong


def digest(folder: Path) -> str:
    """What a run came to: its games and its newest network."""
    run = RunFolder(folder / "run")
    return (
        f"{run.records().digest()} {json.loads((run.nets / 'latest.json').read_text())['sha256']}"
    )
