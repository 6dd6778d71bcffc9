"""Which sources these are."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def commit() -> str:
    """The commit, with "-dirty" where what is measured was changed; "unknown" without git."""
    name = _git("rev-parse", "--short=12", "HEAD")
    if not name:
        return "unknown"
    return name + "-dirty" * bool(_git("status", "--porcelain", "--", "src", "cli", "bench"))


def _git(*arguments: str) -> str:
    """What git says, "" where there is none."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
