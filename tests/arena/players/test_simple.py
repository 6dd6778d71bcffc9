"""The player that counts men a few plies ahead."""

import numpy as np
import pytest

from vecchess.arena.match.play_match import play_match
from vecchess.arena.player_protocol import ImmediatePlayer, MoveRequests
from vecchess.arena.players.simple import GreedyPlayer, MinimaxPlayer, RandomPlayer
from vecchess.chess.fen import from_fens
from vecchess.chess.game_arrays import Games
from vecchess.chess.sample import random_positions
from vecchess.chess.uci_moves import move_to_uci
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError


def choose(player: ImmediatePlayer, positions: np.ndarray, first: int = 0) -> np.ndarray:
    """What it plays in games that are numbered from ``first``."""
    boards, slots = Games.at(positions, 100), np.arange(len(positions))
    return player.choose(MoveRequests.of(boards, slots, slots + first))


def test_one_ply_is_greedy() -> None:
    positions = random_positions(400, 1)
    assert (choose(MinimaxPlayer(1), positions) == choose(GreedyPlayer(), positions)).mean() > 0.99


def played(player: ImmediatePlayer, fen: str) -> str:
    positions = from_fens([fen])
    return move_to_uci(positions[0], int(choose(player, positions)[0]))


def test_one_ply_does_not_give_stalemate_where_greedy_does() -> None:
    fen = "7k/8/6p1/8/8/8/K7/6Q1 w - - 0 1"
    assert played(GreedyPlayer(), fen) == "g1g6"
    assert played(MinimaxPlayer(1), fen) != "g1g6"


def test_two_plies_leave_alone_what_is_guarded() -> None:
    fen = "4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1"
    assert played(MinimaxPlayer(1), fen) == "d1d5"
    assert played(MinimaxPlayer(2), fen) != "d1d5"


def test_moves_that_are_alike_are_drawn_by_game_and_seed() -> None:
    start = np.repeat(
        from_fens(["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"]), 99, 0
    )
    one, again = (choose(MinimaxPlayer(2, seed=3), start) for _ in range(2))
    assert np.array_equal(one, again)
    assert len(np.unique(one)) > 15
    assert not np.array_equal(one, choose(MinimaxPlayer(2, seed=4), start))
    assert np.array_equal(one[5:9], choose(MinimaxPlayer(2, seed=3), start[5:9], first=5))


def test_more_plies_are_stronger() -> None:
    settings = MatchConfig(games=40, random_plies=6)
    assert play_match(MinimaxPlayer(2), GreedyPlayer(), settings).score.interval[0] > 0.6
    assert play_match(MinimaxPlayer(1), RandomPlayer(), settings).score.interval[0] > 0.6


def test_spelling() -> None:
    player = MinimaxPlayer.parse("minimax:3", seed=5)
    assert (player.depth, player.seed, player.name) == (3, 5, "minimax:3")


@pytest.mark.parametrize("text", ["minimax:", "minimax:0", "minimax:7", "minimax:two", "minimax:²"])
def test_what_is_no_depth(text: str) -> None:
    with pytest.raises(ConfigError, match="plies from 1 to 6"):
        MinimaxPlayer.parse(text)
