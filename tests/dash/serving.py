"""A dashboard in a process of its own, and a browser that looks at it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def dashboard(*places: Path, flags: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """``vecchess dash`` of ``places``: its address without the last slash, and its process."""
    command = [sys.executable, "-m", "vecchess_cli.main", "dash", *map(str, places), "--port", "0"]
    process = subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("dashboard: "), line + process.stderr.read()
        yield line.split()[-1].rstrip("/"), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stderr.close()


def find_chromium() -> str:
    """Where Chromium is; skips, or fails where it is required, if there is none."""
    found = shutil.which("chromium")
    if found is None:
        if os.environ.get("VECCHESS_REQUIRE_CHROMIUM") == "1":
            pytest.fail("chromium is required here, and is not installed")
        pytest.skip("chromium is not installed")
    return found
