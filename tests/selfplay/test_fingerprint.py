"""The hash of a game's answers: against a reference in numpy, and what it may depend on."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.kernels import exposed
from tests.selfplay.playing import LoudBackend, play
from vecchess.config import GameConfig, TreeConfig
from vecchess.inference.requests import Requests
from vecchess.jit import inline
from vecchess.search.tree.layout import EdgeRecord, ForestRecord, NodeRecord
from vecchess.selfplay.games import fingerprint
from vecchess.selfplay.games.game_log import num_tags


@inline
def fold_root_at(state: Any, forest: Any, root: Any) -> Any:
    """``fold_root`` with addresses."""
    return fingerprint.fold_root(state, ForestRecord(forest), NodeRecord(root))


fold = exposed(fingerprint.fold_answer)
fold_root = exposed(fold_root_at)
make_tag = exposed(fingerprint.fingerprint_tag)
MASK = 2**64 - 1


def folded(state: int, word: int) -> int:
    """``fold_unbatched`` with Python's integers."""
    mixed = (state ^ (word & MASK)) * 0xBF58476D1CE4E5B9 & MASK
    return mixed ^ mixed >> 32


def reference(state: int, policy: NDArray[np.int32], wdl: NDArray[np.int32], steps: int) -> int:
    """What an answer makes of a fingerprint, with numpy."""
    place = np.arange(len(policy), dtype=np.uint32) * np.uint32(0x9E3779B9)
    words = (policy.view(np.uint32) + place) * np.uint32(0x21F0AAAD)
    words = (words ^ words >> np.uint32(15)) * np.uint32(0xD35A2D97)
    total = int((words ^ words >> np.uint32(15)).sum(dtype=np.uint64)) & 0xFFFFFFFF
    state = folded(state, total | steps << 32 | len(policy) << 40)
    win, draw, loss = wdl.tolist()
    return folded(folded(state, win & 0xFFFFFFFF | draw << 32), loss)


def answered(seed: int, count: int) -> Requests:
    draw = np.random.default_rng(seed)
    requests = Requests.empty(3, 25)
    requests.num_legal[:] = count
    requests.policy[:] = draw.integers(-(2**31), 2**31, requests.policy.shape)
    requests.wdl[:] = draw.integers(-(2**31), 2**31, requests.wdl.shape)
    requests.steps[:] = draw.integers(1, 32, 3)
    return requests


def of_row(requests: Requests, row: int, state: int = fingerprint.START) -> int:
    return int(fold(np.uint64(state), requests, row))


@pytest.mark.parametrize("count", [1, 2, 31, 64, 218])
def test_answers_against_numpy(count: int) -> None:
    requests, state = answered(count, count), fingerprint.START
    for row in range(3):
        policy, wdl = requests.policy[row, :count], requests.wdl[row]
        expected = reference(state, policy, wdl, int(requests.steps[row]))
        assert of_row(requests, row, state) == expected
        state = expected


def test_every_accumulator_counts_and_nothing_else() -> None:
    requests = answered(1, 20)
    seen = {of_row(requests, 1)}
    for name, place in [("policy", at) for at in range(20)] + [("wdl", at) for at in range(3)]:
        getattr(requests, name)[1, place] ^= 1
        seen.add(of_row(requests, 1))
    requests.steps[1] += 1
    seen.add(of_row(requests, 1))
    assert len(seen) == 25
    last = of_row(requests, 1)
    requests.policy[1, 20:] ^= 1
    requests.legal[1] += 1
    assert of_row(requests, 1) == last


class Root:
    """A root of five edges in memory of its own."""

    def __init__(self) -> None:
        draw = np.random.default_rng(3)
        self.edges = draw.integers(0, 2**32, 7 * 4, np.uint32).view(EdgeRecord.dtype)
        self.nodes = draw.integers(0, 2**31, 16, np.int32).view(NodeRecord.dtype)
        self.node = self.nodes[0]
        self.node["first_edge"], self.node["num_edges"] = 2, 5
        self.forest = np.zeros((), ForestRecord.dtype)
        self.forest["edges"] = self.edges.ctypes.data

    def fingerprint(self) -> int:
        start = np.uint64(fingerprint.START)
        return int(fold_root(start, self.forest.ctypes.data, self.nodes.ctypes.data))

    def reference(self) -> int:
        """The same with Python's integers."""
        total = 0
        for edge in self.edges[2:]:
            word = (int(edge["word"]) | int(edge["visits"]) << 32) * 0xBF58476D1CE4E5B9 & MASK
            word = (word ^ word >> 32 ^ int(edge["value_bits"])) * 0x94D049BB133111EB & MASK
            total += word ^ word >> 29
        state = folded(fingerprint.START, total)
        state = folded(folded(state, int(self.node["value_sum"])), int(self.node["draw_sum"]))
        return folded(state, int(self.node["visits"]) | 5 << 32)


def test_roots_against_plain_integers() -> None:
    root = Root()
    assert root.fingerprint() == root.reference()


def test_what_a_search_found_counts_and_not_where_it_lies() -> None:
    root = Root()
    expected = root.fingerprint()
    root.edges[2:] = root.edges[[4, 2, 6, 5, 3]]
    root.edges["child"] += 1
    root.edges["word"][:2] += 1
    root.node["parent"] += 1
    root.node["pending"] += 1
    assert root.fingerprint() == expected
    seen = {expected}
    for edge in range(2, 7):
        for name in ("word", "visits", "value_bits"):
            root.edges[name][edge] ^= 1
            seen.add(root.fingerprint())
    for name in ("visits", "value_sum", "draw_sum"):
        root.node[name] += 1
        seen.add(root.fingerprint())
    assert len(seen) == 19


@pytest.mark.parametrize("most_steps", [0, 1, 4, 31])
def test_tags_are_spread_evenly(most_steps: int) -> None:
    count, state = num_tags(most_steps), fingerprint.START
    hits = np.zeros(count)
    for number in range(200 * count):
        state = folded(state, number)
        hits[int(make_tag(np.uint64(state), count))] += 1
    assert 130 < hits.min() <= hits.max() < 280


class OffByOne(LoudBackend):
    """Differs in the last bit of one accumulator of one question in two hundred."""

    def answer(self, requests, rows):  # type: ignore[no-untyped-def]
        """As the others, but for that bit."""
        super().answer(requests, rows)
        rare = requests.planes[rows].sum(axis=1) % np.uint64(200) == 0
        requests.policy[rows[rare], 0] ^= 1


TREES = {
    "drawn": TreeConfig(),
    "gumbel": TreeConfig(search="gumbel", sims=8, cache_mb=0),
    "puct": TreeConfig(search="puct", sims=12, cache_mb=0),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_fingerprints_are_the_games_alone(tree: TreeConfig) -> None:
    config = GameConfig(max_plies=30, random_plies=5)
    one = play(config, 12, LoudBackend(64), 12, tree=tree)
    cached = tree if tree.search == "none" else tree.model_copy(update={"cache_mb": 1})
    other = play(config, 12, LoudBackend(3), 7, 2, splits=[4], tree=cached)
    assert np.array_equal(one.fingerprint, other.fingerprint)
    assert np.array_equal(one.tag, other.tag)
    assert len(set(one.fingerprint.tolist())) == 12
    judged = (one.steps > 0) | (one.visits > 0)
    assert not one.tag[~judged].any()
    assert len(set(one.tag[judged].tolist())) > 20


def test_one_bit_that_changes_no_move_is_noticed() -> None:
    """Where the games are the same, fingerprints still say that the answers were not."""
    config = GameConfig(max_plies=40, random_plies=5)
    one, other = (play(config, 40, backend(64), 40) for backend in (LoudBackend, OffByOne))
    same_moves = [
        game
        for game, (a, b) in enumerate(zip(one.offsets[:-1], one.offsets[1:], strict=True))
        if np.array_equal(one.action[a:b], other.action[other.offsets[game] :][: b - a])
    ]
    parted = [game for game in same_moves if one.fingerprint[game] != other.fingerprint[game]]
    assert 0 < len(parted) < len(same_moves)
    for game in parted:
        plies = slice(*one.offsets[game : game + 2])
        theirs = slice(*other.offsets[game : game + 2])
        assert (one.tag[plies] != other.tag[theirs]).any()
