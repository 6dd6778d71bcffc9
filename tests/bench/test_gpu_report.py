"""bench/gpu_report.py where there is no GPU: what it keeps when it is killed, what it leaves out,
and its sections in Triton's interpreter."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import torch
from bench.gpu.report_lines import read_report
from bench.gpu.sections import SECTIONS

ROOT = Path(__file__).parents[2]
REPORT = [sys.executable, str(ROOT / "bench" / "gpu_report.py")]
QUICK = [*REPORT, "--device", "cpu", "--quick", "--commit", "test"]


def report(
    folder: Path, sections: str, *more: str, command: list[str] = QUICK
) -> subprocess.CompletedProcess[str]:
    """The finished program."""
    where = ["--out-dir", str(folder), "--sections", sections, *more]
    return subprocess.run([*command, *where], capture_output=True, text=True, check=False)


def sections_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The sections of the whole report that it has written."""
    sections: dict[str, Any] = json.loads(Path(done.stdout.strip()).read_text())["sections"]
    return sections


@pytest.mark.slow
def test_a_report_killed_at_a_random_moment_has_every_finished_result(tmp_path: Path) -> None:
    where = ["--out-dir", str(tmp_path), "--sections", "smoke,ceilings,steps,sharing"]
    num_printed = random.randrange(1, 10)
    with subprocess.Popen([*QUICK, *where], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        printed = [process.stderr.readline() for _ in range(num_printed)]
        process.kill()
        # the end of the pipe comes when the section and what it started have ended too
        printed += process.stderr.readlines()
    (lines,) = tmp_path.glob("*.jsonl")
    found = read_report([lines])["sections"]
    results = {(name, result) for name in found for result in found[name]["results"]}
    for line in printed:
        name, _, rest = line.partition(": ")
        result, _, facts = rest.partition(": ")
        if name in SECTIONS and facts.startswith("{"):
            assert (name, result) in results
    joined = subprocess.run(
        [*REPORT, "--join", str(lines), "--out-dir", str(tmp_path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert sections_of(joined) == found


@pytest.mark.thorough
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_nothing_follows_a_smoke_test_that_fails(tmp_path: Path) -> None:
    done = report(tmp_path, "smoke,ceilings", command=[*REPORT, "--device", "cuda:0"])
    assert done.returncode == 1
    assert "smoke failed; left out: ceilings" in done.stderr
    sections = sections_of(done)
    assert list(sections) == ["smoke"]
    assert sections["smoke"]["error"]


def test_what_does_not_fit_the_time_is_left_for_another_command(tmp_path: Path) -> None:
    done = report(tmp_path, "ceilings,steps", "--seconds", "20")
    assert done.returncode == 0
    assert "no time is left; go on with: --sections ceilings,steps" in done.stderr
    assert sections_of(done) == {}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--sections", "equaliti"], "no section equaliti; there are smoke, "),
        (["--device", "gpu"], '--device gpu: "cuda:<n>" or "cpu"'),
        (["--net", "no such network"], "there is no file no such network"),
        (["--join", "no such file"], "there is no file no such file"),
        (["--out-dir", __file__], f"--out-dir {__file__}: File exists"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, wrong: list[str], message: str) -> None:
    command = [*REPORT, "--out-dir", str(tmp_path / "none"), *wrong]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert not (tmp_path / "none").exists()


def test_lines_of_two_commits_are_no_report(tmp_path: Path) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    for file in files:
        head = {"schema": 2, "commit": file.stem, "date": "", "device": "cpu", "quick": True}
        file.write_text(json.dumps(head) + "\n")
    command = [*REPORT, "--out-dir", str(tmp_path), "--join", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "gpu_report: error: lines of several reports: commit one, other\n"
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kernels_are_compiled_compared_and_shared(tmp_path: Path) -> None:
    done = report(tmp_path, "smoke,compilation,equality,sharing")
    assert done.returncode == 0, done.stderr[-2000:]
    sections = sections_of(done)
    assert sections["smoke"]["results"]["versions"]["packages"]["torch"]
    assert sections["smoke"]["results"]["equality"]["different"] == 0
    assert sections["compilation"]["results"]["base, tile 0"]["seconds"] > 0
    compared = sections["equality"]["results"]
    assert len(compared) == 4
    assert {one["different"] for one in compared.values()} == {0}
    assert len({one["digest"] for name, one in compared.items() if "twin" not in name}) == 1
    assert len(sections["sharing"]["results"]["2 at a time"]["positions_per_s"]) == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_speeds_are_measured(tmp_path: Path) -> None:
    done = report(tmp_path, "ceilings,steps,engine,profile,throughput,search")
    assert done.returncode == 0, done.stderr[-2000:]
    sections = sections_of(done)
    assert sections["engine"]["results"]["exits"]["positions_per_s"] > 0
    assert sections["engine"]["results"]["exits"]["device_allocations"] == 0
    assert len(sections["steps"]["results"]) == 2
    assert sections["throughput"]["results"]["load"]["plies_per_s"] > 0
    assert sections["search"]["results"]["load"]["sims_per_s"] > 0
    trace = sections["profile"]["results"]["turns"]
    assert (tmp_path / trace["file"]).stat().st_size > 0


@pytest.mark.slow
def test_a_training_step_is_timed_in_every_way(tmp_path: Path) -> None:
    done = report(tmp_path, "training")
    assert done.returncode == 0, done.stderr[-2000:]
    facts = sections_of(done)["training"]["results"]["speeds"]
    every = {"snntorch", "float_triton", "float_plain", "folded_triton", "folded_plain"}
    assert facts["samples_per_s"].keys() == facts["step_seconds"].keys() == every
    assert facts["ratios"].keys() >= {"float_triton/float_plain", "float_triton/snntorch"}
    assert all(value > 0 for value in facts["ratios"].values())
    assert facts["rounds"] >= 5


@pytest.mark.slow
def test_two_iterations_train_both_phases(tmp_path: Path) -> None:
    done = report(tmp_path, "training_run")
    assert done.returncode == 0, done.stderr[-2000:]
    results = sections_of(done)["training_run"]["results"]
    assert results["summary"]["iterations"] == 2
    assert results["summary"]["folded"]
    assert "learnt" in "".join(one.get("text", "") for one in results.values())


@pytest.mark.slow
def test_other_engines_and_tools_that_are_not_here(tmp_path: Path) -> None:
    done = report(tmp_path, "counters,sanitizer,inference,peers")
    assert done.returncode == 0, done.stderr[-2000:]
    sections = sections_of(done)
    assert sections["counters"]["results"]["ncu"]["absent"]
    assert sections["sanitizer"]["results"]["compute-sanitizer"]["absent"]
    assert sections["inference"]["results"]["in turns"]["backends"]
    assert sections["peers"]["results"]["in turns"]["exit_patterns"]
