"""Both searches against mctx's Gumbel policy: same visits, decision, improved policy and value."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.search import scalar_gumbel
from tests.search.exact_numbers import gumbel_number
from tests.search.samples import samples
from tests.search.scalar_tree import UNIT, Edge, Node, Question, Tree
from tests.search.table_backend import TableBackend
from vecchess.config import TreeConfig
from vecchess.search.batch_search import BatchSearch
from vecchess.search.forest import halving_tables
from vecchess.shapes import MAX_MOVES

jax = pytest.importorskip("jax")
mctx = pytest.importorskip("mctx")

NUM_POSITIONS = 32
NO_LOGIT = -1e9
"""Logit of an action that no move has; mctx masks actions at the root only."""


class Answer(NamedTuple):
    """Of one position."""

    action: int
    visits: dict[int, int]
    policy: dict[int, float]
    value: float


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    """For the whole process: jax calls back in a thread of its own."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


class World:
    """The game as mctx wants it: states with a number, actions with an index.

    An action's index is the place of the move in descending order of priors, so that mctx, which
    takes the first of equals, breaks ties as we do. An ended game goes on without end at the same
    value.
    """

    def __init__(self, questions: list[Question]) -> None:
        """States 0 .. B - 1 are the roots."""
        self.nodes: list[tuple[Tree, Node, list[Edge]]] = []
        self.after: dict[tuple[int, int], int] = {}
        for question in questions:
            tree = Tree(question)
            self.nodes.append((tree, tree.root, list(tree.root.unopened)))

    def step(self, states: Any, actions: Any) -> tuple[NDArray[Any], ...]:
        """The states after an action each, int32[B], and mctx's discount, logits, value."""
        after = [
            self._after(int(state), int(action))
            for state, action in zip(states, actions, strict=True)
        ]
        discount = np.where(np.equal(after, states), 1.0, -1.0)
        return np.array(after, np.int32), discount, *self.answers(after)

    def answers(self, states: list[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Logits float64[B, A] and values float64[B]."""
        logits, values = np.full((len(states), MAX_MOVES), NO_LOGIT), np.zeros(len(states))
        for row, state in enumerate(states):
            _, node, edges = self.nodes[state]
            values[row] = node.value / UNIT
            logits[row, : len(edges)] = [np.log(edge.prior) for edge in edges]
        return logits, values

    def _after(self, state: int, action: int) -> int:
        tree, node, edges = self.nodes[state]
        if node.is_over:
            return state
        if (state, action) not in self.after:
            edge = edges[action]
            tree.open(node, edge)
            assert edge.child
            self.after[state, action] = len(self.nodes)
            self.nodes.append((tree, edge.child, list(edge.child.unopened)))
        return self.after[state, action]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(("sims", "considered"), [(4, 4), (8, 16), (16, 4), (32, 0)])
def test_mctx_agrees(
    sims: int, considered: int, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TreeConfig(search="gumbel", sims=sims, considered=considered, solve=False, cache_mb=0)
    positions, keys = samples(NUM_POSITIONS, sims)
    questions = [
        Question(config, position, history, seed=7, number=number, ply=40, temperature=temperature)
        for number, (position, history) in enumerate(zip(positions, keys, strict=True))
    ]
    theirs = _mctx(questions, monkeypatch)
    _assert_close(_scalar(questions), theirs)
    _assert_close(_batched(questions), theirs)


@pytest.mark.parametrize(
    ("settings", "full", "fast"),
    [({}, 8, 2), ({"considered": 5}, 5, 5), ({"sims": 13}, 3, 2), ({"considered": 20}, 20, 6)],
)
def test_a_search_sees_the_answers_to_what_it_considers(
    settings: dict[str, int], full: int, fast: int
) -> None:
    """By itself it considers a quarter as many moves as simulations, else as many as told."""
    given: dict[str, Any] = {"sims": 40, "fast_sims": 6, "full_share": 0.5} | settings
    config = TreeConfig(search="gumbel", **given)
    for table, sims, considered in zip(
        halving_tables(config), (config.sims, config.fast_sims), (full, fast), strict=True
    ):
        first_visits = (table[1:, :sims] == 0).sum(axis=1)
        assert first_visits.tolist() == [min(n, considered) for n in range(1, len(table))]


@pytest.mark.parametrize(("sims", "considered"), [(1, 2), (3, 2), (8, 2), (16, 4), (800, 8)])
def test_moves_considered_by_itself(sims: int, considered: int) -> None:
    assert TreeConfig(search="gumbel", sims=sims).num_considered(sims) == considered


def _assert_close(ours: list[Answer], theirs: list[Answer]) -> None:
    for our, their in zip(ours, theirs, strict=True):
        assert our.visits == their.visits
        assert our.action == their.action
        assert our.policy == pytest.approx(their.policy, abs=1e-4)
        assert our.value == pytest.approx(their.value, abs=1e-5)


def _scalar(questions: list[Question]) -> list[Answer]:
    answers = []
    for question in questions:
        result = scalar_gumbel.search(question)
        visits = {action: count for action, count, _, _ in result.edges}
        policy = dict.fromkeys(visits, 0.0) | {a: share / 65535 for a, share in result.target}
        value = 2 * result.win + result.draw - 1
        answers.append(Answer(result.action, visits, policy, value))
    return answers


def _batched(questions: list[Question]) -> list[Answer]:
    first = questions[0]
    results = BatchSearch(first.config, TableBackend(5), len(questions)).run(
        np.stack([question.position for question in questions]),
        np.stack([question.keys for question in questions]),
        seed=first.seed,
        numbers=np.array([question.number for question in questions]),
        plies=np.array([question.ply for question in questions]),
        temperature=first.temperature,
        explore=True,
    )
    answers = []
    for row, action in enumerate(results.action.tolist()):
        edges = slice(*results.edge_offsets[row : row + 2])
        target = slice(*results.target_offsets[row : row + 2])
        actions = results.edge_action[edges].tolist()
        visits = dict(zip(actions, results.edge_visits[edges].tolist(), strict=True))
        shares = (results.target_prob[target] / 65535).tolist()
        policy = dict(zip(results.target_action[target].tolist(), shares, strict=True))
        value = (2 * int(results.win[row]) + int(results.draw[row])) / UNIT - 1
        answers.append(Answer(action, visits, dict.fromkeys(actions, 0.0) | policy, value))
    return answers


def _mctx(questions: list[Question], monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """All positions in one batch, with our Gumbel noise in place of that of jax."""
    world, config = World(questions), questions[0].config
    roots = np.arange(len(questions), dtype=np.int32)
    logits, values = world.answers(roots.tolist())
    noise = np.zeros(logits.shape)
    for row, question in enumerate(questions):
        for index, edge in enumerate(world.nodes[row][2]):
            draw = gumbel_number(question.seed, question.number, question.counter(edge))
            noise[row, index] = question.temperature * draw
    monkeypatch.setattr(jax.random, "gumbel", lambda *_, **__: jax.numpy.asarray(noise))
    complete = functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=config.c_scale / 2,  # our values go from -1 to 1
        maxvisit_init=config.c_visit,
        rescale_values=False,
    )
    output = mctx.gumbel_muzero_policy(
        params=(),
        rng_key=jax.random.PRNGKey(0),
        root=mctx.RootFnOutput(prior_logits=logits, value=values, embedding=roots),
        recurrent_fn=_recurrent(world, len(questions)),
        num_simulations=config.sims,
        invalid_actions=logits == NO_LOGIT,
        qtransform=complete,
        max_num_considered_actions=config.num_considered(config.sims),
        gumbel_scale=1.0,
    )
    counts, weights = np.array(output.search_tree.summary().visit_counts), output.action_weights
    roots = jax.numpy.full(len(questions), output.search_tree.ROOT_INDEX)
    scaled = np.array(jax.vmap(complete, in_axes=(0, 0))(output.search_tree, roots))
    scale = (config.c_visit + counts.max(axis=1)) * config.c_scale / 2
    values = (np.array(weights) * scaled).sum(axis=1) / scale
    answers = []
    for row, chosen in enumerate(output.action):
        actions = [edge.action for edge in world.nodes[row][2]]
        visits = dict(zip(actions, counts[row].tolist(), strict=False))
        policy = dict(zip(actions, np.array(weights[row]).tolist(), strict=False))
        answers.append(Answer(actions[int(chosen)], visits, policy, float(values[row])))
    return answers


def _recurrent(world: World, num: int) -> Callable[..., Any]:
    """The world as mctx's ``recurrent_fn``: jax calls back into Python."""
    real = functools.partial(jax.ShapeDtypeStruct, dtype=np.float64)
    shapes = (
        jax.ShapeDtypeStruct((num,), np.int32),
        real((num,)),
        real((num, MAX_MOVES)),
        real((num,)),
    )

    def recurrent(_params: Any, _key: Any, actions: Any, states: Any) -> tuple[Any, Any]:
        after, discount, logits, value = jax.pure_callback(world.step, shapes, states, actions)
        output = mctx.RecurrentFnOutput(
            reward=jax.numpy.zeros_like(value), discount=discount, prior_logits=logits, value=value
        )
        return output, after

    return recurrent
