"""What the pool of workers decides before it starts one."""

from pathlib import Path

import pytest

from vecchess.selfplay.supervisor.worker_pool import next_session
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
