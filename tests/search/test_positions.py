"""The test positions match the claims of their files, by the rules alone."""

from collections import Counter

import chess
import pytest

from tests.search.board_facts import (
    can_stay_ahead,
    material,
    mating_moves,
    mating_moves_in_two,
    repeating_moves,
    stalemating_moves,
)
from tests.search.epd import FOLDER, epd_line, read_epd

LEAST = {
    "mate_in_1": 200,
    "mate_in_2": 100,
    "stalemate_traps": 30,
    "repetition_traps": 20,
    "repetition_saves": 10,
}
WITH_HISTORY = ("repetition_traps", "repetition_saves")
FAR_AHEAD = 5


@pytest.mark.parametrize("name", LEAST)
def test_there_are_enough_and_none_twice(name: str) -> None:
    entries = read_epd(name)
    assert len(entries) >= LEAST[name]
    assert len({operations["id"] for _, operations in entries}) == len(entries)
    # A position and its mirror image, colours exchanged, are the same to a search.
    either_way = {min(board.epd(), board.mirror().epd()) for board, _ in entries}
    assert len(either_way) == len(entries)
    turns = Counter(board.turn for board, _ in entries)
    assert min(turns[chess.WHITE], turns[chess.BLACK]) >= len(entries) // 3


@pytest.mark.parametrize("name", LEAST)
def test_games_are_going_on_and_lines_read_back(name: str) -> None:
    lines = []
    for board, operations in read_epd(name):
        assert board.is_valid()
        assert not board.is_game_over()
        assert bool(board.move_stack) == (name in WITH_HISTORY)
        lines.append(epd_line(board, **operations))
    assert lines == (FOLDER / f"{name}.epd").read_text().splitlines()


def test_mates_in_1() -> None:
    for board, operations in read_epd("mate_in_1"):
        assert operations["dm"] == 1
        assert set(operations["bm"]) == set(mating_moves(board)) != set(), operations["id"]


@pytest.mark.slow
def test_mates_in_2_are_forced_and_not_faster() -> None:
    for board, operations in read_epd("mate_in_2"):
        assert operations["dm"] == 2
        assert not mating_moves(board), operations["id"]
        assert set(operations["bm"]) == set(mating_moves_in_two(board)) != set(), operations["id"]


@pytest.mark.parametrize("name", ["mate_in_1", "mate_in_2"])
def test_mates_are_of_all_phases(name: str) -> None:
    men = [chess.popcount(board.occupied) for board, _ in read_epd(name)]
    assert sum(num < 8 for num in men) <= len(men) / 3
    assert sum(num >= 20 for num in men) >= len(men) / 3


def test_stalemate_traps() -> None:
    for board, operations in read_epd("stalemate_traps"):
        assert set(operations["am"]) == set(stalemating_moves(board)) != set(), operations["id"]
        _assert_ahead_without(board, operations["am"], operations["id"])


def test_repetition_traps() -> None:
    for board, operations in read_epd("repetition_traps"):
        _assert_undecided_before(board, operations["id"])
        assert set(operations["am"]) == set(repeating_moves(board)) != set(), operations["id"]
        _assert_ahead_without(board, operations["am"], operations["id"])


def test_repetition_saves() -> None:
    for board, operations in read_epd("repetition_saves"):
        _assert_undecided_before(board, operations["id"])
        assert set(operations["bm"]) == set(repeating_moves(board)) != set(), operations["id"]
        assert material(board) <= -FAR_AHEAD, operations["id"]
        assert not mating_moves(board), operations["id"]
        assert not mating_moves_in_two(board), operations["id"]
        assert board.legal_moves.count() > len(operations["bm"]), "no choice"


def _assert_ahead_without(board: chess.Board, moves: list[chess.Move], label: str) -> None:
    """Far ahead, with no mate at once, and able to stay so after any reply."""
    assert material(board) >= FAR_AHEAD, label
    assert not mating_moves(board), label
    assert can_stay_ahead(board, FAR_AHEAD, moves), label


def _assert_undecided_before(board: chess.Board, label: str) -> None:
    earlier = board.copy()
    while earlier.move_stack:
        assert not earlier.is_repetition(3), label
        earlier.pop()
