"""Won endings: the positions, the defence, and what is counted."""

from dataclasses import replace

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.arena.match.game_scheduler import GameScheduler
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import ImmediatePlayer, MoveRequests
from vecchess.chess.fen import to_fens
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.rules import Termination
from vecchess.suites.endgame_table import NEVER
from vecchess.suites.endings import (
    EACH,
    ENDINGS,
    EndingSuite,
    LongestDefence,
    moves_to_mate,
    won_positions,
)


class PerfectPlayer(ImmediatePlayer):
    """Mates as fast as the table does."""

    def choose(self, requests: MoveRequests) -> NDArray[np.uint16]:
        moves, counts = legal_moves(requests.positions)
        chosen = []
        for row, count in enumerate(counts.tolist()):
            children = make(requests.positions[[row] * count], moves[row, :count])
            worst = [self._worst(child) for child in children]
            chosen.append(moves[row, int(np.argmin(worst))])
        return np.array(chosen, np.uint16)

    def _worst(self, child: NDArray[np.uint64]) -> int:
        moves, (count,) = legal_moves(child[None])
        if not count:
            return -1 if chess.Board(to_fens(child[None])[0]).is_check() else NEVER
        return int(moves_to_mate(make(child[None].repeat(count, axis=0), moves[0, :count])).max())


def play(suite: EndingSuite) -> list[MatchGame]:
    players = PerfectPlayer("perfect"), LongestDefence()
    scheduler = GameScheduler(players, suite.games, range(0, 2 * suite.games.num_games, 2), 64)
    try:
        games = [game for ended in scheduler.games() for game in ended]
    finally:
        scheduler.close()
    return sorted(games, key=lambda game: game.number)


@pytest.mark.thorough
def test_perfect_play_takes_as_long_as_the_table_says() -> None:
    suite = EndingSuite(limit=2)
    games = play(suite)
    assert all(map(suite.is_hit, games))
    figures = suite.figures(games)
    assert (figures["moves"].values == figures["shortest"].values).all()
    assert suite.groups == [name for name in ENDINGS for _ in range(2)]


@pytest.mark.parametrize("men", ENDINGS.values())
def test_positions_are_won_all_different_and_always_the_same(men: str) -> None:
    positions = won_positions(men, EACH)
    assert len(np.unique(positions, axis=0)) == EACH
    assert (moves_to_mate(positions) < NEVER).all()
    assert all(chess.Board(fen).is_valid() for fen in to_fens(positions))
    assert (won_positions(men, 3) == positions[:3]).all()


def test_the_suite_keeps_its_positions() -> None:
    digest = "7e3249e10829d011890c21fe9ab8dbb93df09d0234250e6b8c60130fc1d13a00"
    assert EndingSuite().facts["sha256"] == digest


def test_only_mates_are_hits() -> None:
    suite = EndingSuite(limit=1)
    game = play(suite)[0]
    ends = [Termination.CHECKMATE, Termination.STALEMATE, Termination.PLY_CAP]
    assert [suite.is_hit(replace(game, ending=end)) for end in ends] == [True, False, False]
    assert suite.games.moves.shape[1] == 100
