"""The bench of the first move: answers in their order, in both clocks."""

import json
import sys

import pytest

from bench import first_move


def test_the_answers_come_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine is started once: what compiles its kernels runs in other tests."""
    flags = ["--net", "material", "--threads", "0", "--gpus", "cpu"]
    times = first_move.times_of(flags, "go nodes 3", None)
    monkeypatch.setattr(first_move, "times_of", lambda *given: times if given[0] == flags else {})
    options = ["--net", "material", "--go", "go nodes 3", "--runs", "1", "--cold-runs", "0"]
    monkeypatch.setattr(sys, "argv", ["first_move.py", *options])
    first_move.main()
    facts = json.loads(capsys.readouterr().out)
    assert (facts["schema"], facts["net"]) == (1, "material")
    for clock in ("wall_s", "processor_s"):
        compiled = facts["go nodes 3"]["compiled"]
        first, second, last = (compiled[name][clock] for name in ("uciok", "readyok", "bestmove"))
        assert 0 < first < second <= last


def test_an_engine_that_ends_is_told() -> None:
    with pytest.raises(SystemExit, match="the engine ended before it said uciok"):
        first_move.times_of(["--net", "nowhere"], "go nodes 1", None)
