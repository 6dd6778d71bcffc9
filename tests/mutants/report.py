"""What became of the mutants: how many were killed, and those that nobody noticed, to be read."""

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping

from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import TestOutcome, WorkItem, WorkResult
from scipy.stats import binomtest


def tell(mutants: WorkDB, left_out: Mapping[str, int]) -> float:
    """Print it; returns the share of the tried mutants that were killed, 0 to 1."""
    results = dict(mutants.results)
    survivors: list[tuple[WorkItem, WorkResult]] = []
    counts: Counter[str] = Counter()
    by_file: dict[str, Counter[str]] = {}
    for item in mutants.work_items:
        result = results.get(item.job_id)
        counts[_outcome(result)] += 1
        if result is not None and result.test_outcome is not None:
            counted = by_file.setdefault(item.mutations[0].module_path.name, Counter())
            counted[result.test_outcome] += 1
            if result.test_outcome == TestOutcome.SURVIVED:
                survivors.append((item, result))
    for line in _survivors(survivors):
        print(line)
    for name, counted in sorted(by_file.items()):
        print(f"{name:24} {counted[TestOutcome.SURVIVED]:4} of {counted.total():4} survived")
    for reason, count in left_out.items():
        print(f"{count:6} left out ({reason})")
    for outcome, count in counts.most_common():
        print(f"{count:6} {outcome}")
    return _share(counts)


def _outcome(result: WorkResult | None) -> str:
    if result is None:
        return "still to be tried"
    return str(result.test_outcome.value if result.test_outcome else result.worker_outcome.value)


def _survivors(survivors: list[tuple[WorkItem, WorkResult]]) -> Iterator[str]:
    """Each with its place, and the line before and after."""
    for item, result in sorted(survivors, key=lambda pair: _place(pair[0])):
        file, line = _place(item)
        yield f"{file}:{line}  {item.mutations[0].operator_name.removeprefix('core/')}"
        yield from (f"    {line}" for line in (result.diff or "").splitlines())


def changes(before: str, after: str) -> str:
    """The lines that differ, as ``- old`` and ``+ new``."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    kept = [line for line in lines if line[:3] not in ("---", "+++") and line[0] in "+-"]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in kept)


def _place(item: WorkItem) -> tuple[str, int]:
    mutant = item.mutations[0]
    return str(mutant.module_path), mutant.start_pos[0]


def _share(counts: Counter[str]) -> float:
    """Killed of those tried, with Wilson's interval."""
    killed = counts["killed"]
    tried = killed + counts["survived"]
    if not tried:
        print("none was tried")
        return 0.0
    interval = binomtest(killed, tried).proportion_ci(method="wilson")
    share = killed / tried
    print(f"killed {share:.1%} of {tried}, 95 % [{interval.low:.1%}, {interval.high:.1%}]")
    return share
