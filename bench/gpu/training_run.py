"""``vecchess train`` from end to end: two iterations of games and learning, one of each phase."""

import json
import subprocess
import sys

from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting

COMMON = "--iterations 2 --fold-at 0.5 --eval-every 0 --json"
ON_GPU = (
    "--net small --precision bf16 --positions-per-iter 262144 --seats 8192 --batch-size 2048 "
    "--sims 8 --max-plies 120 --loaders 2"
)
QUICK = (
    "--net tiny --positions-per-iter 96 --seats 8 --batch-size 32 --sims 2 --max-plies 12 "
    "--loaders 0"
)
OF_AN_ITERATION = "["
"""Its lines begin so, "[1/2]  played ..."."""
KEPT = ("iterations", "samples", "steps", "positions", "folded", "cost")


def training_run(setting: Setting, results: ResultWriter) -> None:
    """What it prints about each iteration, and the summary; SystemExit where it fails."""
    command = [sys.executable, "-m", "vecchess_cli.main", "train", "--gpus", setting.gpus]
    command += ["--run-dir", str(setting.work / "training"), *COMMON.split()]
    command += (QUICK if setting.quick else ON_GPU).split()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        count = 0
        for line in process.stderr:
            if line.startswith(OF_AN_ITERATION):
                count += 1
                results.add(f"line {count}", text=line.rstrip())
            else:
                print(line, end="", file=sys.stderr, flush=True)
        output = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"vecchess train: exit code {process.returncode}; see its lines")
    summary = json.loads(output.splitlines()[-1])
    results.add("summary", **{key: summary[key] for key in KEPT})
