"""Two processes on one GPU: the same answers, and their speeds beside that of one alone."""

import json
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting

QUICK_SLOTS = 4


def sharing(setting: Setting, results: ResultWriter) -> None:
    """One process, then two at the same time; SystemExit where answers differ."""
    alone = _speeds(setting, results, 1)
    together = _speeds(setting, results, 2)
    if len({one["digest"] for one in alone + together}) > 1:
        raise SystemExit("two processes on one GPU answer differently")


def _speeds(setting: Setting, results: ResultWriter, count: int) -> list[dict[str, Any]]:
    """What each of ``count`` processes says, all of which start when all are ready."""
    slots = QUICK_SLOTS if setting.quick else setting.num_slots // 2
    command = [sys.executable, "-m", "bench.gpu.steady_load", "--device", setting.device]
    command += ["--net", str(setting.net_file("base")), "--slots", str(slots)]
    command += ["--seconds", str(setting.seconds), "--waits"]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(count)
        ]
        for process in processes:
            if process.stdout.readline() != "ready\n":
                raise SystemExit(f"one of {count} processes did not begin; see its error above")
        results.begin_measurement()
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        found = [json.loads(process.communicate()[0]) for process in processes]
    speeds = [one["positions_per_s"] for one in found]
    results.add(f"{count} at a time", slots=slots, positions_per_s=speeds, together=sum(speeds))
    return found
