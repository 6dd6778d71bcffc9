"""Environments of Gymnasium: one game, or many, against a player of the arena.

An observation is a dictionary: ``observation``, the input planes of the side to move, and
``action_mask``, 1 where an action is legal, and 1 everywhere once the game is over, so that a
softmax over legal actions stays finite. An illegal action loses the game. Without a ``seed`` each
environment plays games of its own.
"""

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.match_game import ending_name
from vecchess.arena.player_protocol import Player
from vecchess.chess.fen import to_board
from vecchess.chess.planes import NUM_PLANES
from vecchess.env.chess_env import CopiedWhole, endings
from vecchess.env.versus import Colour, VersusGames
from vecchess.errors import ConfigError, missing_library
from vecchess.shapes import NUM_ACTIONS

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError:
    raise missing_library("gymnasium", "envs") from None

Observation = dict[str, Any]
Infos = dict[str, Any]


def observation_space(num_planes: int) -> spaces.Dict:
    """The space of one game's observation: planes [P, 8, 8] and the mask of 4,672 actions."""
    return spaces.Dict(
        {
            "observation": spaces.Box(0, 1, (num_planes, 8, 8), np.float32),
            "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
        }
    )


def ending_info(code: int) -> Infos:
    """Info of a game that is over for a reason, or not (0)."""
    return {"termination": ending_name(code)} if code else {}


def _games(
    num_games: int, opponent: str | Player, num_planes: int, settings: dict[str, Any]
) -> VersusGames:
    """Games with the memory of observations and masks, and a seed of chance where none is given."""
    return VersusGames(
        num_games,
        opponent,
        observations=np.zeros((num_games, num_planes, 8, 8), np.float32),
        masks=np.zeros((num_games, NUM_ACTIONS), np.int8),
        **{"seed": secrets.randbits(63), **settings},
    )


def action_number(action: Any) -> int:
    """An action of one game as a number, which has to be whole. Raises ValueError."""
    given = np.asarray(action)
    if given.dtype.kind not in "iu" or given.size != 1:
        raise ValueError(f"an action is a whole number from 0 to {NUM_ACTIONS - 1}, not {action!r}")
    return int(given.item())


def require_render_mode(mode: str | None) -> None:
    """Raise ConfigError for a mode that is not there."""
    if mode not in (None, "ansi"):
        raise ConfigError(f"render_mode {mode!r}: give 'ansi', the board as text, or None")


class ChessGymEnv(CopiedWhole, gymnasium.Env[Observation, np.int64]):
    """One game at a time against a player of the arena, as a ``gymnasium.Env``.

    The reward comes with the last step: 1 for a win, -1 for a loss, 0 for a draw. The cap on plies
    truncates, all other endings terminate; ``info["termination"]`` names them.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012  (as the base class)

    def __init__(
        self,
        opponent: str | Player = "random",
        *,
        colour: Colour = "both",
        num_planes: int = NUM_PLANES,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """``settings``: ``starts``, ``random_plies``, ``max_plies`` and ``seed`` of ``ChessEnv``.

        ``colour`` "both" alternates, White first. Raises ConfigError, see ``VersusGames``.
        """
        require_render_mode(render_mode)
        self._games = _games(1, opponent, num_planes, {"colour": colour, **settings})
        self.observation_space = observation_space(num_planes)
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self.render_mode = render_mode
        self._is_fresh = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Infos]:
        """Begin the next game, or the first one of a new ``seed``. ``options`` has no meaning."""
        super().reset(seed=seed)
        if seed is not None:
            self._games.begin(seed=seed)
        elif not self._is_fresh:
            self._games.begin(np.array([0]))
        self._is_fresh = False
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, Infos]:
        """Make the action and the opponent's reply.

        Raises ValueError for what is no number of an action, ResetNeeded after the end.
        """
        if self._games.is_over[0]:
            raise gymnasium.error.ResetNeeded("the game is over: call reset()")
        step = self._games.step([action_number(action)])
        terminated, truncated = (bool(each[0]) for each in endings(step.codes))
        info = ending_info(int(step.codes[0]))
        return self._observation(), float(step.rewards[0]), terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[4672], true where an action is legal, as libraries for masked policies ask for."""
        masks: NDArray[np.bool_] = self._mask().astype(np.bool_)
        return masks

    def render(self) -> str | None:
        """The board as text, White below, in the mode "ansi"; else None."""
        return str(to_board(self._games.env.positions[0])) if self.render_mode else None

    def close(self) -> None:
        """Close the player."""
        self._games.close()

    def _observation(self) -> Observation:
        return {"observation": self._games.env.observations[0].copy(), "action_mask": self._mask()}

    def _mask(self) -> NDArray[np.int8]:
        """A copy."""
        mask: NDArray[np.int8] = self._games.env.masks[0] | np.int8(self._games.is_over[0])
        return mask


class ChessVectorEnv(CopiedWhole, VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """G games at a time against a player of the arena, as a ``gymnasium.vector.VectorEnv``.

    A game that ends is followed by the next one in the same step (``AutoresetMode.SAME_STEP``);
    ``infos["final_obs"]`` and ``infos["final_info"]["termination"]`` have the old one's last
    observation and the code of its ending, where ``infos["_final_obs"]`` is true.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (as the base class has it)
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": [],
    }

    def __init__(
        self,
        num_envs: int,
        opponent: str | Player = "random",
        *,
        colour: Colour = "both",
        num_planes: int = NUM_PLANES,
        copy: bool = True,
        **settings: Any,
    ) -> None:
        """``settings``: ``starts``, ``random_plies``, ``max_plies``, ``threads`` and ``seed`` of
        ``ChessEnv``. Without ``copy`` observations are memory that the next step writes.

        Raises ConfigError, see ``VersusGames``.
        """
        self._games = _games(num_envs, opponent, num_planes, {"colour": colour, **settings})
        self._copy = copy
        self._is_fresh = True
        self.num_envs = num_envs
        self.single_observation_space = observation_space(num_planes)
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Infos]:
        """Begin the next game of every row, or with a new ``seed`` the first one.

        ``options["reset_mask"]``, bool[G]: the rows that begin their next game; no others do.
        Raises ValueError for a list of seeds, as games differ by their numbers, and a wrong mask.
        """
        if isinstance(seed, list):
            raise ValueError("give one seed for all games: they differ by their numbers")
        super().reset(seed=seed)
        if (options or {}).get("reset_mask") is not None:
            self._games.begin(self._rows_to_reset(options["reset_mask"], seed))  # type: ignore[index]
        elif seed is not None or self._is_fresh:
            self._games.begin(seed=seed)
        else:
            self._games.begin(np.arange(self.num_envs))
        self._is_fresh = False
        return self._observation(), {}

    def _rows_to_reset(self, mask: Any, seed: int | None) -> NDArray[np.int64]:
        given = np.asarray(mask)
        if given.shape != (self.num_envs,) or given.dtype != np.bool_ or seed is not None:
            raise ValueError(f"reset_mask is bool[{self.num_envs}], and goes without a seed")
        return np.flatnonzero(given)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """Make the actions, int[G], and the replies of the opponent."""
        step = self._games.step(actions)
        ended = np.flatnonzero(step.codes)
        infos = self._final_infos(ended, step.codes) if len(ended) else {}
        self._games.begin(ended)
        return self._observation(), step.rewards, *endings(step.codes), infos

    def close_extras(self, **kwargs: Any) -> None:
        """Close the player."""
        self._games.close()

    def _final_infos(self, ended: NDArray[np.int64], codes: NDArray[np.uint8]) -> Infos:
        env, final = self._games.env, np.full(self.num_envs, None, object)
        for row in ended.tolist():
            mask = np.ones(NUM_ACTIONS, np.int8)
            final[row] = {"observation": env.observations[row].copy(), "action_mask": mask}
        is_ended = codes > 0
        final_info = {"termination": codes, "_termination": is_ended}
        return {
            "final_obs": final, "_final_obs": is_ended,
            "final_info": final_info, "_final_info": is_ended,
        }  # fmt: skip

    def _observation(self) -> Observation:
        env = self._games.env
        found = {"observation": env.observations, "action_mask": env.masks}
        return {name: array.copy() for name, array in found.items()} if self._copy else found
