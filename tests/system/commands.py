"""Runs the program as a user does."""

import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess_cli.main import run

PROGRAM = [sys.executable, "-m", "vecchess_cli.main"]
SHORT = ["--max-plies", "30", "--gpus", "cpu"]


def vecchess(
    *arguments: object, env: dict[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """The finished program, with what it wrote."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | (env or {}),
        timeout=timeout,
        check=False,
    )


def inside(
    *arguments: object, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """As ``vecchess``, but in this process, which has imported and loaded everything already.

    For what a process of its own would show nothing more of: signals, kills, terminals and the way
    a process ends want ``vecchess`` or ``start``. Anything but an expected error is raised.
    """
    raw, err = BytesIO(), StringIO()
    out = TextIOWrapper(raw, "utf-8", write_through=True)  # tables are written to its buffer
    command = ["vecchess", *map(str, arguments)]
    threads = torch.get_num_threads()
    try:
        with (
            patch.object(sys, "argv", command),
            patch.dict(os.environ, {"COLUMNS": "200"} | (env or {})),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = run()
    finally:
        torch.set_num_threads(threads)
    return subprocess.CompletedProcess(command, code, raw.getvalue().decode(), err.getvalue())


def start(
    *arguments: object, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.Popen[str]:
    """The program, running in a process group of its own."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | (env or {}),
        cwd=cwd,
        start_new_session=True,
    )


def last_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The object on the last line of stdout."""
    assert done.returncode == 0, done.stderr
    values: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return values


def games(run: Path) -> GameRecords:
    """What the run recorded, by number."""
    return RunFolder(run).records()


def workers_of(pid: int) -> list[int]:
    """Process ids of the workers of a running program."""
    found = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True
    )
    lines = [line.split(None, 1) for line in found.stdout.splitlines()]
    return [int(number) for number, command in lines if "spawn_main" in command]
