"""How long a chess program waits for ``vecchess uci``: from its start to each of its answers.

    python bench/first_move.py --runs 5

Says "uci", "isready" and "go" as a chess program does, to a new process each time: with its kernels
compiled by a process before, and with none ("cold"). Seconds since the start, on the wall and of
processor time of all threads: medians, in one JSON object on stdout. Wall time means something on a
quiet machine only.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from time import monotonic
from typing import Any

from vecchess.runtime.cost_meter import core_seconds

STEPS = (("uciok", "uci"), ("readyok", "isready"))
"""An answer, and the command before it."""


def times_of(flags: list[str], go: str, cache: str | None) -> dict[str, tuple[float, float]]:
    """Wall and processor seconds from the start of a process to each of its answers.

    ``cache``: folder of compiled kernels, None for the user's own.
    """
    environ = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    command = [sys.executable, "-m", "vecchess_cli.main", "uci", *flags]
    pipe, start, found = subprocess.PIPE, monotonic(), {}
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environ
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for answer, line in (*STEPS, ("bestmove", f"position startpos\n{go}")):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            while not (said := process.stdout.readline()).startswith(answer):
                if not said:
                    raise SystemExit(f"the engine ended before it said {answer}")
            found[answer] = monotonic() - start, core_seconds([process.pid])
        process.stdin.write("quit\n")
        process.stdin.flush()
    return found


def summary(runs: list[dict[str, tuple[float, float]]]) -> dict[str, dict[str, float]]:
    """Medians, by answer."""
    return {
        answer: {
            "wall_s": round(median(run[answer][0] for run in runs), 2),
            "processor_s": round(median(run[answer][1] for run in runs), 2),
        }
        for answer in runs[0]
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--net", default="default", help="file or name")
    parser.add_argument("--go", action="append", help='repeatable; by default "go nodes 100" ...')
    parser.add_argument("--threads", type=int, default=0, help="of the network; 0: all cores")
    parser.add_argument("--runs", type=int, default=3, help="processes with compiled kernels")
    parser.add_argument("--cold-runs", type=int, default=1, help="processes without")
    options = parser.parse_args()
    flags = ["--net", options.net, "--threads", str(options.threads), "--gpus", "cpu"]
    facts: dict[str, Any] = {"schema": 1, "net": options.net, "threads": options.threads}
    for go in options.go or ["go nodes 100", "go movetime 100"]:
        times_of(flags, go, None)  # compiles
        compiled = [times_of(flags, go, None) for _ in range(options.runs)]
        facts[go] = {"compiled": summary(compiled)}
    cold = []
    for _ in range(options.cold_runs):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(times_of(flags, "go nodes 100", folder))
    print(json.dumps(facts | ({"cold": summary(cold)} if cold else {})))


if __name__ == "__main__":
    main()
