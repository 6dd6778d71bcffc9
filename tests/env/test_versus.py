"""Games against players of the arena: the player's own moves, replies, colours, endings."""

import chess
import numpy as np
import pytest

from vecchess.arena.match_game import Forfeit
from vecchess.arena.player_protocol import ImmediatePlayer, MoveReplies, MoveRequests
from vecchess.arena.players.simple import GreedyPlayer, RandomPlayer
from vecchess.chess.action import moves_to_actions
from vecchess.chess.fen import from_fens
from vecchess.chess.make import make
from vecchess.chess.position import position_keys
from vecchess.chess.rules import Termination
from vecchess.env.versus import VersusGames
from vecchess.errors import ConfigError, WorkerDied
from vecchess.inference.builtin import ConstantBackend


class Witness(ImmediatePlayer):
    """Plays as another player, and checks what it is told: moves lead from start to position."""

    def __init__(self, player: ImmediatePlayer, max_games: int | None = None) -> None:
        super().__init__("witness")
        self.player, self.max_games, self.asked = player, max_games, 0

    def choose(self, requests: MoveRequests) -> np.ndarray:
        assert self.max_games is None or len(requests) <= self.max_games
        self.asked += len(requests)
        for row in range(len(requests)):
            position = requests.starts[row : row + 1]
            for move in requests.moves[row, : requests.plies[row]]:
                position = make(position, [move])
            assert (position == requests.positions[row]).all()
        clocks = (requests.positions[:, 7] & np.uint64(0xFFFF)).astype(np.int64)
        keys = requests.keys[np.arange(len(requests)), clocks]
        assert (keys == position_keys(requests.positions)).all()
        return self.player.choose(requests)


class Leaver(RandomPlayer):
    """Forfeits until it stays."""

    stays = False

    def replies(self) -> MoveReplies:
        found = super().replies()
        found.forfeits[:] = 0 if self.stays else Forfeit.CRASH
        return found


@pytest.mark.parametrize("max_games", [None, 5])
def test_the_opponent_is_asked_about_the_games_that_are(max_games: int | None) -> None:
    witness = Witness(RandomPlayer(3), max_games)
    games = VersusGames(24, witness, seed=1, starts="chess960", random_plies=3, max_plies=40)
    ended = 0
    for _ in range(60):
        env, plies = games.env, games.env.rows.plies.copy()
        assert (env.colours == env.rows.numbers % 2).all()  # the user is White in even games
        step = games.step(env.random_actions())
        going = step.codes == 0
        assert (env.rows.plies[going] == plies[going] + 2).all()
        games.begin(np.flatnonzero(step.codes))
        ended += int((step.codes > 0).sum())
    assert ended > 20
    assert witness.asked > 24 * 30


def test_both_sides_are_paid() -> None:
    """A greedy opponent mates; the user mates where it can."""
    table = from_fens(
        [
            "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1",  # the user has a mate
            "r5k1/8/8/8/8/8/5PPP/6K1 w - - 0 1",  # the opponent has, after the king steps aside
        ]
    )
    games = VersusGames(40, GreedyPlayer(), "white", starts=table)
    has_mate = games.env.rows.starts == 0
    moves = np.where(has_mate, chess.A1 | chess.A8 << 6, chess.G1 | chess.H1 << 6)
    step = games.step(moves_to_actions(moves))
    assert (step.rewards == np.where(has_mate, 1, -1)).all()
    assert 0 < has_mate.sum() < 40
    assert (step.codes == Termination.CHECKMATE).all()
    again = games.step(games.env.random_actions())
    assert not again.codes.any()
    assert not again.rewards.any()


def test_an_illegal_action_loses() -> None:
    games = VersusGames(3, "greedy")
    before = games.env.positions.copy()
    actions = games.env.random_actions()
    actions[1] = 4671
    step = games.step(actions)
    assert step.codes.tolist() == [0, Forfeit.ILLEGAL_MOVE, 0]
    assert step.rewards.tolist() == [0, -1, 0]
    assert (games.env.positions == before).all(1).tolist() == [False, True, False]
    games.begin(np.array([1]))
    assert not games.is_over.any()
    assert games.env.rows.numbers.tolist() == [0, 4, 2]


def test_a_first_move_that_mates_is_passed_over() -> None:
    table = from_fens(["6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"])
    games = VersusGames(30, GreedyPlayer(), "black", starts=table)
    assert (games.env.rows.starts == 1).all()
    assert games.env.rows.numbers.max() >= 30


def test_games_that_never_reach_the_user_are_refused() -> None:
    with pytest.raises(ConfigError, match="over before the user's first move"):
        VersusGames(1, "random", "black", max_plies=1)


def test_after_an_interrupt_games_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The opponent that was cut off has rows in slots which no step answers any more."""
    games, admit = VersusGames(3, "net:constant", "white"), ConstantBackend.admit
    first = games.player

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ConstantBackend, "admit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        games.step(games.env.random_actions())
    assert not first.is_idle
    monkeypatch.setattr(ConstantBackend, "admit", admit)
    games.begin(seed=1)
    games.step(games.env.random_actions())
    assert games.player is not first
    assert not games.is_over.any()
    games.close()


class InterruptedOnce(ImmediatePlayer):
    """Plays at random; its first call is interrupted."""

    def __init__(self) -> None:
        super().__init__("random")
        self.player, self.is_called = RandomPlayer(), False

    def choose(self, requests: MoveRequests) -> np.ndarray:
        if not self.is_called:
            self.is_called = True
            raise KeyboardInterrupt
        return self.player.choose(requests)


def test_a_game_that_the_user_ends_in_an_interrupted_step_is_told_of() -> None:
    table = from_fens(["6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"])
    games = VersusGames(12, InterruptedOnce(), "white", starts=table)
    is_mate = games.env.rows.starts == 0
    assert 0 < is_mate.sum() < 12
    with pytest.raises(KeyboardInterrupt):
        games.step(moves_to_actions(GreedyPlayer().choose(games._requests(np.arange(12)))))
    told = games.step(games.env.random_actions())
    assert (told.codes[is_mate] == Termination.CHECKMATE).all()
    assert (told.rewards[is_mate] == 1).all()
    assert (games.step(games.env.random_actions()).codes[is_mate] == 0).all()


def test_a_game_that_an_owed_reply_ends_is_told_of() -> None:
    games = VersusGames(3, InterruptedOnce(), "white", max_plies=2)
    with pytest.raises(KeyboardInterrupt):
        games.step(games.env.random_actions())
    assert (games.step(games.env.random_actions()).codes == Termination.PLY_CAP).all()
    games.begin(np.arange(3))
    assert (games._codes == 0).all()
    assert not games.is_over.any()


@pytest.mark.parametrize("max_games", [None, 2])
def test_after_a_forfeit_the_opponent_is_asked_again(max_games: int | None) -> None:
    leaver = Leaver()
    leaver.max_games = max_games
    games = VersusGames(3, leaver, "white")
    for _ in range(2):
        with pytest.raises(WorkerDied, match="player random forfeits a game: crash"):
            games.step(games.env.random_actions())
        assert (games.env.rows.plies == 1).all()
    leaver.stays = True
    told = games.step([4671] * 3)  # no move: the owed replies alone are made
    assert (games.env.rows.plies == 2).all()
    assert (told.codes == Forfeit.ILLEGAL_MOVE).all()
    assert (told.rewards == -1).all()


@pytest.mark.stockfish
def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="colour 'White': give 'both'"):
        VersusGames(2, "random", "White")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no player 'nobody'"):
        VersusGames(2, "nobody")
    with pytest.raises(ConfigError, match="a clock plays one game at a time"):
        VersusGames(2, "uci:stockfish?tc=10")
    games = VersusGames(2, Leaver(), "white")
    with pytest.raises(WorkerDied, match="player random forfeits a game: crash"):
        games.step(games.env.random_actions())
