"""The functional face gives the games of ``ChessEnv``, and changes no state that it was given."""

import numpy as np
import pytest

from vecchess.chess.rules import Termination
from vecchess.env import ChessEnv, FunctionalEnv
from vecchess.env.chess_env import STAY

SETTINGS = {"seed": 4, "starts": "chess960", "random_plies": 2, "max_plies": 40}


def test_states_are_those_of_the_environment() -> None:
    env = ChessEnv(20, auto_reset=False, observations="planes", masks=True, **SETTINGS)
    face, seen = FunctionalEnv(**SETTINGS), set()
    state = face.init(np.arange(20))
    for _ in range(45):
        assert (state.observation == env.observations).all()
        assert (state.legal_action_mask == (env.masks | env.is_over[:, None])).all()
        assert (state.current_player == env.colours).all()
        assert (state.truncated == (env.rows.codes == Termination.PLY_CAP)).all()
        assert ((state.terminated | state.truncated) == env.is_over).all()
        actions, movers = env.random_actions(), env.colours
        step = env.step(actions)
        state = face.step(state, actions)
        assert (state.rewards[np.arange(20), movers] == step.rewards).all()
        assert (state.rewards.sum(1) == 0).all()
        seen |= set(step.codes.tolist())
    assert seen >= {0, Termination.PLY_CAP}
    assert (state.terminated | state.truncated).all()


def test_a_state_can_be_stepped_again_and_stays_as_it_was() -> None:
    face = FunctionalEnv(**SETTINGS)
    state = face.init([7, 3, 11])
    before = [np.array(array) for array in (*state[:-1], *state.rows)]
    first = [int(np.flatnonzero(mask)[0]) for mask in state.legal_action_mask]
    last = [int(np.flatnonzero(mask)[-1]) for mask in state.legal_action_mask]
    one = face.step(state, first)
    other = face.step(state, last)
    again = face.step(face.init([7, 3, 11]), first)
    after = (*state[:-1], *state.rows)
    assert all((now == then).all() for now, then in zip(after, before, strict=True))
    assert (one.rows.positions == again.rows.positions).all()
    assert (one.rows.positions != other.rows.positions).any(1).all()
    with pytest.raises(ValueError, match="not legal"):
        face.step(state, [4671, *first[1:]])


def test_few_environments_are_kept() -> None:
    env = FunctionalEnv()
    for num_games in range(1, 8):
        state = env.init(np.arange(num_games))
        assert (env.step(state, np.full(num_games, STAY)).rewards == 0).all()
        env.init(np.arange(3))
    assert list(env._envs) == [5, 6, 7, 3]
