"""``vecchess ray`` before it reaches any cluster."""

import os
import subprocess
import sys

import pytest

from tests.system.commands import inside, vecchess

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
