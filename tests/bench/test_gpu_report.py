"""bench/gpu_report.py where there is no GPU: sections run by themselves, one that fails alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
REPORT = Path(__file__).parents[2] / "bench" / "gpu_report.py"


@pytest.mark.slow
def test_one_failing_section_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    sections = ["--sections", "environment,equality,allocation"]
    where = ["--device", "cpu", "--quick", "--net", "no such network", "--out", str(file)]
    done = subprocess.run(
        [sys.executable, str(REPORT), *where, *sections],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.strip() == str(file)
    facts = json.loads(file.read_text())["sections"]
    assert facts["environment"]["packages"]["torch"]
    assert "no such network" in facts["equality"]["error"]
    assert facts["allocation"]["steps"] > 0
    assert facts["allocation"]["device_allocations"] == 0


@pytest.mark.slow
def test_a_training_step_is_timed_in_every_way(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    where = ["--device", "cpu", "--quick", "--sections", "training", "--out", str(file)]
    done = subprocess.run(
        [sys.executable, str(REPORT), *where], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    facts = json.loads(file.read_text())["sections"]["training"]
    every = {"snntorch", "float_triton", "float_plain", "folded_triton", "folded_plain"}
    assert facts["samples_per_s"].keys() == facts["step_seconds"].keys() == every
    assert facts["ratios"].keys() >= {"float_triton/float_plain", "float_triton/snntorch"}
    assert all(value > 0 for value in facts["ratios"].values())
    assert facts["rounds"] >= 5


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(REPORT), "--sections", "equaliti"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no section equaliti" in done.stderr
