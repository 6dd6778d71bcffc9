"""Environments of PettingZoo: one game, an agent on each side. ``player_0`` has White.

An observation is a dictionary: ``observation``, the input planes from the agent's own view, and
``action_mask``, 1 where an action is legal: all zeros for the agent that is not to move. An illegal
action loses the game.
"""

import secrets
from typing import Any, ClassVar

import numpy as np

from vecchess.arena.match_game import Forfeit
from vecchess.chess.fen import to_board
from vecchess.chess.planes import NUM_PLANES, encode_planes, history_of, reads_moves
from vecchess.chess.position import (
    CASTLING,
    COLOUR_SHIFT,
    COUNTERS,
    KINGS,
    OWN,
    PAWNS,
    RANK_1,
    RANK_8,
    Positions,
)  # fmt: skip
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.env.chess_env import ChessEnv, CopiedWhole, endings
from vecchess.env.gymnasium_adapter import (
    Infos,
    Observation,
    action_number,
    ending_info,
    observation_space,
    require_render_mode,
)
from vecchess.errors import ConfigError, missing_library
from vecchess.shapes import NUM_ACTIONS

try:
    from gymnasium import spaces
    from pettingzoo import AECEnv, ParallelEnv
except ModuleNotFoundError:
    raise missing_library("pettingzoo", "envs") from None

AGENTS = ("player_0", "player_1")
"""White, Black."""
METADATA = {"name": "vecchess_v0", "render_modes": ["ansi"]}


class _OneGame(CopiedWhole):
    """One game, its spaces, and what each side sees and gets."""

    def __init__(
        self, *, num_planes: int = NUM_PLANES, render_mode: str | None = None, **settings: Any
    ) -> None:
        """``settings``: ``starts``, ``random_plies``, ``max_plies`` and ``seed`` of ``ChessEnv``.

        Raises ConfigError for planes of earlier positions, and as ``ChessEnv``.
        """
        super().__init__()
        require_render_mode(render_mode)
        if reads_moves(num_planes) or history_of(num_planes) > 1:
            raise ConfigError("agents of PettingZoo see the position alone: num_planes 25 or 36")
        own = {"seed": secrets.randbits(63), **settings}
        self._env = ChessEnv(1, auto_reset=False, masks=True, **own)
        self._num_planes = num_planes
        self.observation_spaces = {name: observation_space(num_planes) for name in AGENTS}
        self.action_spaces = {name: spaces.Discrete(NUM_ACTIONS) for name in AGENTS}
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.render_mode = render_mode
        self._is_fresh = True

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of ``agent``, one object for every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of ``agent``, one object for every call."""
        return self.action_spaces[agent]

    def render(self) -> str | None:
        """The board as text, White below, in the mode "ansi"; else None."""
        return str(to_board(self._env.positions[0])) if self.render_mode else None

    def close(self) -> None:
        """Does nothing: no file or process is open."""

    @property
    def _mover(self) -> str:
        """The agent whose side is to move."""
        return AGENTS[int(self._env.colours[0])]

    def _begin(self, seed: int | None) -> None:
        """Begin the next game, or the first one of a new seed."""
        if seed is not None or not self._is_fresh:
            self._env.reset(None if seed is not None else [0], seed=seed)
        self._is_fresh = False
        self.agents = list(AGENTS)

    def _observation(self, agent: str) -> Observation:
        """What an agent sees: the side that is not to move as if it were."""
        is_mover, positions = agent == self._mover, self._env.positions
        seen = positions if is_mover else _turned(positions)
        planes = encode_planes(seen, self._env.rows.repetitions, num_planes=self._num_planes)
        mask = self._env.masks[0].astype(np.int8)
        return {
            "observation": unpack_planes(planes)[0],
            "action_mask": mask if is_mover else np.zeros_like(mask),
        }

    def _play(self, action: int) -> tuple[dict[str, float], int]:
        """Make the mover's action: the rewards of both, and why the game is over, or 0."""
        mover = self._mover
        other = AGENTS[1 - AGENTS.index(mover)]
        if not self._env.is_legal([action])[0]:
            return {mover: -1.0, other: 1.0}, int(Forfeit.ILLEGAL_MOVE)
        step = self._env.step([action])
        reward = float(step.rewards[0])
        return {mover: reward, other: -reward}, int(step.codes[0])


def _turned(positions: Positions) -> Positions:
    """Positions as if the other side were to move, ``uint64[G, 8]``; nothing can be taken en
    passant there."""
    sides = positions.copy()
    sides[:, OWN] ^= np.bitwise_or.reduce(sides[:, PAWNS : KINGS + 1], axis=1)
    sides[:, CASTLING] &= RANK_1 | RANK_8
    sides[:, :COUNTERS] = sides[:, :COUNTERS].byteswap()
    sides[:, COUNTERS] ^= np.uint64(1 << COLOUR_SHIFT)
    return sides


def _endings(code: int) -> tuple[bool, bool]:
    terminated, truncated = endings(np.array([code], np.uint8))
    return bool(terminated[0]), bool(truncated[0])


class ChessAEC(_OneGame, AECEnv):  # type: ignore[misc]
    """One game as a ``pettingzoo.AECEnv``: the agents move in turns."""

    metadata: ClassVar[dict[str, Any]] = {**METADATA, "is_parallelizable": False}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin the next game, or the first one of a new ``seed``. ``options`` has no meaning."""
        self._begin(seed)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, Infos] = {name: {} for name in AGENTS}
        self.agent_selection = self._mover

    def observe(self, agent: str) -> Observation:
        """What an agent sees, from its own side."""
        return self._observation(agent)

    def step(self, action: int | None) -> None:
        """Make the action of the selected agent; None removes an agent whose game is over."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self.rewards, code = self._play(-1 if action is None else action_number(action))
        terminated, truncated = _endings(code)
        self.terminations = dict.fromkeys(self.agents, terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.infos = {name: ending_info(code) for name in self.agents}
        self.agent_selection = AGENTS[1 - AGENTS.index(agent)]
        self._accumulate_rewards()


class ChessParallel(_OneGame, ParallelEnv):  # type: ignore[misc]
    """One game as a ``pettingzoo.ParallelEnv``: the action of the side not to move is ignored."""

    metadata: ClassVar[dict[str, Any]] = METADATA

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Infos]]:
        """Begin the next game, or the first one of a new ``seed``. ``options`` has no meaning."""
        self._begin(seed)
        return self._observations(), {name: {} for name in AGENTS}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Infos]
    ]:
        """Make the action of the side to move. A side that gives none loses. After the end nothing
        happens."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        rewards, code = self._play(action_number(actions.get(self._mover, -1)))
        terminated, truncated = _endings(code)
        if code:
            self.agents = []
        return (
            self._observations(),
            rewards,
            dict.fromkeys(AGENTS, terminated),
            dict.fromkeys(AGENTS, truncated),
            {name: ending_info(code) for name in AGENTS},
        )

    def _observations(self) -> dict[str, Observation]:
        return {name: self._observation(name) for name in AGENTS}
