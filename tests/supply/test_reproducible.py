"""The wheel is the same file wherever it is built."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
@pytest.mark.skipif(find_spec("build") is None, reason="make reproducible installs what this needs")
def test_two_builds_of_the_last_commit_are_one_file() -> None:
    """In folders of other names, with other permissions; the pages are in it."""
    venv = Path(sys.prefix)
    done = subprocess.run(
        ["sh", "scripts/reproducible.sh", str(venv)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"[0-9a-f]{64}  vecchess-[^/]+\.whl\n", done.stdout)
