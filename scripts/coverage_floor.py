"""Print what coverage.py measured of each package, and fail where it is too little."""

import json
import sys
from collections import defaultdict
from pathlib import Path

PACKAGES = ("chess", "store", "selfplay")
LINES, BRANCHES = 95.0, 90.0
"""Least percentage of lines, and of branches, that a package has to have covered."""
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def main(report: Path) -> int:
    """0 where every package has enough, else 1."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    print(f"{'':44} {'lines':>7} {'%':>6} {'branches':>9} {'%':>6}")
    for name, file in sorted(json.loads(report.read_text())["files"].items()):
        package, _, rest = name.partition("vecchess/")[2].partition("/")
        counts = [file["summary"][key] for key in COUNTS]
        if package in PACKAGES and counts[0]:
            sums[package] = [a + b for a, b in zip(sums[package], counts, strict=True)]
            lacking = ",".join(map(str, file["missing_lines"]))
            print(f"{_row(f'{package}/{rest}', counts)}  {lacking}")
    print()
    for package in PACKAGES:
        print(_row(package, sums[package]))
    return 0 if all(_is_enough(sums[package]) for package in PACKAGES) else 1


def _row(name: str, counts: list[int]) -> str:
    lines, branches = _shares(counts)
    return f"{name:44} {counts[0]:7} {lines:6.1f} {counts[2]:9} {branches:6.1f}"


def _shares(counts: list[int]) -> tuple[float, float]:
    statements, lines, branches, taken = counts
    return 100 * lines / max(statements, 1), 100 * taken / branches if branches else 100.0


def _is_enough(counts: list[int]) -> bool:
    lines, branches = _shares(counts)
    return counts[0] > 0 and lines >= LINES and branches >= BRANCHES


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
