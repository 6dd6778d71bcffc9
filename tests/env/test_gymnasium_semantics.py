"""What gymnasium's own environments promise: seeds, resets, masks and steps after the end."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from vecchess.env import ChessEnv
from vecchess.env.gymnasium_adapter import ChessGymEnv, ChessVectorEnv
from vecchess.env.pettingzoo_adapter import ChessParallel
from vecchess.errors import ConfigError

WILD = {"starts": "chess960", "max_plies": 20}


def boards(env: ChessVectorEnv) -> list[bytes]:
    return [position.tobytes() for position in env._games.env.positions]


def first_legal(masks: Any) -> Any:
    return np.asarray(masks).argmax(axis=-1)


def test_a_reset_without_a_seed_goes_on_with_other_games() -> None:
    env = ChessVectorEnv(4, "random", **WILD)
    env.reset(seed=3)
    first = boards(env)
    env.reset()
    second = boards(env)
    env.reset(seed=3)
    assert first != second
    assert boards(env) == first
    env.reset()
    assert boards(env) == second


def test_environments_without_a_seed_differ() -> None:
    starts = set()
    for _ in range(4):
        env = ChessGymEnv("random", **WILD)
        env.reset()
        starts.add(env._games.env.positions.tobytes())
    assert len(starts) > 1


def test_a_seed_decides_the_opponents_moves_too() -> None:
    def seen(seed: int) -> list[bytes]:
        env = ChessGymEnv("random", max_plies=20)
        observation, _ = env.reset(seed=seed)
        found = []
        for _ in range(6):
            observation, *_ = env.step(first_legal(observation["action_mask"]))
            found.append(observation["observation"].tobytes())
        return found

    assert seen(1) == seen(1)
    assert seen(1) != seen(2)


def test_a_mask_resets_some_rows() -> None:
    env = ChessVectorEnv(3, "random", **WILD)
    env.reset(seed=1)
    before = boards(env)
    env.reset(options={"reset_mask": np.array([False, True, False])})
    after = boards(env)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]
    for mask in ([True, False], [1, 0, 1]):
        with pytest.raises(ValueError, match=r"bool\[3\]"):
            env.reset(options={"reset_mask": mask})


def test_a_finished_game_has_a_mask_of_ones_and_is_stepped_no_more() -> None:
    env = ChessGymEnv("random", max_plies=6)
    observation, _ = env.reset(seed=0)
    is_over = False
    while not is_over:
        observation, _, *ends, _ = env.step(first_legal(observation["action_mask"]))
        is_over = any(ends)
    assert observation["action_mask"].all()
    assert env.action_masks().all()
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(0)


def test_finished_games_of_a_vector_have_masks_of_ones() -> None:
    env = RecordEpisodeStatistics(ChessVectorEnv(4, "random", max_plies=6))
    observation, _ = env.reset(seed=0)
    lengths = []
    for _ in range(9):
        observation, _, _, _, infos = env.step(first_legal(observation["action_mask"]))
        assert observation["action_mask"].any(axis=1).all()
        for row in np.flatnonzero(infos.get("_final_obs", [])):
            assert infos["final_obs"][row]["action_mask"].all()
            lengths.append(int(infos["episode"]["l"][row]))
    assert set(lengths) <= {3, 4}
    assert len(lengths) > 6


@pytest.mark.thorough
@pytest.mark.slow
def test_processes_of_gymnasium_step_single_games() -> None:
    env = AsyncVectorEnv(
        [lambda: ChessGymEnv("random", max_plies=8)] * 2, context="spawn",
        autoreset_mode=AutoresetMode.NEXT_STEP,
    )  # fmt: skip
    observation, _ = env.reset(seed=1)
    ends = 0
    for _ in range(12):
        observation, _, terminated, truncated, _ = env.step(first_legal(observation["action_mask"]))
        ends += int((terminated | truncated).sum())
    env.close()
    assert ends >= 2


@pytest.mark.parametrize("action", [3.7, None, True, np.array([1, 2]), "e2e4"])
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = ChessGymEnv("random")
    env.reset()
    with pytest.raises(ValueError, match="whole number"):
        env.step(action)


@pytest.mark.parametrize("actions", [[1, 2], [[1], [2], [3]], [1.0, 2.0, 3.0]])
def test_actions_of_another_shape_or_type_are_refused(actions: Any) -> None:
    env = ChessVectorEnv(3, "random")
    env.reset()
    with pytest.raises(ValueError, match=r"actions must be int\[3\]"):
        env.step(np.array(actions))


@pytest.mark.parametrize("make", [ChessGymEnv, ChessParallel])
@pytest.mark.parametrize("mode", ["human", "rgb_array"])
def test_modes_that_are_not_there_are_refused(make: Any, mode: str) -> None:
    with pytest.raises(ConfigError, match="ansi"):
        make(render_mode=mode)


def test_a_parallel_game_that_is_over_stays_over() -> None:
    env = ChessParallel()
    env.reset(seed=1)
    env.step({})
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})


@pytest.mark.parametrize("seed", ["a", 1.5, True, -1])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ConfigError, match="seed must be from 0"):
        ChessEnv(1, seed=seed)
    assert repr(ChessEnv(2, seed=7)) == "ChessEnv(2, seed=7, max_plies=512)"
