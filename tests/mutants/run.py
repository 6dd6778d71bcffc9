"""Mutation testing: small faults are put into the sources, and the tests must notice each.

    python -m tests.mutants.run chess --sample 300 --seed 1

cosmic-ray makes the mutants and remembers what became of them, in a copy of the sources under
build/mutants. A run that was stopped goes on with the same command; with other tests survivors are
tried again, other sources begin anew. ``--sample 0`` tries all mutants, ``--report`` none.
"""

import argparse
import contextlib
import hashlib
import json
import random
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import cosmic_ray.commands
from cosmic_ray.modules import find_modules
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkItem, WorkResult

from tests.mutants.attempt import ORDER, attempt, prepare
from tests.mutants.report import changes, tell
from tests.mutants.rules import reason_not_to_try

ROOT = Path("build/mutants")
COPIED = ("src", "tests", "pyproject.toml")
SOURCES = Path("src/vecchess")
LEFT_OUT, TESTED_WITH = "left_out.json", "tests.sha256"
KEPT = (LEFT_OUT, TESTED_WITH, "session.sqlite")
"""What a run that goes on takes along."""
ENOUGH = 0.85
"""Share of mutants that have to be killed."""


def main(arguments: list[str]) -> int:
    """0 where enough mutants were killed, 3 where not, 1 where tests fail without a mutant."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("part", choices=sorted(ORDER))
    parser.add_argument("--sample", type=int, default=300, help="how many to try; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn")
    parser.add_argument("--report", action="store_true", help="only say what was found so far")
    chosen = parser.parse_args(arguments)
    folder = (ROOT / f"{chosen.part}-{chosen.sample}-{chosen.seed}").resolve()
    session = folder / "session.sqlite"
    if not chosen.report:
        _prepare(folder, session, chosen.part, chosen.sample, chosen.seed)
    with use_db(session) as mutants:
        if not chosen.report and not _try_all(folder, chosen.part, mutants):
            return 1
        left_out = json.loads((folder / LEFT_OUT).read_text())
        return 0 if tell(mutants, left_out) >= ENOUGH else 3


def _prepare(folder: Path, session: Path, part: str, sample: int, seed: int) -> None:
    """A fresh copy of the sources, and mutants to try unless there are some of the same sources."""
    digested, now = folder / "sources.sha256", _digest(SOURCES)
    goes_on = session.is_file() and digested.read_text() == now
    kept = {name: (folder / name).read_bytes() for name in KEPT} if goes_on else {}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        copy = shutil.copytree if Path(name).is_dir() else shutil.copy2
        copy(name, folder / name)
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    if not goes_on:
        with contextlib.chdir(folder):
            wanted, left_out = _mutants_of(part)
            drawn = random.Random(seed).sample(wanted, min(sample or len(wanted), len(wanted)))
            left_out["not drawn"] = len(wanted) - len(drawn)
            Path(LEFT_OUT).write_text(json.dumps(left_out))
        with use_db(session) as mutants:
            mutants.add_work_items(drawn)
        (folder / TESTED_WITH).write_text("")
        print(f"seed {seed}: {len(drawn)} of {len(wanted)} mutants are tried", flush=True)
    digested.write_text(now)


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


def _mutants_of(part: str) -> tuple[list[WorkItem], Counter[str]]:
    """Those to be tried, in the order of the sources, and how many are not, by reason."""
    with use_db(":memory:") as mutants:
        cosmic_ray.commands.init(sorted(find_modules([SOURCES / part])), mutants, {})
        items = sorted(mutants.work_items, key=_place)
    reasons = [reason_not_to_try(item.mutations[0]) for item in items]
    wanted = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
    return wanted, Counter(reason for reason in reasons if reason is not None)


def _place(item: WorkItem) -> tuple[object, ...]:
    mutant = item.mutations[0]
    return str(mutant.module_path), mutant.start_pos, mutant.operator_name, mutant.occurrence


def _try_all(folder: Path, part: str, mutants: WorkDB) -> bool:
    """Try what has no result yet, and with other tests than last time what survived; False where
    tests fail on the sources as they are."""
    prepare()
    for changed in (f"{part}/__init__.py", "chess/bitboards/bits.py"):
        if (noticed := attempt(folder, changed)) is not None:
            print(f"without a mutant: {noticed}, see {folder / 'attempt.log'}", file=sys.stderr)
            return False
    pending, tests = list(mutants.pending_work_items), _digest(Path("tests"))
    if (folder / TESTED_WITH).read_text() != tests:
        lived = {job for job, result in mutants.results if not result.is_killed}
        pending = [item for item in mutants.work_items if item.job_id in lived] + pending
        (folder / TESTED_WITH).write_text(tests)
    for number, item in enumerate(pending, 1):
        began = time.monotonic()
        result = _try(folder, item)
        mutants.set_result(item.job_id, result)
        mutant = item.mutations[0]
        print(
            f"{number}/{len(pending)} {result.output or 'survived'} "
            f"{mutant.module_path.name}:{mutant.start_pos[0]} {mutant.operator_name} "
            f"{time.monotonic() - began:.1f} s",
            flush=True,
        )
    return True


def _try(folder: Path, item: WorkItem) -> WorkResult:
    mutant = item.mutations[0]
    operator = get_operator(mutant.operator_name)(**mutant.operator_args)
    with use_mutation(folder / mutant.module_path, operator, mutant.occurrence) as (before, after):
        if after is None:
            return WorkResult(worker_outcome=WorkerOutcome.NO_TEST)
        noticed = attempt(folder, str(mutant.module_path.relative_to(SOURCES)))
    return WorkResult(
        worker_outcome=WorkerOutcome.NORMAL,
        test_outcome=TestOutcome.SURVIVED if noticed is None else TestOutcome.KILLED,
        output=noticed,
        diff=changes(before, after),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
