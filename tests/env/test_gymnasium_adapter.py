"""Gymnasium's own test, and what its environments give, step by step."""

import subprocess
import sys

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from vecchess.arena.match_game import Forfeit
from vecchess.chess.rules import Termination
from vecchess.env.gymnasium_adapter import ChessGymEnv, ChessVectorEnv
from vecchess.env.versus import VersusGames


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_the_single_environment_passes_gymnasiums_test(opponent: str) -> None:
    check_env(ChessGymEnv(opponent, render_mode="ansi"), skip_render_check=True)


def test_a_single_game_goes_to_its_end() -> None:
    env = ChessGymEnv("random", max_plies=60, seed=5, starts="book")
    endings = set()
    for game in range(12):
        observation, info = env.reset(seed=5 if game == 0 else None)
        over = False
        while not over:
            mask = observation["action_mask"]
            assert (env.action_masks() == mask).all()
            assert observation in env.observation_space
            action = env.action_space.sample(mask)
            observation, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        endings.add(info["termination"])
        assert truncated == (info["termination"] == "ply_cap")
        assert reward == 0 or info["termination"] == "checkmate"
    assert "ply_cap" in endings
    assert env.render() is None
    env.close()


def test_an_illegal_action_ends_the_game() -> None:
    env = ChessGymEnv(render_mode="ansi")
    env.reset(seed=1)
    assert env.render().startswith("r n b q k b n r")
    _, reward, terminated, truncated, info = env.step(4671)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert info == {"termination": "illegal_move"}


def test_the_vector_is_the_games_themselves() -> None:
    settings = {"seed": 3, "starts": "chess960", "max_plies": 30}
    vector = ChessVectorEnv(8, "greedy", **settings)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    games = VersusGames(8, "greedy", masks=True, observations="planes", **settings)
    observation, infos = vector.reset()
    assert infos == {}
    ended = 0
    for _ in range(40):
        assert observation in vector.observation_space
        assert (observation["action_mask"] == games.env.masks).all()
        assert (observation["observation"] == games.env.observations).all()
        actions = games.env.random_actions()
        actions[3] = 0  # illegal, or not
        step = games.step(actions)
        final = games.env.observations.copy()
        games.begin(np.flatnonzero(step.codes))
        observation, rewards, terminated, truncated, infos = vector.step(actions)
        assert (rewards == step.rewards).all()
        assert (truncated == (step.codes == Termination.PLY_CAP)).all()
        assert ((terminated | truncated) == (step.codes > 0)).all()
        for row in np.flatnonzero(step.codes):
            ended += 1
            assert infos["_final_obs"][row]
            assert (infos["final_obs"][row]["observation"] == final[row]).all()
            assert infos["final_info"]["termination"][row] == step.codes[row]
    assert ended > 8
    vector.close()


def test_memory_is_shared_where_no_copy_is_wanted() -> None:
    vector = ChessVectorEnv(2, copy=False)
    first, _ = vector.reset(seed=1)
    second, *_ = vector.step(first["action_mask"].argmax(1))
    assert first["observation"] is second["observation"]
    with pytest.raises(ValueError, match="one seed"):
        vector.reset(seed=[1, 2])
    *_, infos = vector.step(np.array([4671, -7]))
    assert infos["final_info"]["termination"].tolist() == [Forfeit.ILLEGAL_MOVE] * 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("module", "library"),
    [("gymnasium_adapter", "gymnasium"), ("pettingzoo_adapter", "pettingzoo")],
)
def test_a_missing_library_is_one_line(module: str, library: str) -> None:
    program = (
        f"import sys; sys.modules['{library}'] = None\n"
        "from vecchess.errors import ConfigError\n"
        f"try: import vecchess.env.{module}\n"
        "except ConfigError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{library} is not installed: pip install 'vecchess[envs]'\n"
