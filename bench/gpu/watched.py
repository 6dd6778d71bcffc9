"""What NVIDIA's tools say of the kernels, where they are installed: ncu and compute-sanitizer."""

import csv
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from shutil import which

import torch
from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting

from vecchess.chess.planes import NUM_PLANES
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.presets import NetConfig

SKIPPED_LAUNCHES = 30
TOOLS = ("memcheck", "racecheck", "synccheck")
TINY = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4)
TINY_SLOTS, TINY_S = 8, 0.1
TAIL = 2000
"""Characters of a tool's output that are kept where it fails."""


def counters(setting: Setting, results: ResultWriter) -> None:
    """All of ncu's metrics of one launch of the tower at base; its file lies beside the report.

    SystemExit where ncu fails; without it one line.
    """
    ncu = which("ncu")
    if ncu is None or not setting.on_gpu:
        results.add("ncu", absent="ncu is not installed, or there is no GPU")
        return
    net, file = setting.base, setting.artifact("tower.ncu-rep")
    tile = setting.open(net, ExitRule.from_metadata(net.exit_rule), setting.num_slots).tile
    torch.cuda.empty_cache()  # the tile is chosen and kept: ncu sees launches of this one alone
    watch = [ncu, "--clock-control", "none", "-k", "regex:advance_tower", "--set", "full"]
    watch += ["-s", str(SKIPPED_LAUNCHES), "-c", "1", "-f", "-o", str(file.with_suffix(""))]
    _output([*watch, *_load(setting, str(setting.net_file("base")), setting.num_slots, 1.0)])
    table = _output([ncu, "--import", str(file), "--page", "details", "--csv"])
    results.add("tower", file=file.name, tile=vars(tile), metrics=metrics(table.splitlines()))


def metrics(lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """Section -> metric -> value with its unit, of ncu's table of details."""
    rows = csv.DictReader(line for line in lines if line.startswith('"'))
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        if row["Metric Name"]:
            value = f"{row['Metric Value']} {row['Metric Unit']}".strip()
            found[row["Section Name"]][row["Metric Name"]] = value
    return dict(found)


def sanitizer(setting: Setting, results: ResultWriter) -> None:
    """A result for each of compute-sanitizer's tools over all tiles of the smallest network.

    SystemExit where one finds something; without compute-sanitizer one line.
    """
    program = which("compute-sanitizer")
    if program is None or not setting.on_gpu:
        results.add("compute-sanitizer", absent="it is not installed, or there is no GPU")
        return
    load = _load(setting, str(setting.made("smallest", TINY)), TINY_SLOTS, TINY_S)
    found: list[str] = []
    for tool in TOOLS:
        command = [program, "--tool", tool, "--error-exitcode", "9", *load]
        done = subprocess.run(
            [*command, "--every-tile"], env=_uncached(), capture_output=True, text=True, check=False
        )
        output = (done.stdout + done.stderr).strip()
        results.add(tool, exit_code=done.returncode, output=output[-TAIL:])
        if done.returncode:
            found.append(tool)
    if found:
        raise SystemExit(f"compute-sanitizer: {', '.join(found)} found something, or failed")


def _load(setting: Setting, net: str, slots: int, seconds: float) -> list[str]:
    """A program that keeps the GPU at work; a tile for so long."""
    command = [sys.executable, "-m", "bench.gpu.steady_load", "--device", setting.device]
    return [*command, "--net", net, "--slots", str(slots), "--seconds", str(seconds)]


def _uncached() -> dict[str, str]:
    """An environment in which each tensor is memory of its own, so that no overrun goes unseen."""
    return os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {(done.stdout + done.stderr).strip()[-TAIL:]}")
    return done.stdout
