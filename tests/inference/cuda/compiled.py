"""Programs that compile kernels, in a process of their own: here kernels are interpreted."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def printed_by(module: str, *arguments: str) -> str:
    """What ``python -m module`` prints, with the packages of this process; fails as it fails."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
