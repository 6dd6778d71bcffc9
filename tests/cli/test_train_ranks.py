"""``vecchess train`` as a rank that torchrun or srun started beside its machine's first."""

from typing import Any

import pytest

from tests.system.commands import inside
from vecchess.train import run_train


@pytest.mark.parametrize("code", [0, 75])
def test_a_further_rank_prints_nothing_and_has_the_exit_code(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train_run(*arguments: Any, **named: Any) -> dict[str, Any]:
        return {"run_dir": "run", "net": "run/nets/a.safetensors", "exit_code": code}

    monkeypatch.setattr(run_train, "train_run", train_run)
    for option in ([], ["--json"]):
        done = inside("train", "--run-dir", "run", *option)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
