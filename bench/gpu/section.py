"""Runs one section of the GPU report: started by gpu_report.py, whose pipe is its stdin.

The last of stdout is why a section failed. Everything else is imported late, so that a package that
is missing is told too.
"""

import argparse
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from threading import Thread

from bench.gpu.report_lines import ResultWriter
from bench.gpu.sections import SECTIONS


def main() -> None:
    """Run the section named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--device", required=True, help='"cuda:0" or "cpu"')
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--net", type=Path, action="append", default=[])
    parser.add_argument("--lines", type=Path, required=True, help="the report's file")
    parser.add_argument("--work", type=Path, required=True, help="folder that is deleted later")
    options = parser.parse_args()
    Thread(target=_end_with_report, daemon=True).start()
    try:
        run(options)
    except SystemExit as error:
        failure = str(error)
    except Exception:
        failure = traceback.format_exc()
    else:
        return
    print(failure, file=sys.stderr, flush=True)
    print(failure)
    sys.exit(1)


def run(options: argparse.Namespace) -> None:
    """Raises what the section raises; SystemExit with one line for a finding that is a failure."""
    from bench.gpu.setting import Setting
    from bench.gpu.telemetry import Telemetry

    module = import_module(f"bench.gpu.{SECTIONS[options.section].module}")
    setting = Setting(
        options.device, options.quick, tuple(options.net), options.work, options.lines
    )
    with Telemetry(setting.device) as telemetry:
        results = ResultWriter(options.lines, options.section, telemetry.take)
        getattr(module, options.section)(setting, results)


def _end_with_report() -> None:
    """Kill this process and those it started once the report has ended."""
    os.read(sys.stdin.fileno(), 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
