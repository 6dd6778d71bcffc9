"""Games that end because nobody doubts how they will."""

from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.arena.match.play_match import play_match
from vecchess.arena.player_protocol import MoveReplies, MoveRequests
from vecchess.arena.players.simple import RandomPlayer
from vecchess.chess.fen import to_board
from vecchess.chess.pgn import start_board, to_pgn
from vecchess.chess.position import Positions
from vecchess.config import Adjudication, MatchConfig
from vecchess.errors import ConfigError


class Sure(RandomPlayer):
    """Plays anything, and expects the same score all the time."""

    def __init__(self, seed: int, value: float, from_ply: int = 0) -> None:
        super().__init__(seed)
        self._value, self._from_ply, self._plies = value, from_ply, {}

    def ask(self, turns: MoveRequests) -> None:
        self._plies |= dict(zip(turns.slots.tolist(), turns.plies.tolist(), strict=True))
        super().ask(turns)

    def replies(self) -> MoveReplies:
        found = super().replies()
        for place, lane in enumerate(found.slots.tolist()):
            if self._plies[lane] >= self._from_ply:
                found.values[place] = self._value
        return found


def endings(first: RandomPlayer, second: RandomPlayer, **rules: Any) -> tuple[dict[str, int], Any]:
    settings = MatchConfig(games=8, random_plies=4, adjudication=Adjudication(**rules))
    result = play_match(first, second, settings)
    return result.counter.facts()["terminations"], result


def test_who_expects_to_lose_has_lost_after_some_turns() -> None:
    hopeless, hopeful = Sure(1, 0.01, from_ply=8), Sure(2, 0.99)
    why, result = endings(hopeless, hopeful, resign_below=0.05, resign_turns=3)
    assert why == {"resignation": 8}
    assert result.score.losses == 8
    lengths = sorted(len(game.moves) for game in result.counter.games)
    assert lengths == [13] * 4 + [14] * 4  # the third own move from ply 8 on, first or second


def test_nobody_is_taken_to_resign_by_default() -> None:
    why, _ = endings(Sure(1, 0.0), Sure(2, 1.0))
    assert "resignation" not in why


def test_draws_need_both_sides_to_agree() -> None:
    rules = {"adjudicate_draw_within": 0.1, "adjudicate_draw_plies": 10}
    why, result = endings(Sure(1, 0.52), Sure(2, 0.5), **rules)
    assert why == {"adjudication": 8}
    assert result.score.draws == 8
    assert {len(game.moves) for game in result.counter.games} == {14}
    why, _ = endings(Sure(1, 0.5), Sure(2, 0.9), **rules)
    assert "adjudication" not in why
    why, _ = endings(Sure(1, 0.5), RandomPlayer(2), **rules)
    assert "adjudication" not in why


def test_tablebases_that_are_not_there(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match="no tables"):
        endings(RandomPlayer(), RandomPlayer(), syzygy=tmp_path)


class MoreMen:
    """Stands for tables of positions with few men: whoever has more to capture with has won."""

    most_men = 30

    def __init__(self, folder: Path) -> None:
        pass

    def outcomes(self, positions: Positions) -> NDArray[np.int64]:
        boards = [to_board(row) for row in positions]
        assert all(len(board.piece_map()) <= self.most_men for board in boards)
        assert not any(board.castling_rights or board.halfmove_clock for board in boards)
        return np.array([np.sign(more_men(board)) for board in boards], np.int64)


def more_men(board: chess.Board) -> int:
    """How many men more than the other the mover has."""
    return sum(1 if man.color == board.turn else -1 for man in board.piece_map().values())


def test_tablebases_end_games_they_know(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("vecchess.arena.match.adjudication.Tablebase", MoreMen)
    why, result = endings(RandomPlayer(1), RandomPlayer(2), syzygy=tmp_path)
    assert why == {"tablebase": 8}
    points = set()
    for game in result.counter.games:
        board = to_pgn({}, start_board(game.start), game.moves).end().board()
        sign = more_men(board) if board.turn else -more_men(board)
        assert game.white_points == (1 + np.sign(sign)) / 2
        points.add(game.white_points)
    assert len(points) > 1


def test_values_are_kept_with_the_games() -> None:
    _, result = endings(Sure(1, 0.25), RandomPlayer(2))
    game = result.counter.games[0]
    assert (game.values[4::2] == np.float32(0.25)).all()
    assert np.isnan(game.values[:4]).all()
    assert np.isnan(game.values[5::2]).all()
