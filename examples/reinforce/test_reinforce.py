"""The example runs, and pays each move with the result of its own game."""

import numpy as np
import pytest
from examples.reinforce import reinforce


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    reinforce.main(["--games", "8", "--updates", "2", "--moves", "3"])
    assert len(capsys.readouterr().out.splitlines()[1].split()) == 2


def test_a_move_is_paid_by_its_own_game() -> None:
    rewards = np.array([[0], [1], [0], [-1], [0]], np.float32)
    ends = np.array([[0], [1], [0], [1], [0]], np.bool_)
    assert reinforce.returns_of(rewards, ends)[:, 0].tolist() == [1, 1, -1, -1, 0]
