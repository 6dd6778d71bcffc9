"""Effect of the loss schedule on the answers after few time steps.

    python bench/learning/early_steps.py NET --data SHARD [SHARD ...] --games SHARD --out FOLDER

Trains NET a little further on ``--data``, once for each schedule and with the same samples, and
calibrates the result on ``--games``. Prints one JSON object a schedule: cross-entropy after every
time step, and the time steps and cost of an early exit, on the half of the positions that did not
choose the rule. ``--sizes`` may differ from NET in ``time_steps``.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCHEDULES = {
    "uniform": 'step_weights = "uniform"',
    "early": 'step_weights = "early"',
    "late": 'step_weights = "late"',
    "last": 'step_weights = "last"',
    "random": "random_steps = 1.0",
}
SETTINGS = """
objective = "supervised"
iterations = 1
fold_at = 0.0
holdout = 0.0
eval_every = 0
[loss]
spike_penalty = 0.0
{schedule}
[optimiser]
lr = {lr}
"""


def main() -> None:
    """Train and calibrate, one schedule after the other."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.schedules:
        print(json.dumps({"schedule": name} | _run_schedule(name, options)), flush=True)


def _run_schedule(name: str, options: argparse.Namespace) -> dict[str, Any]:
    settings, run = options.out / f"{name}.toml", options.out / name
    settings.write_text(SETTINGS.format(schedule=SCHEDULES[name], lr=options.lr))
    data = [word for shard in options.data for word in ("--data", shard)]
    sizes = ["--net", options.sizes, "--init-from", options.net]
    trained = _vecchess("train", "--config", settings, "--run-dir", run, "--quiet", *sizes, *data)
    net, rule = Path(trained["net"]), options.out / f"{name}.safetensors"
    games = [word for shard in options.games for word in ("--games", shard)]
    calibrated = _vecchess("calibrate", net, *games, "--gpus", "cpu", "--out", rule)
    return {
        "samples": trained["samples"],
        "cross_entropy": [round(row["cross_entropy"], 4) for row in calibrated["curve"]],
        "rule": calibrated["rule"],
        "holdout": calibrated["holdout"],
    }


def _vecchess(*words: object) -> dict[str, Any]:
    """The JSON that a vecchess command prints."""
    command = [sys.executable, "-m", "vecchess_cli.main", *map(str, words), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("net", type=Path)
    parser.add_argument("--sizes", default="tiny", help="sizes of the network, as for --net")
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--games", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--schedules", nargs="+", choices=SCHEDULES, default=list(SCHEDULES))
    return parser.parse_args()


if __name__ == "__main__":
    main()
