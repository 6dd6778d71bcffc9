"""``python -m tests.fuzz [TARGET ...] --inputs N --seconds S --seed K``: one JSON object."""

import argparse
import json
import sys
from pathlib import Path

from tests.fuzz.drive import Drive
from tests.fuzz.limits import dump_when_stuck, never_mind
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Exit code 0: nothing was found; 1: something was."""
    options = parsed()
    outcomes = []
    for name in options.targets or TARGETS:
        drive = Drive(TARGETS[name], options.seed, options.save)
        outcome = drive.run(options.inputs, options.seconds, dump_when_stuck)
        never_mind()
        outcomes.append(outcome)
        print(f"{name}: {json.dumps(outcome.to_dict())}", file=sys.stderr, flush=True)
    seconds = sum(outcome.seconds for outcome in outcomes)
    inputs = sum(outcome.inputs for outcome in outcomes)
    crashes = sum(outcome.crashes for outcome in outcomes)
    summary = {
        "schema": 1,
        "seed": options.seed,
        "inputs": inputs,
        "inputs_per_s": round(inputs / seconds, 1) if seconds else 0.0,
        "crashes": crashes,
        "slowest_s": max(outcome.slowest_s for outcome in outcomes),
        "worst_ratio": max(outcome.worst_ratio for outcome in outcomes),
        "targets": [outcome.to_dict() for outcome in outcomes],
    }
    print(json.dumps(summary))
    return int(crashes > 0)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--inputs", type=int, default=2000, help="to each target")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each target, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="folder for inputs that crash")
    options = parser.parse_args()
    if unknown := set(options.targets) - TARGETS.keys():
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
