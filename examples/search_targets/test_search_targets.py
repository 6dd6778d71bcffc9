"""The example runs and learns."""

import pytest
from examples.search_targets import search_targets


def test_it_runs_and_learns(capsys: pytest.CaptureFixture[str]) -> None:
    search_targets.main(["--games", "16", "--updates", "12", "--simulations", "8"])
    losses = [float(word) for word in capsys.readouterr().out.partition(":")[2].split()]
    assert len(losses) == 12
    assert losses[-1] < losses[0]
