"""What was thought of positions, in the comments that python-chess reads."""

import io
import math
import re

import chess
import chess.pgn
import numpy as np
import pytest

from tests.export.made import from_others, games_of, played, searched
from vecchess.export.game_source import RecordedGame
from vecchess.export.pgn_export import LICHESS_SLOPE, MOST_BALANCE, centipawns, write_pgn
from vecchess.store.records import VALUE_UNIT


def read_back(games: list[RecordedGame], comments: bool = True) -> list[chess.pgn.Game]:
    text = io.StringIO()
    assert write_pgn(games, text, comments) == len(games)
    text.seek(0)
    found = []
    while (game := chess.pgn.read_game(text)) is not None:
        assert not game.errors
        found.append(game)
    assert all(len(line) <= 80 for line in text.getvalue().splitlines() if line[:1] != "[")
    return found


def nodes_of(game: chess.pgn.Game) -> list[chess.pgn.GameNode]:
    """Those before each ply, and the last position."""
    return [game, *game.mainline()]


def noted(node: chess.pgn.GameNode, name: str) -> list[int]:
    found = re.search(rf"\[%{name} ([\d ]+)\]", node.comment)
    return [int(word) for word in found[1].split()] if found else []


@pytest.mark.parametrize("make", [played, searched])
@pytest.mark.parametrize("chess960", [False, True])
def test_every_judgement_comes_back(make, chess960) -> None:
    games = games_of(make(chess960), chess960)
    for game, read in zip(games, read_back(games), strict=True):
        nodes = nodes_of(read)
        assert len(nodes) == game.num_plies + 1
        assert nodes[-1].comment == ""
        for ply, node in enumerate(nodes[:-1]):
            require_same(game, ply, node)


def require_same(game: RecordedGame, ply: int, node: chess.pgn.GameNode) -> None:
    assert bool(node.comment) == game.evaluated[ply]
    if not node.comment:
        return
    win, draw, visits, steps, thought = (
        int(game.column(name)[ply]) for name in ("win", "draw", "visits", "steps", "thought")
    )
    shown = noted(node, "wdl")
    assert sum(shown) == 1000
    assert [round(part * VALUE_UNIT / 1000) for part in shown[:2]] == [win, draw]
    assert noted(node, "visits") == ([visits] if visits else [])
    assert noted(node, "steps") == [thought if visits else steps]
    evaluation = node.eval()
    assert evaluation is not None
    cp = evaluation.pov(node.turn()).score()
    assert cp is not None
    expected = 50 + 50 * (2 / (1 + math.exp(-0.00368208 * cp)) - 1)
    assert abs(expected - 100 * (win + draw / 2) / VALUE_UNIT) < 0.1


def test_without_comments_there_are_none() -> None:
    games = games_of(searched())
    for read in read_back(games, comments=False):
        assert not any(node.comment for node in nodes_of(read))


def test_games_of_others_have_no_comments_and_no_seed() -> None:
    e2e4 = 12 | 28 << 6
    records = from_others([chess.STARTING_FEN], [[e2e4, e2e4]])
    game = next(iter(games_of(records)))
    (read,) = read_back([RecordedGame(game.records, game.replayed, 0, None, False)])
    assert [node.comment for node in nodes_of(read)] == [""] * 3
    assert "Seed" not in read.headers
    assert read.headers["White"] == "pgn"
    assert [move.uci() for move in read.mainline_moves()] == ["e2e4", "e7e5"]


def test_pawns_are_those_of_lichess() -> None:
    assert centipawns(0.0) == 0
    assert [centipawns(side * 1.0) for side in (1, -1)] == [2070, -2070]
    for balance in np.linspace(-MOST_BALANCE, MOST_BALANCE, 101):
        exact = math.log((1 + balance) / (1 - balance)) / LICHESS_SLOPE
        assert abs(centipawns(balance) - exact) <= 0.5 + 1e-6
