"""Results on stdout, notes on stderr, and a reader that goes early."""

import json
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.system.commands import PROGRAM, inside
from vecchess_cli.output import print_facts

TWO_GAMES = ["match", "greedy", "random", "--games", "2", "--max-plies", "61", "--quiet"]


def test_a_result_is_on_stdout_and_with_json_the_object_alone() -> None:
    shown = inside(*TWO_GAMES)
    assert "distinct games" in shown.stdout
    asked = inside(*TWO_GAMES, "--json")
    assert json.loads(asked.stdout)["games"] == 2
    assert "distinct games" in asked.stderr


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


def printed(facts: dict[str, Any], title: str = "") -> list[str]:
    text = StringIO()
    print_facts(Console(file=text, width=100, _environ={}), facts, title)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_facts_are_lines_with_intervals_behind_their_values() -> None:
    facts = {
        "schema": 1,
        "plies_per_s": 12042.3,
        "score": 0.9625,
        "score_interval": [0.827, 0.993],
        "elo": 564.1,
        "elo_low": 272.0,
        "elo_high": None,
        "ends": {"checkmate": 37, "stale_mate": 2},
        "exact": True,
        "weights_bytes": 2_500_000,
        "files": ["a_b", "c"],
        "sprt": None,
    }
    assert printed(facts, "one run") == [
        "one run",
        "plies/s        12,042",
        "score          96.2% [82.7%, 99.3%]",
        "elo            564 [272, endless]",
        "ends           checkmate 37, stale mate 2",
        "exact          yes",
        "weights bytes  2.5 MB",
        "files          a_b",
        "               c",
    ]


def test_lists_of_rows_are_tables_and_rows_of_rows_stand_below_their_own() -> None:
    players = [
        {"player": "greedy", "hits": 3, "none": None, "groups": {"KQK": {"hits": 2}}},
        {"player": "random", "hits": 1000, "none": None},
    ]
    inner = {"steps": [{"at": 1, "cost": 0.5}]}
    lines = printed({"positions": 4, "players": players, "costs": inner})
    assert lines == [
        "positions  4",
        "",
        "players",
        "player   hits",
        "greedy      3",
        "  KQK       2",
        "random  1,000",
        "",
        "costs",
        "",
        "steps",
        "at  cost",
        " 1   0.5",
    ]
