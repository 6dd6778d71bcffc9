"""bench/gpu_report.py where there is no GPU: sections run by themselves, one that fails alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
REPORT = Path(__file__).parents[2] / "bench" / "gpu_report.py"


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


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(REPORT), "--sections", "equaliti"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no section equaliti" in done.stderr
