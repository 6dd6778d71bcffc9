"""Games of the user's side against a player of the arena, many at a time."""

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.arena.match_game import Forfeit, ending_name
from vecchess.arena.player_protocol import MoveReplies, MoveRequests, Player, choose_moves
from vecchess.arena.players.player_registry import PlayerResources, open_player
from vecchess.arena.players.uci_player import UciPlayer
from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.env.chess_env import STAY, ChessEnv, EnvStep, whole_numbers, writable
from vecchess.errors import ConfigError, WorkerDied
from vecchess.rng import random_word
from vecchess.shapes import POSITION_WORDS

MOST_BEGUN = 1000
Colour = Literal["both", "white", "black"]
"""The user's colour. ``"both"``: White in games of even numbers, Black in the others."""


class VersusGames:
    """G games against one player; the user's side is to move in all that are not over.

    env: the ``ChessEnv`` with the games. is_over: bool[G]. A game that is over stays until it is
    begun anew. An illegal action loses the game.
    """

    def __init__(
        self,
        num_games: int,
        opponent: str | Player,
        colour: Colour = "both",
        seed: int = 0,
        **settings: Any,
    ) -> None:
        """``opponent``: a player, or its spec (``players.player_registry``); one opened from
        a spec is closed by ``close``. ``settings``: of ``ChessEnv``.

        Raises ConfigError and ValueError, see ``ChessEnv`` and ``open_player``; ConfigError too for
        another colour, and for an engine with a clock where there are several games.
        """
        if colour not in get_args(Colour):
            raise ConfigError(f"colour {colour!r}: give 'both', 'white' or 'black'")
        self.env = ChessEnv(num_games, seed=seed, auto_reset=False, keep_past=True, **settings)
        self.colour = colour
        self._spec = opponent if isinstance(opponent, str) else None
        self._is_cut_off = False
        self.player: Player = self._open(num_games) if isinstance(opponent, str) else opponent
        self.is_over = np.zeros(num_games, np.bool_)
        self._rewards, self._codes = _nothing(num_games)
        """What happened since ``step`` last returned: more than nothing after an interrupt."""
        self._begun = np.zeros((num_games, POSITION_WORDS), np.uint64)
        self._plies = np.zeros(num_games, np.int32)
        self._moves = np.zeros((num_games, self.env.max_plies), np.uint16)
        self.begin()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on from where the original was, in memory that can be written."""
        self.__dict__.update({name: writable(value) for name, value in state.items()})

    def _open(self, num_games: int) -> Player:
        """The player that the spec names."""
        assert self._spec is not None
        player = open_player(self._spec, 0, PlayerResources(max_games=num_games))
        if isinstance(player, UciPlayer) and (player.max_games or num_games) < num_games:
            player.close()
            raise ConfigError(f"{self._spec}: an engine with a clock plays one game at a time here")
        return player

    def close(self) -> None:
        """Close the player, where it was opened here."""
        if self._spec is not None:
            self.player.close()

    def begin(self, rows: NDArray[np.int64] | None = None, seed: int | None = None) -> None:
        """Begin games: the first of every row, or the next in each of ``rows``, int[K].

        Where the opponent is White it moves; a game that its first move ends is passed over.
        """
        self.env.reset(rows, seed=seed)
        begun = np.arange(self.env.num_games) if rows is None else rows
        for _ in range(MOST_BEGUN):
            if not len(begun):
                return
            self._begun[begun] = self.env.positions[begun]
            self._plies[begun], self.is_over[begun] = 0, False
            self._rewards[begun], self._codes[begun] = 0, 0
            self._reply(begun[~self._is_users_turn(begun)])
            begun = begun[self.env.is_over[begun]]
            if len(begun):
                self.env.reset(begun)
        raise ConfigError(f"{MOST_BEGUN} games in a row were over before the user's first move")

    def step(self, actions: ArrayLike) -> EnvStep:
        """Make the user's action in every game, int[G], and the opponent's reply.

        Rewards are those of the user's side: 1 won, -1 lost, 0 else; a code may be
        ``Forfeit.ILLEGAL_MOVE``. Actions in games that are over are ignored. Raises ValueError for
        another shape or type, WorkerDied where the opponent forfeits: the next step asks it again
        first. What a step that was interrupted, or raised that, has found is part of the next one.
        """
        if self._is_cut_off:  # a call before ended without the opponent's replies
            owed = ~self.is_over & ~self._is_users_turn(np.arange(self.env.num_games))
            self._count(self._reply(np.flatnonzero(owed)), -1)
        chosen = whole_numbers(actions, self.env.num_games)
        is_legal, was_over = self.env.is_legal(chosen), self.is_over.copy()
        moved = self._move(np.where(is_legal & ~was_over, chosen, STAY))
        is_illegal = ~is_legal & ~was_over
        moved.rewards[is_illegal], moved.codes[is_illegal] = -1, Forfeit.ILLEGAL_MOVE
        self._count(moved, 1)
        self._count(self._reply(np.flatnonzero(~self.is_over)), -1)
        found = EnvStep(self._rewards, self._codes)
        self._rewards, self._codes = _nothing(self.env.num_games)
        return found

    def _count(self, step: EnvStep, sign: int) -> None:
        """Add what a step gave to what the user is to be told; ``sign``: 1 of the user's moves, -1
        of the opponent's."""
        self._rewards += sign * step.rewards
        self._codes |= step.codes
        self.is_over |= step.codes > 0

    def _is_users_turn(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[K]"""
        black = {"white": 0, "black": 1}.get(self.colour, self.env.rows.numbers[rows] % 2)
        is_turn: NDArray[np.bool_] = self.env.colours[rows] == black
        return is_turn

    def _move(self, actions: NDArray[np.int64]) -> EnvStep:
        """Make legal actions; rewards are those of the side that moves."""
        rows = np.flatnonzero(actions != STAY)
        moves = actions_to_moves(self.env.positions[rows], actions[rows])
        self._moves[rows, self._plies[rows]] = moves
        self._plies[rows] += 1
        return self.env.step(actions)

    def _reply(self, rows: NDArray[np.int64]) -> EnvStep:
        """Let the opponent move in the games of ``rows``, int[K]."""
        actions = np.full(self.env.num_games, STAY, np.int64)
        most = self.player.max_games or max(len(rows), 1)
        for first in range(0, len(rows), most):
            part = rows[first : first + most]
            actions[part] = moves_to_actions(self._choose(part).moves)
        return self._move(actions)

    def _choose(self, rows: NDArray[np.int64]) -> MoveReplies:
        """The opponent's moves in the games of ``rows``, int[K]. After a call that was interrupted,
        or a forfeit, it is opened anew: it may still owe replies to that."""
        if self._is_cut_off and self._spec is not None:
            self.player.close()
            self.player = self._open(self.env.num_games)
        self._is_cut_off = True
        replies = choose_moves(self.player, self._requests(rows))
        self._check(replies)
        self._is_cut_off = False
        return replies

    @property
    def _first_number(self) -> int:
        """The opponent's number of game 0: it draws by number, and so by the newest seed."""
        return random_word(self.env.seed, 0, 0) >> 24 if self.env.seed else 0

    def _requests(self, rows: NDArray[np.int64]) -> MoveRequests:
        """The opponent's games in ``rows``, int[K]; their slots are 0 to K - 1."""
        boards = self.env.rows._replace(begun=self._begun, plies=self._plies, moves=self._moves)
        requests = MoveRequests.of(boards, rows, boards.numbers[rows] + self._first_number)
        return replace(requests, slots=np.arange(len(rows)))

    def _check(self, replies: MoveReplies) -> None:
        """Raise WorkerDied where the opponent forfeits a game."""
        forfeits = replies.forfeits[replies.forfeits > 0]
        if len(forfeits):
            reason = ending_name(int(forfeits[0])).replace("_", " ")
            raise WorkerDied(f"player {self.player.name} forfeits a game: {reason}")


def _nothing(num_games: int) -> EnvStep:
    return EnvStep(np.zeros(num_games, np.float32), np.zeros(num_games, np.uint8))
