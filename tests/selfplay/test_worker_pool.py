"""What the pool of workers decides about starting and ending one."""

import json
from pathlib import Path

import pytest

from tests.system.commands import SHORT, inside
from vecchess.selfplay.supervisor.worker_pool import WorkerPool, next_session
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.store.run_folder import RunFolder


@pytest.mark.parametrize(
    ("files", "session"),
    [
        ([], 0),
        (["0000-000-c3a281-000000.npz", "0003-001-aa0000-000002.npz.set-aside"], 4),
        (["2026.npz", "manifest.jsonl", "notes-2026.txt", "12345-000-c3a281-000000.npz"], 12346),
    ],
)
def test_a_session_has_a_number_that_no_shard_carries(
    files: list[str], session: int, tmp_path: Path
) -> None:
    run = RunFolder(tmp_path)
    run.games.mkdir()
    for name in files:
        (run.games / name).touch()
    assert next_session(run) == session


@pytest.mark.thorough
def test_a_worker_may_compile_longer_than_it_may_stall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever that is: here when the first position is to be answered. A busy machine may take
    longer to start the process than it may stall here."""
    timeout_of = WorkerPool.stall_timeout_s

    def timeout_s(pool: WorkerPool, worker: WorkerProcess) -> float:
        is_starting = worker.stage in ("starting", "loading the network")
        return 60.0 if is_starting else timeout_of(pool, worker)

    monkeypatch.setattr(WorkerPool, "stall_timeout_s", timeout_s)
    backend = "tests.selfplay.odd_backends:slow?seconds=6"
    options = ["--net", "constant", "--backend", backend, "--stall-timeout-s", 3, "--games", 4]
    done = inside("selfplay", *SHORT, *options, "--run-dir", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["games"], summary["restarts"]) == (4, 0), done.stderr
