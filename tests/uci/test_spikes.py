"""The command ``spikes``: one line of JSON, or of what is wrong."""

import json
from typing import Any

import pytest

from vecchess.config import UciConfig
from vecchess.uci.session import Session

BEGINNING = "info string spikes "


def asked(line: str, net: str = "default") -> dict[str, Any]:
    lines: list[str] = []
    session = Session(UciConfig(net=net), lines.append)
    assert session.execute(line)
    assert session.close(60.0)
    (answer,) = lines
    assert answer.startswith(BEGINNING)
    found: dict[str, Any] = json.loads(answer.removeprefix(BEGINNING))
    return found


def test_the_neurons_of_the_network_are_shown() -> None:
    seen = asked("spikes startpos moves e2e4")
    assert len(seen["values"]) == seen["time_steps"] >= seen["steps"] > 0
    assert {len(layer["squares"]) for layer in seen["layers"]} == {seen["time_steps"]}
    assert {len(squares) for layer in seen["layers"] for squares in layer["squares"]} == {64}
    assert seen["policy"][0]["share"] >= seen["policy"][1]["share"]
    black = asked("spikes fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1")
    assert len(black["policy"]) == len(seen["policy"]) == 5


@pytest.mark.parametrize(
    ("line", "net", "reason"),
    [
        ("spikes", "default", "write spikes startpos"),
        ("spikes startpos moves e2e5", "default", "e2e5 (move 1) is not legal"),
        ("spikes startpos moves f2f3 e7e5 g2g4 d8h4", "default", "without a legal move"),
        ("spikes fen 8/8/8/8/8/8/8/8 w - - 0 1", "default", "no king"),
        ("spikes startpos", "material", "material"),
        ("spikes startpos", "n" * 300, "File name too long"),
    ],
)
def test_what_is_wrong_is_one_line(line: str, net: str, reason: str) -> None:
    assert reason in asked(line, net)["error"]
