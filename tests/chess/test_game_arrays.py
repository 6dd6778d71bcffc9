import numpy as np
import pytest

from vecchess.arena.match.match_openings import random_openings
from vecchess.chess.chess960 import start_positions
from vecchess.chess.game_arrays import Games
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import uci_to_move
from vecchess.errors import ConfigError


def test_boards_know_mate_and_repetition() -> None:
    boards = Games.at(start_positions(2), 100)
    fools_mate = ["f2f3", "e7e5", "g2g4", "d8h4"]
    to_and_fro = ["g1f3", "g8f6", "f3g1", "f6g8"]
    for ply in range(8):
        wanted = [fools_mate[ply % 4], to_and_fro[ply % 4]]
        games = boards.ongoing
        moves = [uci_to_move(boards.positions[game], wanted[game]) for game in games]
        boards.play(games, np.array(moves, np.uint16))
    assert boards.codes.tolist() == [Termination.CHECKMATE, Termination.THREEFOLD]
    assert boards.plies.tolist() == [4, 8]
    assert boards.repetitions.tolist() == [0, 2]


def test_openings_differ_and_are_not_over() -> None:
    openings = random_openings(50, 6, 3, 40)
    assert len(openings.ongoing) == 50
    assert (openings.plies == 6).all()
    assert len(np.unique(openings.positions, axis=0)) == 50
    with pytest.raises(ConfigError, match="different positions"):
        random_openings(21, 1, 0, 40)
