"""Copies of everything that a user can hold: they live on their own, or there is one line."""

import copy
import gc
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import vecchess
from vecchess.env import ChessEnv, FunctionalEnv
from vecchess.env.gymnasium_adapter import ChessGymEnv, ChessVectorEnv
from vecchess.env.pettingzoo_adapter import ChessAEC, ChessParallel
from vecchess.search import PolicySearch
from vecchess.search.kernels.evaluation_cache import EvaluationCache


def flat(planes: Any) -> tuple[Any, Any]:
    """An evaluator that prefers nothing."""
    return np.zeros((len(planes), 4672), np.float32), np.zeros(len(planes), np.float32)


def step_env(env: ChessEnv) -> list[bytes]:
    env.step(env.random_actions())
    return [env.positions.tobytes(), env.observations.tobytes(), env.masks.tobytes()]


def step_memory(env: ChessEnv) -> list[bytes]:
    env.step(env.random_actions())
    return [env.positions.tobytes(), env.observations.numpy().tobytes()]


def step_gym(env: ChessGymEnv) -> list[bytes]:
    seen, reward, *_ = env.step(np.flatnonzero(env.action_masks())[0])
    return [seen["observation"].tobytes(), seen["action_mask"].tobytes(), bytes([int(reward) + 1])]


def step_vector(env: ChessVectorEnv) -> list[bytes]:
    masks = env._observation()["action_mask"]
    seen, *_ = env.step(masks.argmax(axis=1))
    return [seen["observation"].tobytes(), seen["action_mask"].tobytes()]


def step_aec(env: ChessAEC) -> list[bytes]:
    seen, *_ = env.last()
    env.step(int(np.flatnonzero(seen["action_mask"])[0]))
    return [env.observe(name)["observation"].tobytes() for name in env.possible_agents]


def step_parallel(env: ChessParallel) -> list[bytes]:
    mover = env._mover
    mask = env._observation(mover)["action_mask"]
    seen, *_ = env.step({mover: int(np.flatnonzero(mask)[0])})
    return [seen[name]["observation"].tobytes() for name in seen]


def step_functional(env: FunctionalEnv) -> list[bytes]:
    state = env.init(np.arange(3))
    state = env.step(state, state.legal_action_mask.argmax(axis=1))
    return [state.observation.tobytes(), state.legal_action_mask.tobytes()]


def step_search(search: PolicySearch) -> list[bytes]:
    found = search.run(vecchess.ChessEnv(2).positions)
    return [found.action_weights.tobytes(), found.value.tobytes()]


def reset(env: Any) -> Any:
    env.reset(seed=5)
    return env


KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], list[bytes]]]] = {
    "ChessEnv": (
        lambda: ChessEnv(5, seed=1, observations="planes", masks=True, max_plies=12), step_env,
    ),
    "ChessEnv in memory of torch": (
        lambda: ChessEnv(3, threads=2, observations=torch.zeros(3, 25, 8, 8)), step_memory,
    ),
    "ChessGymEnv": (lambda: reset(ChessGymEnv("random", max_plies=40)), step_gym),
    "ChessVectorEnv": (lambda: reset(ChessVectorEnv(3, "greedy", max_plies=9)), step_vector),
    "ChessAEC": (lambda: reset(ChessAEC()), step_aec),
    "ChessParallel": (lambda: reset(ChessParallel()), step_parallel),
    "FunctionalEnv": (lambda: FunctionalEnv(starts="chess960"), step_functional),
    "PolicySearch": (lambda: PolicySearch(flat, 2, num_simulations=8), step_search),
}  # fmt: skip
"""Name -> a maker, and a step that gives what is seen after it."""


def read_only(env: Any) -> Any:
    """A copy as Ray hands it out: its arrays cannot be written."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(env, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "read-only": read_only,
}


def walk(env: Any, step: Callable[[Any], list[bytes]], count: int = 4) -> list[list[bytes]]:
    return [step(env) for _ in range(count)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_goes_its_own_way(kind: str, way: str) -> None:
    make, step = KINDS[kind]
    expected = walk(make(), step, 6)
    original = make()
    walk(original, step, 2)
    if way == "read-only" and "torch" in kind:
        pytest.skip("torch pickles its memory in band")
    other = WAYS[way](original)
    assert walk(other, step) == expected[2:]
    assert walk(original, step) == expected[2:], "the copy moved the original"


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_outlives_the_original(kind: str) -> None:
    make, step = KINDS[kind]
    expected = walk(make(), step, 6)
    original = make()
    walk(original, step, 2)
    other = copy.deepcopy(original)
    del original
    gc.collect()
    filled = [np.full(size, 0xFF, np.uint8) for size in (64, 512, 4096, 65536) for _ in range(50)]
    assert walk(other, step) == expected[2:]
    assert len(filled) == 200


def _go_on(connection: Any) -> None:
    while (sent := connection.recv()) is not None:
        kind, env = sent
        connection.send(walk(env, KINDS[kind][1]))


@pytest.mark.thorough
def test_copies_go_on_in_another_process() -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_go_on, args=(theirs,), daemon=True)
    process.start()
    for kind, (make, step) in KINDS.items():
        original = make()
        walk(original, step, 2)
        ours.send((kind, original))
        assert ours.poll(60), f"the process has died of {kind}"
        assert ours.recv() == walk(original, step)
    ours.send(None)
    process.join(10)
    assert process.exitcode == 0


def test_memory_of_torch_may_move() -> None:
    """Sending a tensor to another process moves it, also where nobody thinks of it."""
    memory = torch.zeros(2, 25, 8, 8)
    one, other = ChessEnv(2, observations=memory), ChessEnv(2, observations="planes")
    for _ in range(3):
        memory.share_memory_()
        one.step(other.random_actions())
        other.step(other.random_actions())
        assert np.array_equal(memory.numpy(), other.observations)
        memory.set_(memory.clone())
    memory.resize_(1, 25, 8, 8)
    with pytest.raises(ValueError, match="25, 8, 8"):
        one.step(other.random_actions())


def test_masks_that_moved_are_whole_after_a_part_is_reset() -> None:
    masks = torch.zeros(3, 4672, dtype=torch.bool)
    env = ChessEnv(3, masks=masks, random_plies=2)
    env.step(env.random_actions())
    masks.share_memory_()
    env.reset([1])
    assert np.array_equal(masks.numpy(), env.legal_masks())


def holders() -> list[Any]:
    """What keeps addresses of memory that a copy does not have."""
    search = PolicySearch(flat, 2)
    search.run(vecchess.ChessEnv(2).positions)
    assert search._search is not None
    forest = search._search.forest
    return [EvaluationCache(1), forest, ChessEnv(1)._runner]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_whoever_holds_addresses_refuses(way: Callable[[Any], Any]) -> None:
    for held in holders():
        with pytest.raises(TypeError, match="holds addresses"):
            way(held)
