"""A functional face, as pgx has it: a state goes in, the next one comes out, and none changes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.game_arrays import Games
from vecchess.chess.planes import NUM_PLANES
from vecchess.env.chess_env import ChessEnv, CopiedWhole, Starts, endings

MOST_ENVS = 4
"""Environments kept, of some 12 kB a game: a loop that drops games has many numbers of them."""


class EnvState(NamedTuple):
    """G games at one time, in arrays that no later step writes.

    current_player: int8[G] the side to move, 0 White, 1 Black. observation: float32[G, P, 8, 8],
    its view. legal_action_mask: bool[G, 4672], all true where the game is over, as in
    pgx, so that a softmax over legal actions stays finite. rewards:
    float32[G, 2] of White and Black, from the last step. terminated: bool[G] over by the rules,
    truncated: bool[G] by the cap on plies. rows: the games themselves.
    """

    current_player: NDArray[np.int8]
    observation: NDArray[np.float32]
    legal_action_mask: NDArray[np.bool_]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    rows: Games


class FunctionalEnv(CopiedWhole):
    """``init(keys)`` begins games, ``step(state, actions)`` moves in them. Not thread-safe.

    What a call gives depends on its arguments and the settings alone.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        starts: Starts = "standard",
        random_plies: int = 0,
        max_plies: int = 512,
        num_planes: int = NUM_PLANES,
        threads: int = 1,
    ) -> None:
        """Settings are those of ``ChessEnv``; states of any number of games can be mixed."""
        self._settings: dict[str, Any] = {
            "seed": seed, "starts": starts, "random_plies": random_plies, "max_plies": max_plies,
            "num_planes": num_planes, "threads": threads,
        }  # fmt: skip
        self._envs: dict[int, ChessEnv] = {}
        """Environments by their number of games, the one used last at the end."""

    def init(self, keys: ArrayLike) -> EnvState:
        """Begin the games with these numbers, int[G] from 0 on; they choose openings."""
        numbers = np.array(keys, np.int64, ndmin=1)
        env = self._env(len(numbers))
        env.reset(numbers=numbers)
        return _state(env, np.zeros((len(numbers), 2), np.float32))

    def step(self, state: EnvState, actions: ArrayLike) -> EnvState:
        """Make an action in each game, int[G]; a game that is over stays, with rewards of 0.

        Raises ValueError for an illegal action, see ``ChessEnv.step``.
        """
        env = self._env(len(state.terminated))
        env.restore(state.rows)
        movers = state.current_player.astype(np.int64)
        step = env.step(actions)
        rewards = np.empty((env.num_games, 2), np.float32)
        games = np.arange(env.num_games)
        rewards[games, movers], rewards[games, 1 - movers] = step.rewards, -step.rewards
        return _state(env, rewards)

    def _env(self, num_games: int) -> ChessEnv:
        """The environment of so many games; its games are the last call's."""
        env = self._envs.pop(num_games, None) or ChessEnv(
            num_games, auto_reset=False, observations="planes", masks=True, **self._settings
        )
        self._envs[num_games] = env
        for old in list(self._envs)[:-MOST_ENVS]:
            del self._envs[old]
        return env


def _state(env: ChessEnv, rewards: NDArray[np.float32]) -> EnvState:
    terminated, truncated = endings(env.rows.codes)
    return EnvState(
        current_player=env.colours.astype(np.int8),
        observation=env.observations.copy(),
        legal_action_mask=env.masks | env.is_over[:, None],
        rewards=rewards,
        terminated=terminated,
        truncated=truncated,
        rows=env.snapshot(),
    )
