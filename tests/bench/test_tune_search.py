"""``bench/tune_search.py`` moves constants towards those of the winner, and refuses bad options."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / "bench" / "tune_search.py"
PLAYER = "net:material?search=puct&sims=16"


def _tuned(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), "--player", PLAYER, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def _after(report: dict[str, Any], name: str, start: float, step: float, rate: float) -> float:
    """The constant at the end, by the formulas in the program's description."""
    place, rounds = list(report["start"]).index(name), report["rounds"]
    for number, row in enumerate(rounds):
        shrunk = step * (number + 1) ** -0.101
        slowed = rate * ((len(rounds) / 10 + 1 + number) / (len(rounds) / 10 + 1)) ** -0.602
        start += slowed * row["lead"] * shrunk * row["signs"][place]
    return start


@pytest.mark.thorough
def test_constants_go_the_way_of_the_winner() -> None:
    # A step of 1.3 below 1.4 explores next to nothing, and loses.
    tuned = ["--tune", "c_puct=1.4,1.3", "--tune", "fpu_reduction=0.33,0.1", "--rate", "0.05"]
    done = _tuned(*tuned, "--rounds", "3", "--games", "16")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["start"] == {"c_puct": 1.4, "fpu_reduction": 0.33}
    assert report["end"]["c_puct"] > 1.4
    assert report["end"] == pytest.approx(
        {
            "c_puct": _after(report, "c_puct", 1.4, 1.3, 0.05),
            "fpu_reduction": _after(report, "fpu_reduction", 0.33, 0.1, 0.05),
        },
        abs=1e-4,
    )


@pytest.mark.thorough
def test_ctrl_c_leaves_the_report_of_the_rounds_played() -> None:
    options = ["--player", PLAYER, "--tune", "c_puct=1.4,0.3", "--rounds", "500", "--games", "4"]
    program = [sys.executable, str(PROGRAM), *options]
    with subprocess.Popen(program, stdout=PIPE, stderr=PIPE, text=True) as tuning:
        assert tuning.stderr is not None
        assert tuning.stderr.readline().startswith("1/500 ")
        tuning.send_signal(signal.SIGINT)
        out, said = tuning.communicate(timeout=120)
    assert (tuning.returncode, "Traceback" in said) == (0, False), said
    report = json.loads(out)
    assert 1 <= len(report["rounds"]) < 500
    assert report["games"] == 4 * len(report["rounds"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tune", "c_puct=1.4"], "NAME=START,STEP"),
        (["--tune", "c_puct=1.4,0"], "step above 0"),
        (["--tune", "c_putt=1.4,0.1", "--rounds", "1", "--games", "2"], "c_putt"),
        (["--tune", "c_puct=1.4,0.1", "--games", "3"], "even"),
        (["--tune", "c_puct=1.4,0.1", "--seed", "-1"], "--seed"),
        (["--tune", "c_puct=1.4,0.1", "--seed", str(1 << 60)], "seed"),
    ],
)
def test_refused_with_a_line(options: list[str], said: str) -> None:
    done = _tuned(*options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
