"""The bench of the first move: answers in their order, in both clocks."""

import json
import sys

import pytest

from bench import first_move


def test_the_answers_come_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--net", "material", "--go", "go nodes 3", "--runs", "1", "--cold-runs", "0"]
    monkeypatch.setattr(sys, "argv", ["first_move.py", *options])
    first_move.main()
    facts = json.loads(capsys.readouterr().out)
    assert (facts["schema"], facts["net"]) == (1, "material")
    for clock in ("wall_s", "processor_s"):
        times = [facts["go nodes 3"]["compiled"][name][clock] for name in ("uciok", "readyok")]
        assert 0 < times[0] < times[1] <= facts["go nodes 3"]["compiled"]["bestmove"][clock]


def test_an_engine_that_ends_is_told() -> None:
    with pytest.raises(SystemExit, match="the engine ended before it said uciok"):
        first_move.times_of(["--net", "nowhere"], "go nodes 1", None)
