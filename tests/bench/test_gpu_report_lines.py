"""The GPU report's file: whole lines at any moment, and the report that they make."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from bench.gpu.report_lines import CUT_SHORT, ResultWriter, append_line, read_report

ROOT = Path(__file__).parents[2]
HEAD = {"schema": 2, "commit": "a", "date": "2026-01-01", "device": "cpu", "quick": True}
ENDLESS = """
import sys
from itertools import count
from pathlib import Path
from bench.gpu.report_lines import ResultWriter

results = ResultWriter(Path(sys.argv[1]), "steps")
for number in count():
    results.add(f"result {number}", numbers=[number] * 3000)
"""


def test_a_kill_at_a_random_moment_loses_nothing_that_was_printed(tmp_path: Path) -> None:
    file = tmp_path / "report.jsonl"
    append_line(file, HEAD)
    append_line(file, {"section": "steps", "begins": "now"})
    command = [sys.executable, "-c", ENDLESS, str(file)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        printed = [process.stderr.readline() for _ in range(random.randrange(1, 30))]
        process.kill()
        printed += [line for line in process.stderr if line.endswith("\n")]
    section = read_report([file])["sections"]["steps"]
    assert section["error"] == CUT_SHORT
    for number, line in enumerate(printed):
        assert line.startswith(f"steps: result {number}: ")
        assert section["results"][f"result {number}"]["numbers"] == [number] * 3000
    assert len(section["results"]) - len(printed) in (0, 1)


def test_what_a_kill_left_of_a_line_harms_no_other_line(tmp_path: Path) -> None:
    file = tmp_path / "report.jsonl"
    append_line(file, HEAD)
    append_line(file, {"section": "steps", "begins": "now"})
    ResultWriter(file, "steps").add("first", value=1)
    whole = file.read_bytes()
    line = whole.splitlines()[-1]
    for length in range(1, len(line), 5):
        file.write_bytes(whole + line[:length])
        append_line(file, {"section": "engine", "begins": "now"})
        ResultWriter(file, "engine").add("second", value=2)
        sections = read_report([file])["sections"]
        assert sections["steps"]["results"]["first"]["value"] == 1
        assert sections["engine"]["results"]["second"]["value"] == 2


def test_sections_of_several_files_are_one_report_and_the_last_run_counts(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    append_line(one, HEAD)
    for name, error in (("smoke", ""), ("steps", "lost the device")):
        append_line(one, {"section": name, "begins": "now"})
        ResultWriter(one, name, lambda: {"sm_mhz": 1980}).add("old", value=name)
        append_line(one, {"section": name, "seconds": 1.5} | ({"error": error} if error else {}))
    append_line(other, HEAD | {"date": "2026-01-02"})
    append_line(other, {"section": "steps", "begins": "now"})
    ResultWriter(other, "steps").add("new", value=2)
    append_line(other, {"section": "steps", "seconds": 2.5})
    first = read_report([one])
    assert first["sections"]["steps"]["error"] == "lost the device"
    both = read_report([one, other])
    assert (both["commit"], both["date"]) == ("a", "2026-01-01")
    old = {"value": "smoke", "at_s": 0.0, "gpu": {"sm_mhz": 1980}}
    assert both["sections"]["smoke"] == {"results": {"old": old}, "seconds": 1.5}
    new = {"value": 2, "at_s": 0.0}
    assert both["sections"]["steps"] == {"results": {"new": new}, "seconds": 2.5}


@pytest.mark.parametrize("key", ["schema", "commit", "device", "quick"])
def test_lines_of_two_reports_are_refused(tmp_path: Path, key: str) -> None:
    file = tmp_path / "report.jsonl"
    append_line(file, HEAD)
    append_line(file, HEAD | {key: "other"})
    with pytest.raises(ValueError, match=f"lines of several reports: {key} "):
        read_report([file])


def test_a_file_without_a_head_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "report.jsonl"
    file.write_text(json.dumps(HEAD)[:20])
    with pytest.raises(ValueError, match="no report in these files"):
        read_report([file])
