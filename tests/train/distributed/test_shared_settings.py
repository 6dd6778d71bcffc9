"""What a machine without the run's folder learns from its own flags, variables and files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vecchess.config import TrainConfig, build
from vecchess.runtime.signals import StopSignals
from vecchess.store.remote import run_places
from vecchess.train.distributed.shared_settings import settings_before_joining, settings_from_rank0
from vecchess_cli.options import writable_run


def test_a_file_lies_over_the_settings_of_rank_0(tmp_path: Path) -> None:
    """As it lies over those of the run's folder on rank 0."""
    file = tmp_path / "some.toml"
    file.write_text("nnodes = 2\nmaster_addr = 'a'\n[optimiser]\nlr = 0.001\n")
    flags = {"config": file, "node_rank": "1"}
    begun = {"seed": 7, "iterations": 9, "optimiser": {"lr": 0.004, "ema": 0.9}}
    shared = build(TrainConfig, begun).model_dump(mode="json", exclude_none=True)
    ranks: Any = SimpleNamespace(broadcast_object=lambda value: shared, hosts=["here"])
    before = settings_before_joining(flags)
    assert before == build(TrainConfig, {"nnodes": 2, "node_rank": 1, "master_addr": "a"})
    found = settings_from_rank0(before, flags, ranks)
    wanted = begun | {
        "nnodes": 2,
        "node_rank": 1,
        "master_addr": "a",
        "optimiser": {"lr": 0.001, "ema": 0.9},
    }
    assert found == build(TrainConfig, wanted)


@pytest.mark.parametrize("way", ["flag", "variable", "file"])
def test_a_further_machine_never_writes_the_run(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is told which one it is."""
    file = tmp_path / "rank.toml"
    file.write_text("node_rank = 1\n")
    if way == "variable":
        monkeypatch.setenv("VECCHESS_NODE_RANK", "1")
    flags = {
        "run_dir": "file:///run", "resume": False, "resume_or_begin": False,
        "node_rank": "1" if way == "flag" else None, "config": file if way == "file" else None,
    }  # fmt: skip
    monkeypatch.setattr(
        run_places, "learner_copy", lambda *given, **named: pytest.fail("it writes")
    )
    with writable_run(flags, StopSignals()):
        assert flags["run_dir"] != "file:///run"
