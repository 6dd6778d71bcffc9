"""Ranks as processes, over gloo: sums, and ranks that die, hang or fail."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

RUN = [sys.executable, "-m", "tests.train.distributed.run_ranks"]
ROOT = Path(__file__).parent.parent.parent.parent


def environ() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path}


@contextmanager
def running(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Ranks that run during the block; what is left of them is killed."""
    process = subprocess.Popen(
        [*RUN, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_ranks(folder: Path, count: int) -> list[int]:
    """Process ids of all ranks, once they have met."""
    for _ in range(2000):
        files = [folder / f"{rank}.pid" for rank in range(count)]
        if all(file.exists() and file.read_text() for file in files):
            return [int(file.read_text()) for file in files]
        time.sleep(0.1)
    raise TimeoutError("the ranks do not start")


def has_ended(pid: int) -> bool:
    """Whether a process ends within 10 s."""
    for _ in range(100):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_ranks_that_are_done_end_without_a_word(tmp_path: Path) -> None:
    with running("sums", tmp_path, "--gpus", "cpu:2") as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "", "")
    assert_sums_are_the_same_bits(tmp_path)


def assert_sums_are_the_same_bits(folder: Path) -> None:
    """Of the first two ranks that ran ``sums``."""
    (first, values), (second, others) = (torch.load(folder / f"{rank}.pt") for rank in (0, 1))
    assert all(one.equal(other) for one, other in zip(first, second, strict=True))
    assert first[0].equal(torch.full((2, 3), 4.0))
    assert first[1].equal(torch.arange(4, dtype=torch.float64) * 3 + 2.0**-39)
    assert first[2].item() == 2**41 + 1
    assert (first[3].dtype, first[3].tolist()) == (torch.bfloat16, [0.5] * 5)
    parts = [torch.randn(1000, generator=torch.Generator().manual_seed(rank)) for rank in (0, 1)]
    assert first[4].equal(parts[0] + parts[1])
    assert values["sums"] == others["sums"] == [0.2, 1.0]
    assert values["broadcast"] == others["broadcast"] == "odd"
    assert [values["facts"][2], others["facts"][2]] == [True, False]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("program", "victim", "ranks"),
    [
        ("sums_without_end", 1, 2),
        pytest.param("sums_without_end", 1, 3, marks=pytest.mark.slow),
        pytest.param("sums_without_end", 2, 3, marks=pytest.mark.slow),
        pytest.param("beats_without_end", 1, 3, marks=pytest.mark.slow),
    ],
)
def test_a_killed_rank_is_named_and_all_end(
    tmp_path: Path, program: str, victim: int, ranks: int
) -> None:
    code, err = end_of_killed(program, victim, tmp_path / "run", ranks)
    assert code == 1
    assert err.startswith(f"error: rank {victim} on ")
    assert (
        " died (killed by SIGKILL): every rank ends; start all machines again with --resume" in err
    )
    assert err.count("\n") == 1
    if (program, ranks) == ("sums_without_end", 2):
        assert_sums_are_the_same_bits(tmp_path / "run")


def end_of_killed(program: str, victim: int, folder: Path, ranks: int) -> tuple[int, str]:
    """Exit code and stderr of so many ranks of which ``victim`` is killed; none is left."""
    folder.mkdir()
    with running(program, folder, "--gpus", f"cpu:{ranks}") as process:
        pids = wait_for_ranks(folder, ranks)
        os.kill(pids[victim], signal.SIGKILL)
        _, err = process.communicate(timeout=30)
    assert all(has_ended(pid) for pid in pids)
    return process.returncode, err


@pytest.mark.slow
def test_ranks_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    with running("beats_without_end", tmp_path, "--gpus", "cpu:3") as process:
        pids = wait_for_ranks(tmp_path, 3)
        process.kill()
        assert all(has_ended(pid) for pid in pids)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGINT])
def test_a_signal_to_the_whole_group_reaches_all_ranks_as_a_reason(
    tmp_path: Path, number: signal.Signals
) -> None:
    with running("beats_until_stopped", tmp_path, "--gpus", "cpu:3") as process:
        wait_for_ranks(tmp_path, 3)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")
    assert [(tmp_path / f"{rank}.stop").read_text() for rank in range(3)] == [number.name] * 3


BOMB = """
import os
from vecchess.train.distributed.launch import run_ranks
from vecchess.runtime.devices import CPU
class Bomb:
    def __reduce__(self):
        return os._exit, (3,)
if __name__ == "__main__":
    run_ranks(print, (Bomb(),), [CPU, CPU])
"""


@pytest.mark.slow
def test_a_rank_that_dies_at_its_start_is_named(tmp_path: Path) -> None:
    program = tmp_path / "bomb.py"
    program.write_text(BOMB)
    done = subprocess.run(
        [sys.executable, str(program)],
        env=environ(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "RankLost: rank 1 on " in done.stderr
    assert "died (exit code 3)" in done.stderr


@pytest.mark.slow
def test_a_rank_that_hangs_is_named(tmp_path: Path) -> None:
    with running("stops_itself", tmp_path, "--gpus", "cpu:3", "--timeout-s", 2) as process:
        pids = wait_for_ranks(tmp_path, 3)
        _, err = process.communicate(timeout=40)
    assert process.returncode == 1
    assert err.startswith("error: rank 1 on ")
    assert "did not turn up within 2 s" in err
    assert err.count("\n") == 1
    assert all(has_ended(pid) for pid in pids)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "code", "line"),
    [
        ("other_settings", 2, "other settings than rank 0"),
        ("fails_on_one", 1, "shard 7 is damaged"),
    ],
)
def test_an_error_is_one_line_and_one_code(
    tmp_path: Path, program: str, code: int, line: str
) -> None:
    with running(program, tmp_path, "--gpus", "cpu:3") as process:
        pids = wait_for_ranks(tmp_path, 3)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.startswith("error: rank 1 on ")
    assert line in err
    assert err.count("\n") == 1
    assert all(has_ended(pid) for pid in pids)


@pytest.mark.slow
def test_the_same_program_under_torchrun(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [
        *torchrun,
        "-m",
        "tests.train.distributed.run_ranks",
        "sums",
        str(tmp_path),
        "--gpus",
        "cpu:2",
    ]
    done = subprocess.run(
        command, env=environ(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    values = [torch.load(tmp_path / f"{rank}.pt")[1] for rank in (0, 1)]
    assert [one["sums"] for one in values] == [[0.2, 1.0]] * 2
