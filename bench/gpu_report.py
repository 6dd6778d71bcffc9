"""Everything that needs a GPU, in one program and without internet; ``bench/gpu`` has its sections.

    python bench/gpu_report.py                         every section, into bench/results
    python bench/gpu_report.py --seconds 580           as many as fit; names those that are left
    python bench/gpu_report.py --sections steps,search
    python bench/gpu_report.py --net FILE ...          trained networks too, for kernel equality
    python bench/gpu_report.py --join A.jsonl B.jsonl  one report of what several commands wrote
    python bench/gpu_report.py --device cpu --quick    the same program in Triton's interpreter

Results go as lines to DATE-COMMIT-gpu.jsonl as they are found (``bench/gpu/report_lines.py``); at
the end the whole report is written beside it, and its name to stdout. Progress goes to stderr. Each
section is a process of its own with a time limit, so that one that fails, hangs or loses the device
is reported as such and the others go on; only where the first one, smoke, fails nothing follows.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from gpu.report_lines import SCHEMA, append_line, read_report
from gpu.sections import FIRST, QUICK_S, SECTIONS
from gpu.sources import ROOT, commit

ENDING_S = 5
"""Kept back of ``--seconds`` for the end."""
LEAST_SHARE = 0.5
"""A section begins while this share of its time limit is left."""


def main() -> None:
    """Run the sections, or join what was written; exit code 1 where a section failed."""
    options = _options()
    if options.join:
        print(_write_whole(options.join, options.out_dir))
        return
    head = _head(options)
    lines = options.out_dir / f"{_stem(head)}.jsonl"
    append_line(lines, head)
    with TemporaryDirectory(prefix="vecchess-gpu-report-") as work:
        is_well = _run_all(options, lines, work)
    print(_write_whole([lines], options.out_dir))
    sys.exit(not is_well)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0", help='"cuda:<n>" or "cpu"')
    parser.add_argument("--quick", action="store_true", help="a tiny network, a few positions")
    parser.add_argument("--net", action="append", default=[], help="network file, any number")
    parser.add_argument("--out-dir", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--commit", default="", help="of the sources, where git does not know it")
    parser.add_argument("--sections", default=",".join(SECTIONS), help="which, comma-separated")
    parser.add_argument("--seconds", type=float, default=inf, help="for all of them together")
    parser.add_argument("--join", type=Path, nargs="+", metavar="FILE", help="lines to join")
    options = parser.parse_args()
    options.sections = options.sections.split(",")
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    kind, _, number = options.device.partition(":")
    if options.device != "cpu" and not (kind == "cuda" and number.isdecimal()):
        parser.error(f'--device {options.device}: "cuda:<n>" or "cpu"')
    for file in [*(options.join or ()), *map(Path, options.net)]:
        if not file.is_file():
            parser.error(f"there is no file {file}")
    try:
        options.out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out-dir {options.out_dir}: {error.strerror}")
    return options


def _head(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "commit": options.commit or commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": options.device,
        "quick": options.quick,
    }


def _stem(head: dict[str, Any]) -> str:
    kind = "cpu" if head["device"] == "cpu" else "gpu"
    return f"{head['date']}-{head['commit']}-{kind}" + "-quick" * head["quick"]


def _write_whole(files: list[Path], folder: Path) -> Path:
    """The whole report in one file; ends the program where the lines are of several reports."""
    try:
        report = read_report(files)
    except ValueError as error:
        _say(f"gpu_report: error: {error}")
        sys.exit(2)
    path = folder / f"{_stem(report)}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    return path


def _run_all(options: argparse.Namespace, lines: Path, work: str) -> bool:
    """Whether all sections that were begun did well. Says which were left out."""
    deadline, is_well = monotonic() + options.seconds, True
    for index, name in enumerate(options.sections):
        limit_s = QUICK_S if options.quick else SECTIONS[name].limit_s
        left_s = deadline - monotonic() - ENDING_S
        if left_s < LEAST_SHARE * limit_s:
            _say(f"no time is left; go on with: --sections {','.join(options.sections[index:])}")
            break
        error = _run(name, min(limit_s, left_s), options, lines, work)
        is_well = is_well and not error
        if error and name == FIRST:
            _say(f"{FIRST} failed; left out: {','.join(options.sections[index + 1 :]) or 'none'}")
            break
    return is_well


def _run(name: str, limit_s: float, options: argparse.Namespace, lines: Path, work: str) -> str:
    """Run one section; returns why it failed, "" where it did not."""
    command = [sys.executable, "-m", "bench.gpu.section", name, "--lines", str(lines)]
    command += ["--device", "cpu" if options.device == "cpu" else "cuda:0", "--work", work]
    command += ["--quick"] * options.quick
    command += [part for net in options.net for part in ("--net", net)]
    append_line(lines, {"section": name, "begins": datetime.now(UTC).strftime("%H:%M:%S")})
    start = monotonic()
    error = _error_of(command, limit_s, _environment(options.device))
    ended = {"section": name, "seconds": round(monotonic() - start, 1)}
    append_line(lines, ended | ({"error": error} if error else {}))
    _say(f"{name}: {f'FAILED: {error}' if error else 'done'} ({ended['seconds']} s)")
    return error


def _environment(device: str) -> dict[str, str]:
    """For a section: these sources, and one GPU, which is number 0 there."""
    environment = dict(os.environ)
    places = [str(ROOT), str(ROOT / "src"), str(ROOT / "cli"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    if device == "cpu":
        return environment | {"TRITON_INTERPRET": "1"}
    number = int(device.partition(":")[2])
    named = [name for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    visible = named[number] if number < len(named) else str(number)
    return environment | {"CUDA_VISIBLE_DEVICES": visible}


def _error_of(command: list[str], limit_s: float, environment: dict[str, str]) -> str:
    """Run a section, which ends with this program: it reads a pipe that is closed then.

    What it started ends with it, as one process group. Returns what went wrong, "" if nothing.
    """
    alive, holder = os.pipe()
    with subprocess.Popen(
        command, env=environment, stdin=alive, stdout=subprocess.PIPE, text=True, process_group=0
    ) as process:
        os.close(alive)
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return f"took longer than {limit_s:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            os.close(holder)
    if process.returncode == 0:
        return ""
    return output.strip()[-2000:] or f"exit code {process.returncode}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
