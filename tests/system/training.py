"""Shared by tests of ``vecchess train``: options of tiny runs, and readers of their folders."""

import json
from pathlib import Path
from typing import Any

from tests.system.commands import inside, last_json
from vecchess.store.metrics import THROUGHPUT
from vecchess.train.selfplay_source import LOAD_FACTS

QUICK = [
    "--gpus", "cpu", "--iterations", 2, "--positions-per-iter", 224, "--seats", 8,
    "--batch-size", 64, "--sims", 4, "--max-plies", 24, "--eval-every", 0, "--loaders", 0,
]  # fmt: skip
"""Without loaders, processes that give the same batches and take seconds to import torch."""
CLOCKS = (
    "time_unix", "seconds", "cost", "games_per_s", "net", "mean_time_steps", *LOAD_FACTS,
)  # fmt: skip
PGN = """[Event "?"]
[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0

[Event "?"]
[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1

"""


def little_options(folder: Path) -> list[object]:
    """Options for a network that trains fast, with every update in metrics.jsonl."""
    (folder / "net.toml").write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    (folder / "train.toml").write_text("log_every = 1\n")
    return ["--net", folder / "net.toml", "--config", folder / "train.toml"]


def facts(run: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl without what depends on the clock: a slow run measures its
    throughput, a quick one ends before."""
    return [
        {key: line[key] for key in line if key not in CLOCKS}
        for line in lines_of(run)
        if line["kind"] != THROUGHPUT
    ]


def lines_of(run: Path) -> list[dict[str, Any]]:
    """The whole lines of metrics.jsonl, if there are any."""
    file = run / "metrics.jsonl"
    whole = file.read_text().split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in whole]


def newest(run: Path) -> str:
    return str(json.loads((run / "nets/latest.json").read_text())["sha256"])


def gated(run: Path, little: list[object], test: str, *more: object) -> list[dict[str, Any]]:
    """The gate's verdicts on the networks of a run with this test."""
    options = [*QUICK, *little, *more, "--gate", test, "--gate-games", 20, "--run-dir", run]
    assert last_json(inside("train", *options, "--json"))["exit_code"] == 0
    return [line for line in lines_of(run) if line["kind"] == "gate"]
