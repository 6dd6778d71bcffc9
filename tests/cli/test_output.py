"""Results on stdout, notes on stderr, and a reader that goes early."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.system.commands import PROGRAM, inside

TWO_GAMES = ["match", "greedy", "random", "--games", "2", "--max-plies", "61", "--quiet"]


def test_a_result_is_on_stdout_and_with_json_the_object_alone() -> None:
    shown = inside(*TWO_GAMES)
    assert "likelihood of superiority" in shown.stdout
    asked = inside(*TWO_GAMES, "--json")
    assert json.loads(asked.stdout)["games"] == 2
    assert "likelihood of superiority" in asked.stderr


def test_a_table_in_a_pipe_is_not_cut(tmp_path: Path) -> None:
    net = (
        tmp_path
        / "a-network-with-a-name-that-is-rather-long-for-a-table-of-eighty-columns.safetensors"
    )
    assert inside("net", "new", "tiny", "--out", net).returncode == 0
    lines = inside("net", "info", net).stdout.splitlines()
    assert any(line.startswith("sha256 ") and len(line.split()[-1]) == 64 for line in lines)


@pytest.mark.parametrize("command", [["bench", "perft", "--depth", "1"], ["--help"]])
def test_a_closed_pipe_ends_quietly(command: list[str]) -> None:
    script = f"{' '.join(PROGRAM)} {' '.join(command)} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() in ("0", "141")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
