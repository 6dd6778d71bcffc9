"""The batched search against one position at a time in plain Python: equal to the bit."""

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.search import scalar_gumbel, scalar_puct
from tests.search.samples import cornered, pasts, samples
from tests.search.scalar_tree import Question, Result
from tests.search.table_backend import TableBackend
from vecchess.chess.fen import from_fens, to_fens
from vecchess.chess.game_arrays import Games
from vecchess.chess.history import REPEATED_SHIFT
from vecchess.chess.planes import NUM_PLANES, POSITION_INPUTS, num_planes
from vecchess.chess.position import COUNTERS
from vecchess.chess.uci_moves import uci_to_move
from vecchess.config import TreeConfig
from vecchess.search.batch_search import BatchSearch

Words = NDArray[np.uint64]
SEARCHES = {"gumbel": scalar_gumbel.search, "puct": scalar_puct.search}
POSITIONS = {1: 10, 2: 12, 7: 14, 16: 12, 33: 8, 64: 5, 150: 3}
"""How many positions are searched with so many simulations: Python is slow."""
SETTINGS: dict[str, tuple[Any, ...]] = {
    "considered": (0, 1, 2, 4, 16),
    "c_visit": (50.0, 5.0),
    "c_scale": (1.0, 0.1),
    "c_puct": (1.745, 0.7, 4.0),
    "c_puct_base": (38739.0, 20.0),
    "c_puct_factor": (3.894, 0.0),
    "fpu_reduction": (0.33, 0.0, 1.2),
    "root_fpu_reduction": (0.1, 1.0),
    "policy_temperature": (1.0, 1.36, 0.5),
    "noise_fraction": (0.25, 0.0, 1.0),
    "noise_concentration": (10.0, 0.5, 300.0),
    "forced_playouts": (2.0, 0.0, 10.0),
    "solve": (True, True, False),
    "see_mates": (True, False),
    "draw_score": (0.0, 0.3, -0.2),
}
CALLS: dict[str, tuple[Any, ...]] = {
    "seed": (0, 2**63 - 1),
    "temperature": (1.0, 0.5, 0.0),
    "explore": (True, True, False),
}


@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("sims", POSITIONS)
@pytest.mark.parametrize("search", SEARCHES)
def test_equal_on_500_positions(search: str, sims: int, case: int) -> None:
    _compare(search, sims, POSITIONS[sims], random.Random(f"{search} {sims} {case}"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("search", SEARCHES)
def test_equal_on_10000_positions(search: str) -> None:
    rng = random.Random(search)
    for _ in range(80):
        for sims, num in POSITIONS.items():
            _compare(search, sims, num, rng)


@pytest.mark.thorough
@pytest.mark.parametrize("see_mates", [True, False])
@pytest.mark.parametrize("search", SEARCHES)
def test_equal_where_mates_are_proven(search: str, see_mates: bool) -> None:
    """Deep enough that the moves of a lost root lose at different distances."""
    config = TreeConfig(search=search, sims=200, see_mates=see_mates, cache_mb=0)
    expected = _compare_on(config, *cornered(8, 9), random.Random(6))
    assert sum(result.win == 0 and result.visits < 200 for result in expected) >= 2


def test_equal_where_a_result_is_nearly_certain() -> None:
    """A mate that is visited again and again, and not proven, leaves hardly any variance."""
    calm = {"c_puct": 0.5, "noise_fraction": 0.0, "forced_playouts": 0.0}
    config = TreeConfig(search="puct", sims=2000, solve=False, cache_mb=0, **calm)
    game = Games.at(from_fens(["k7/8/1K6/8/8/8/8/7R w - - 0 1"]), 400)
    (expected,) = _compare_on(config, game.positions, game.keys, random.Random(6))
    assert expected.win > 0.985


@pytest.mark.thorough
@pytest.mark.parametrize("history", [2, 3, 8])
@pytest.mark.parametrize("search", SEARCHES)
def test_equal_where_the_network_sees_earlier_positions(search: str, history: int) -> None:
    """The table's answers depend on every plane: those of the game, and of the way down."""
    config = TreeConfig(search=search, sims=40, cache_mb=0, see_mates=False)
    rng = random.Random(history)
    planes = num_planes(history, tactical=history == 3, moves=history != 1)
    _compare_on(config, *samples(12, 31), rng, pasts(12, 31), planes)


@pytest.mark.parametrize("search", SEARCHES)
def test_equal_where_the_network_sees_positions_as_they_are(search: str) -> None:
    """Answers depend on clock, colour, and on which of the positions before were repeated."""
    config = TreeConfig(search=search, sims=40, cache_mb=0, see_mates=False)
    positions, keys = samples(12, 31)
    _compare_on(config, positions, keys, random.Random(8), pasts(12, 31), POSITION_INPUTS)
    game, only = Games.at(from_fens(["7k/8/8/8/8/8/8/R3K3 w - - 0 1"]), 400), np.zeros(1, int)
    for uci in ("a1a2", "h8g8", "a2a1", "g8h8", "a1a2"):
        game.play(only, np.array([uci_to_move(game.positions[0], uci)], np.uint16))
    assert (game.past[0, :, COUNTERS] >> np.uint64(REPEATED_SHIFT) & np.uint64(1)).sum() == 1
    _compare_on(config, game.positions, game.keys, random.Random(3), game.past, POSITION_INPUTS)


def _compare(search: str, sims: int, num: int, rng: random.Random) -> None:
    """Search ``num`` positions with settings drawn by ``rng`` both ways."""
    drawn = {name: rng.choice(values) for name, values in SETTINGS.items()}
    config = TreeConfig(search=search, sims=sims, reuse=False, cache_mb=0, **drawn)
    _compare_on(config, *samples(num, rng.getrandbits(30)), rng)


def _compare_on(
    config: TreeConfig,
    positions: Words,
    histories: Words,
    rng: random.Random,
    past: Words | None = None,
    planes: int = NUM_PLANES,
) -> list[Result]:
    num, call = len(positions), {name: rng.choice(values) for name, values in CALLS.items()}
    numbers = np.array([rng.getrandbits(40) for _ in range(num)])
    plies = np.array([rng.randrange(500) for _ in range(num)])
    keys = histories if rng.random() < 0.8 else None
    results = BatchSearch(config, TableBackend(7), num, num_planes=planes).run(
        positions, keys, past, numbers=numbers, plies=plies, **call
    )
    expected = []
    for row, position in enumerate(positions):
        known = None if keys is None else keys[row]
        before = None if past is None else past[row]
        game = {"number": int(numbers[row]), "ply": int(plies[row]), **call}
        question = Question(config, position, known, before, planes, **game)
        expected.append(SEARCHES[config.search](question))
        where = f"{to_fens(positions[row : row + 1])[0]} {config} {game} {keys is None}"
        _assert_equal(results, row, expected[-1], where)
    return expected


def _assert_equal(results: Any, row: int, expected: Result, where: str) -> None:
    first, end = results.edge_offsets[row : row + 2]
    actions, visits, qs, priors = zip(*expected.edges, strict=True)
    num_opened = len(qs) - qs.count(None)
    assert results.edge_action[first:end].tolist() == list(actions), where
    assert results.edge_visits[first:end].tolist() == list(visits), where
    assert results.edge_prior[first:end].tolist() == list(priors), where
    assert results.edge_q[first : first + num_opened].tolist() == list(qs[:num_opened]), where
    assert results.visits[row] == expected.visits, where
    assert results.action[row] == expected.action, where
    assert results.prob[row] == expected.prob, where
    assert results.steps[row] == expected.steps, where
    assert _target(results, row) == expected.target, where
    unit = 2**24
    assert results.win[row] / unit == pytest.approx(expected.win, abs=1e-6), where
    assert results.draw[row] / unit == pytest.approx(expected.draw, abs=1e-6), where


def _target(results: Any, row: int) -> list[tuple[int, int]]:
    first, end = results.target_offsets[row : row + 2]
    columns: list[NDArray[np.uint16]] = [results.target_action, results.target_prob]
    return list(zip(*(column[first:end].tolist() for column in columns), strict=True))
