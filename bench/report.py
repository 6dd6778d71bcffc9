"""Run every benchmark of `vecchess bench` on this machine and keep what it says.

    python bench/report.py                       writes bench/results/DATE-COMMIT.json
    python bench/report.py inference net         only commands with one of these words in them

Each entry holds the command, so that anyone can run it again. Nothing here asserts a time.
"""

import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
COMMANDS = [
    "bench perft --against stockfish",
    "bench movegen",
    "bench movegen --threads 2",
    "bench throughput --net constant --gpus cpu --cores 1 --slots 4096",
    "bench throughput --net constant --gpus cpu --cores 1 --slots 8192 --concurrent-games 16384",
    "bench throughput --net tiny --gpus cpu --cores 1",
    "bench throughput --net small --gpus cpu --cores 1",
    "bench throughput --net bench/learning/small-four-steps.toml --gpus cpu --cores 1",
    "bench throughput --net bench/learning/small-four-steps.toml --gpus cpu --cores 1 --no-exits",
    "bench throughput --net base --gpus cpu --cores 1",
    "bench throughput --net configs/nets/twin.toml --gpus cpu --cores 1",
    "bench throughput --net configs/nets/rate-coded.toml --gpus cpu --cores 1",
    "bench throughput --net configs/nets/rate-coded.toml --gpus cpu --cores 1 --no-exits",
    "bench search --search gumbel --sims 16 --cores 1 --gpus cpu",
    "bench search --search gumbel --sims 64 --cores 1 --gpus cpu",
    "bench search --search puct --sims 64 --cores 1 --gpus cpu",
    "bench search --search puct --sims 800 --games 256 --cores 1 --gpus cpu",
    "bench search --search puct --sims 800 --games 1024 --cores 1 --gpus cpu",
    "bench throughput --net small --gpus cpu --cores 1 --search gumbel --sims 32 --cache-mb 0",
    "bench inference --net bench/learning/small-four-steps.toml --gpus cpu --cores 1 --slots 256 "
    "--seconds 120",
    "bench inference --net bench/learning/small-four-steps.toml --gpus cpu --cores 1 --slots 32",
    "bench inference --net configs/nets/four-steps.toml --gpus cpu --cores 1 --slots 256",
    "bench inference --net base --gpus cpu --cores 1 --slots 256 --seconds 120",
]


def main() -> None:
    """Measure, print, write."""
    commit = _output("git", "rev-parse", "--short=12", "HEAD")
    dirty = bool(_output("git", "status", "--porcelain", "--", "src", "cli"))
    entries = []
    wanted = sys.argv[1:]
    for command in COMMANDS:
        if wanted and not any(word in command for word in wanted):
            continue
        line = _output(sys.executable, "-m", "vecchess_cli.main", *command.split(), "--json")
        print(f"vecchess {command}\n  {line}", file=sys.stderr)
        entries.append({"command": f"vecchess {command}", "result": json.loads(line)})
    report = {
        "schema": 1,
        "commit": commit + ("-dirty" if dirty else ""),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "python": platform.python_version(),
        "entries": entries,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{report['date']}-{report['commit']}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(path)


def _output(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _processor() -> str:
    import llvmlite.binding as llvm

    return f"{llvm.get_host_cpu_name()}, {platform.machine()}"


if __name__ == "__main__":
    main()
