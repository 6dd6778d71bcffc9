"""The example plays a game to its end."""

import ast

import pytest
from examples.two_agents import two_agents


@pytest.mark.parametrize(("max_plies", "ending"), [(20, "ply_cap"), (400, "")])
def test_it_plays(max_plies: int, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    two_agents.main(["--seed", "3", "--max-plies", str(max_plies)])
    *board, last = capsys.readouterr().out.splitlines()
    reason, _, rewards = last.partition(" ")
    assert len(board) == 8
    assert ending in reason
    assert sum(ast.literal_eval(rewards).values()) == 0
