"""lc0's order of moves, by rule, against what lc0 publishes."""

import hashlib

import chess
import numpy as np
import pytest

from tests.export.lc0_reader import NUM_MOVES
from vecchess.chess.movegen import legal_moves
from vecchess.chess.sample import random_positions
from vecchess.lc0.lc0_moves import NO_INDEX, lc0_moves, move_indices

PUBLISHED = "c4c47aca96e213995c772d1aab24498e3ad9c91209d3467889f20fa1a10678dd"
"""sha256 of the 1858 strings of kMoveStrs in lc0's src/neural/encoder.cc (commit 909a408), with
spaces between."""


def test_the_order_is_the_published_one() -> None:
    written = [move.uci() for move in lc0_moves()]
    assert len(written) == NUM_MOVES
    # lc0 writes no letter for a knight, nor do we
    assert hashlib.sha256(" ".join(written).encode()).hexdigest() == PUBLISHED


@pytest.mark.parametrize(
    ("uci", "index"),
    [("a1b1", 0), ("e1a1", 97), ("e1h1", 103), ("g1f3", 159), ("d2d4", 293), ("e2e4", 322),
     ("a7a8", 1401), ("h8g8", 1791), ("a7a8q", 1792), ("h7h8b", 1857)],
)  # fmt: skip
def test_known_places(uci: str, index: int) -> None:
    assert lc0_moves()[index] == chess.Move.from_uci(uci)


def test_every_move_there_can_be_has_its_own_place() -> None:
    indices = move_indices()
    positions = random_positions(2000, 1)
    moves, num_moves = legal_moves(positions)
    for row, count in zip(moves, num_moves, strict=True):
        found = indices[row[:count]]
        assert found.min() > NO_INDEX
        assert len(np.unique(found)) == count
    knight = 48 | 56 << 6 | 1 << 12
    assert indices[knight] == indices[knight & 0xFFF] == 1401
