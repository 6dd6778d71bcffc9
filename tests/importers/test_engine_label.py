"""Policy targets: half the engine's choice, half the lines by their scores."""

import chess
import numpy as np
import pytest
from chess.engine import Cp, Mate, Score

from vecchess.chess.uci_moves import action_of
from vecchess.importers.engine_label import policy_target
from vecchess.runtime.engines.engine_pipe import EngineFailed
from vecchess.runtime.engines.uci_info import EngineLine


def shares(board: chess.Board, chosen: str, *lines: tuple[str, Score]) -> dict[str, float]:
    found = policy_target(
        board, board.parse_uci(chosen), [EngineLine(move, score) for move, score in lines]
    )
    assert [action for action, _ in found] == sorted(action for action, _ in found)
    names = {action_of(board, move): move.uci() for move in board.legal_moves}
    return {names[action]: share / 65535 for action, share in found}


def test_half_the_choice_half_a_softmax() -> None:
    board = chess.Board()
    found = shares(board, "e2e4", ("d2d4", Cp(60)), ("e2e4", Cp(0)), ("a2a3", Cp(-60)))
    weights = np.exp([1, 0, -1]) / np.exp([1, 0, -1]).sum() / 2
    expected = {"d2d4": weights[0], "e2e4": 0.5 + weights[1], "a2a3": weights[2]}
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_single_line_and_a_hopeless_one() -> None:
    board = chess.Board()
    assert shares(board, "e2e4") == {"e2e4": 1}
    assert shares(board, "e2e4", ("e2e4", Cp(0)), ("g2g4", Cp(-2000))) == {"e2e4": 1}
    assert shares(board, "e2e4", ("e2e4", Cp(5)), ("e2e4", Cp(4)), ("", Cp(3))) == {"e2e4": 1}


def test_a_choice_without_a_line_is_as_good_as_the_best() -> None:
    found = shares(chess.Board(), "e2e4", ("d2d4", Cp(60)), ("c2c4", Cp(60)))
    assert found == pytest.approx({"e2e4": 2 / 3, "d2d4": 1 / 6, "c2c4": 1 / 6}, abs=1e-4)


def test_mates_count_by_their_distance_and_more_than_any_score() -> None:
    board = chess.Board()
    found = shares(board, "e2e4", ("e2e4", Mate(2)), ("d2d4", Mate(3)), ("a2a3", Cp(30000)))
    weights = np.exp([0, -1]) / np.exp([0, -1]).sum() / 2
    assert found == pytest.approx({"e2e4": 0.5 + weights[0], "d2d4": weights[1]}, abs=1e-4)
    found = shares(board, "e2e4", ("e2e4", Mate(-4)), ("d2d4", Mate(-3)), ("a2a3", Mate(-1)))
    weights = np.exp([0, -1, -3]) / np.exp([0, -1, -3]).sum() / 2
    assert found["e2e4"] == pytest.approx(0.5 + weights[0], abs=1e-4)
    assert found["a2a3"] == pytest.approx(weights[2], abs=1e-4)
    assert shares(board, "e2e4", ("e2e4", Cp(-30000)), ("d2d4", Mate(-9))) == {"e2e4": 1}


@pytest.mark.parametrize("castling", ["e1g1", "e1h1"])
def test_castling_is_one_move_however_it_is_written(castling: str) -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/4K2R w K - 0 1", chess960=castling == "e1h1")
    found = policy_target(board, board.parse_uci("e1g1"), [EngineLine(castling, Cp(3))])
    assert [share for _, share in found] == [65535]


def test_an_illegal_line_is_a_fault_of_the_engine() -> None:
    with pytest.raises(EngineFailed, match="a line begins with illegal uci: 'e1e8'"):
        shares(chess.Board(), "e2e4", ("e2e4", Cp(1)), ("e1e8", Cp(0)))
