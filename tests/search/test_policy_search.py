"""Searches with an evaluator of the user's are those with a backend that answers the same."""

from typing import Any

import chess
import numpy as np
import pytest
import torch

from vecchess.chess.fen import from_fens
from vecchess.chess.planes import MATERIAL_WEIGHTS, encode_planes, num_planes
from vecchess.chess.rules import Termination, terminations
from vecchess.chess.sample import random_positions
from vecchess.chess.uci_moves import uci_to_move
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.config import TreeConfig
from vecchess.env import ChessEnv
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.builtin import MaterialBackend
from vecchess.inference.torch_evaluator import torch_evaluator
from vecchess.search import PolicySearch
from vecchess.search.batch_search import BatchSearch
from vecchess.shapes import NUM_ACTIONS

SCALE = 0.25
"""Logits a pawn, a power of two, so that the products of both ways are equal."""


class QuarterBackend(MaterialBackend):
    value_scale = SCALE


def outcomes(balance: Any) -> Any:
    return balance[:, None] * SCALE * np.array([1, 0, -1], np.float32)


def by_planes(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    balance = planes.sum((2, 3)) @ MATERIAL_WEIGHTS.astype(np.float32)
    return np.zeros((len(planes), NUM_ACTIONS), np.float32), outcomes(balance)


def by_bitboards(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    assert planes.dtype == np.uint64
    return by_planes(unpack_planes(planes))


def by_positions(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    assert positions.shape[1:] == (8,)
    return by_planes(unpack_planes(encode_planes(positions)))


class Material(torch.nn.Module):
    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        balance = planes.double().sum((2, 3)) @ torch.from_numpy(MATERIAL_WEIGHTS).double()
        logits = torch.zeros(len(planes), NUM_ACTIONS)
        return logits, balance[:, None] * SCALE * torch.tensor([1.0, 0.0, -1.0])


@pytest.mark.parametrize("method", ["gumbel", "puct"])
@pytest.mark.parametrize(
    ("evaluator", "settings"),
    [
        (by_planes, {}),
        (by_planes, {"batch_size": 7}),
        (by_bitboards, {"inputs": "bitboards"}),
        (by_positions, {"inputs": "positions"}),
        (torch_evaluator(Material()), {}),
        (lambda planes: Material()(torch.from_numpy(planes)), {}),
    ],
)
@pytest.mark.parametrize("explore", [False, True])
def test_an_evaluator_searches_as_a_backend_does(
    method: Any, evaluator: Any, settings: dict[str, Any], explore: bool
) -> None:
    positions = random_positions(40, 3)
    positions = positions[terminations(positions) == Termination.ONGOING]
    num = len(positions)
    config = TreeConfig(search=method, sims=24, cache_mb=0)
    backend = QuarterBackend(num)
    wanted = BatchSearch(config, backend, num).run(
        positions, seed=5, numbers=np.arange(num), temperature=1.0, explore=explore
    )
    search = PolicySearch(evaluator, num, method, 24, **settings)
    for _ in range(2):  # a search can be used again
        found = search.run(positions, seed=5, explore=explore)
        for name in vars(wanted):
            assert (getattr(found.results, name) == getattr(wanted, name)).all(), name
    assert (found.action == wanted.action).all()
    assert np.allclose(found.action_weights.sum(1), 1)
    assert np.allclose(found.value, found.wdl[:, 0] - found.wdl[:, 2], atol=1e-6)


def test_policies_are_those_of_the_position() -> None:
    mate = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
    positions = from_fens([mate, chess.STARTING_FEN])
    found = PolicySearch(_silent, 2, "puct", 50, see_mates=False).run(positions, temperature=0.0)
    from vecchess.chess.action import moves_to_actions

    best = moves_to_actions([uci_to_move(positions[0], "a1a8")])[0]
    assert found.action[0] == best
    assert found.value[0] == 1
    assert abs(found.value[1]) < 0.01
    assert np.count_nonzero(found.action_weights[1]) <= 20


def _silent(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """No preference, and no idea who wins: values without outcomes."""
    return np.zeros((len(planes), NUM_ACTIONS)), np.zeros((len(planes), 1))


def test_the_histories_of_games_are_seen() -> None:
    env = ChessEnv(6, seed=2, keep_past=True, max_plies=90, num_planes=num_planes(3))
    for _ in range(50):
        env.step(env.random_actions())
    asked = []

    def watch(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(planes.copy())
        return _silent(planes)

    search = PolicySearch(watch, 6, num_simulations=4, num_planes=num_planes(3), see_mates=False)
    rows = env.rows
    search.run(env.positions, keys=rows.keys, past=rows.past)
    wanted = encode_planes(env.positions, rows.repetitions, rows.past, num_planes(3))
    assert (asked[0] == unpack_planes(wanted)).all()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda n: (np.zeros((n, 9)), np.zeros(n)), "must give logits and values"),
        (lambda n: (np.zeros((n, NUM_ACTIONS)), np.zeros((n, 2))), "must give logits and values"),
        (lambda n: (np.full((n, NUM_ACTIONS), np.nan), np.zeros(n)), "answers with NaN"),
    ],
)
def test_answers_that_cannot_be_are_refused(answer: Any, words: str) -> None:
    is_bad = [True]

    def evaluate(planes: np.ndarray) -> Any:
        return answer(len(planes)) if is_bad[0] else _silent(planes)

    search, positions = PolicySearch(evaluate, 2, num_simulations=2), random_positions(2, 0)
    with pytest.raises((ValueError, NetworkError), match=words):
        search.run(positions)
    is_bad[0] = False
    assert len(search.run(positions).action) == 2  # an error leaves nothing behind


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keys": np.ones(102, np.uint64)}, r"keys must be uint64\[3, 102\], not uint64\[102\]"),
        ({"keys": np.ones((1, 102), np.uint64)}, r"not uint64\[1, 102\]"),
        ({"keys": np.ones((3, 102), np.int64)}, r"not int64\[3, 102\]"),
        ({"past": np.ones((3, 7, 8), np.uint64)}, "the past must be"),
        ({"temperature": float("nan")}, "below 0, or not a number"),
        ({"temperature": np.array([1.0, -1.0, 0.0])}, "below 0, or not a number"),
    ],
)
@pytest.mark.parametrize("method", ["gumbel", "puct"])
def test_what_a_run_is_given_is_refused_where_it_cannot_be(
    method: Any, given: dict[str, Any], words: str
) -> None:
    search, positions = PolicySearch(_silent, 3, method, 4), random_positions(3, 0)
    with pytest.raises(ValueError, match=words):
        search.run(positions, **given)
    assert len(search.run(positions).action) == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"inputs": "pixels"}, "'bitboards'"),
        ({"num_positions": 0}, "at least 1"),
        ({"batch_size": 0}, "at least 1"),
        ({"c_puct": -1.0}, "c_puct"),
        ({"num_simulations": 0}, "sims"),
    ],
)
def test_settings_of_a_search_that_cannot_be_are_refused(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        PolicySearch(_silent, **{"num_positions": 2, **settings})
