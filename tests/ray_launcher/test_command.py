"""``vecchess ray`` before it reaches any cluster."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.system.commands import inside, vecchess
from vecchess.ray_launcher import run_ray
from vecchess.ray_launcher.run_ray import NodeResult
from vecchess.store.run_folder import RunFolder

WITHOUT_RAY = """
import sys
sys.modules["ray"] = None
from vecchess_cli.main import run
sys.argv = ["vecchess", "ray", *sys.argv[1:]]
sys.exit(run())
"""


@pytest.mark.parametrize("command", ["selfplay", "train"])
def test_without_ray_there_is_a_line(command: str) -> None:
    program = [sys.executable, "-c", WITHOUT_RAY, command, "--nodes", "2"]
    done = subprocess.run(program, capture_output=True, text=True, env=os.environ)
    line = 'vecchess: error: vecchess ray needs Ray: pip install "vecchess[ray]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["selfplay", "--sed", 3], "No such option: --sed"),
        (["selfplay", "--games", -1], "--games must be at least 0"),
        (["selfplay", "--nodes", 0], "'--nodes'"),
        (["train", "--node-rank", 1], "--node-rank is set by vecchess ray"),
        (["train", "--search", "none"], "alphazero learns from searches"),
    ],
)
def test_what_is_wrong_is_found_before_ray_starts(arguments: list[object], words: str) -> None:
    done = inside("ray", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("vecchess: error: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_cluster_that_does_not_answer() -> None:
    pytest.importorskip("ray", reason='needs Ray: pip install "vecchess[ray]"')
    done = vecchess("ray", "selfplay", "--address", "127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no Ray cluster answers at 127.0.0.1:1 (Connection refused)" in done.stderr


@pytest.fixture
def two_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes have ended, the second before the first."""

    def run_on_nodes(*arguments: Any) -> tuple[int, list[NodeResult]]:
        with arguments[-1]:
            ends = [NodeResult("b/1", 0, 'games  4\n{"games": 4}'), NodeResult("a/0", 1, "")]
            return 1, ends

    monkeypatch.setattr(run_ray, "run_on_nodes", run_on_nodes)


@pytest.mark.usefixtures("two_ends")
def test_summaries_of_the_nodes_are_printed(tmp_path: Path) -> None:
    done = inside("ray", "selfplay", "--nodes", 2, "--run-dir", tmp_path)
    assert (done.returncode, done.stdout) == (1, 'b/1 | games  4\nb/1 | {"games": 4}\n')
    done = inside("ray", "selfplay", "--nodes", 2, "--run-dir", tmp_path, "--json")
    nodes = json.loads(done.stdout)["nodes"]
    assert [node["output"] for node in nodes] == [{"games": 4}, None]


@pytest.mark.usefixtures("two_ends")
@pytest.mark.parametrize("command", ["selfplay", "train"])
def test_a_second_start_on_a_folder_is_one_line(command: str, tmp_path: Path) -> None:
    """It is refused before it asks for nodes, so that it stops nothing."""
    with RunFolder(tmp_path).locked():
        done = inside("ray", command, "--nodes", 2, "--run-dir", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        f"vecchess: error: another vecchess is writing to {tmp_path}: process .*\n", done.stderr
    )
