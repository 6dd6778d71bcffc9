"""Everything that needs a GPU, in one go, in under ten minutes and without internet.

    python bench/gpu_report.py                       writes bench/results/DATE-COMMIT-gpu.json
    python bench/gpu_report.py --net FILE ...        trained networks, for kernel equality
    python bench/gpu_report.py --device cpu --quick  the same program in Triton's interpreter

Each section is a process of its own with a time limit, so that one that fails, hangs or loses the
device is reported as such and the others go on. Progress goes to stderr, the file's name to stdout.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BUDGET_S = {
    "environment": 30,
    "ceilings": 30,
    "equality": 110,
    "steps": 110,
    "engine": 45,
    "allocation": 30,
    "inference": 75,
    "throughput": 45,
    "search": 75,
    "training": 45,
}
"""Section -> its time limit; 595 s together, each is expected to need about half."""
QUICK_S = 240


def main() -> None:
    """Run the sections, write what they say after each of them."""
    options = _options()
    commit = _git("rev-parse", "--short=12", "HEAD")
    dirty = bool(_git("status", "--porcelain", "--", "src", "cli", "bench/gpu"))
    report: dict[str, Any] = {
        "schema": 1,
        "commit": commit + ("-dirty" if dirty else ""),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": options.device,
        "quick": options.quick,
        "sections": {},
    }
    path = options.out or RESULTS / f"{report['date']}-{report['commit']}-gpu.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    for name in options.sections.split(","):
        report["sections"][name] = _run(name, options)
        path.write_text(json.dumps(report, indent=1) + "\n")
    print(path)
    sys.exit(any("error" in section for section in report["sections"].values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0", help='"cuda:<n>" or "cpu"')
    parser.add_argument("--quick", action="store_true", help="a tiny network, a few positions")
    parser.add_argument("--net", action="append", default=[], help="network file, any number")
    parser.add_argument("--out", type=Path, help="where to write the report")
    parser.add_argument("--sections", default=",".join(BUDGET_S), help="which, comma-separated")
    options = parser.parse_args()
    if unknown := set(options.sections.split(",")) - set(BUDGET_S):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(BUDGET_S)}")
    return options


def _run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One section in its own process: its facts, or {"error"}; and the seconds it took."""
    command = [sys.executable, str(HERE / "gpu" / "section.py"), name, options.device]
    command += ["--quick"] * options.quick + [
        part for net in options.net for part in ("--net", net)
    ]
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}  # for bench.peers
    if options.device == "cpu":
        environment["TRITON_INTERPRET"] = "1"
    limit = QUICK_S if options.quick else BUDGET_S[name]
    start = monotonic()
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
        facts = _facts(done)
    except subprocess.TimeoutExpired:
        facts = {"error": f"took longer than {limit} s"}
    facts["seconds"] = round(monotonic() - start, 1)
    print(f"{name}: {json.dumps(facts)}", file=sys.stderr, flush=True)
    return facts


def _facts(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The object on the last line of a section's output."""
    if done.returncode:
        return {"error": done.stderr.strip()[-2000:] or f"exit code {done.returncode}"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _git(*arguments: str) -> str:
    """What git says, or "unknown" where there is none."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=HERE, stdout=subprocess.PIPE, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


if __name__ == "__main__":
    main()
