"""PettingZoo's own tests, and what its environments give."""

import sys
import warnings
from types import SimpleNamespace

import chess
import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, performance_benchmark

from vecchess.chess.fen import from_board
from vecchess.chess.planes import encode_planes, num_planes
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.env.pettingzoo_adapter import AGENTS, ChessAEC, ChessParallel
from vecchess.errors import ConfigError

KNOWN = ".*all zeros.*|.*probably should be.*|.*is not a NumPy array.*"
"""Warnings that belong to masks: observations are dictionaries, and an agent that is not to move
has no legal actions."""


def test_the_environments_pass_pettingzoos_tests() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", message=KNOWN)
        api_test(ChessAEC(starts="chess960", max_plies=50), num_cycles=150)
        parallel_api_test(ChessParallel(starts="chess960", max_plies=50), num_cycles=150)


def test_the_performance_test_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 2))
    module = sys.modules["pettingzoo.test.performance_benchmark"]
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: next(clock)))
    performance_benchmark(ChessAEC())
    assert "turns per second" in capsys.readouterr().out


def _seen(board: chess.Board, colour: bool) -> np.ndarray:
    """The planes that python-chess's board gives from one side, whoever is to move."""
    turned = board.copy(stack=False)
    if turned.turn != colour:
        turned.turn, turned.ep_square = colour, None
    rows = from_board(turned)[None]
    return unpack_planes(encode_planes(rows, num_planes=num_planes(tactical=True)))[0]


def test_each_agent_sees_the_board_from_its_own_side() -> None:
    parallel = ChessParallel(num_planes=num_planes(tactical=True))
    aec = ChessAEC(num_planes=num_planes(tactical=True), render_mode="ansi")
    board = chess.Board()
    observations, _ = parallel.reset(seed=2)
    aec.reset(seed=2)
    for ply in range(60):
        mover, other = AGENTS[ply % 2], AGENTS[1 - ply % 2]
        assert aec.agent_selection == mover
        assert aec.render() == str(board)
        for name, colour in zip(AGENTS, (chess.WHITE, chess.BLACK), strict=True):
            planes = observations[name]["observation"]
            assert (planes[:17] == _seen(board, colour)[:17]).all()
            for part, array in aec.observe(name).items():
                assert (array == observations[name][part]).all()
        assert not observations[other]["action_mask"].any()
        action = int(np.random.default_rng(ply).choice(_legal(observations[mover])))
        board.push(_move(board, action))
        if board.is_game_over(claim_draw=True):
            break
        aec.step(action)
        observations, rewards, terminated, truncated, _ = parallel.step({mover: action, other: 9})
        assert (rewards, terminated, truncated) == (aec.rewards, aec.terminations, aec.truncations)
    assert ply > 20


def _legal(observation: dict[str, np.ndarray]) -> np.ndarray:
    return np.flatnonzero(observation["action_mask"])


def _move(board: chess.Board, action: int) -> chess.Move:
    move = action_to_chess_move(board, action)
    assert move is not None
    return move


def test_an_illegal_or_missing_action_loses() -> None:
    aec = ChessAEC()
    aec.reset()
    aec.step(4671)
    assert aec.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert all(aec.terminations.values())
    assert aec.infos["player_1"] == {"termination": "illegal_move"}
    parallel = ChessParallel()
    parallel.reset()
    _, rewards, terminated, *_ = parallel.step({"player_1": 5})
    assert (rewards["player_0"], terminated["player_1"], parallel.agents) == (-1.0, True, [])


def test_earlier_positions_are_refused() -> None:
    with pytest.raises(ConfigError, match="25 or 36"):
        ChessAEC(num_planes=num_planes(2))
