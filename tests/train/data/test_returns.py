"""Returns: against generalised advantage estimation written out, and against the definition."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.store.games import made_up
from tests.train.games import advantages
from vecchess.chess.rules import Termination
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.train.data.value_targets import lambda_returns, outcomes


@pytest.fixture
def records() -> GameRecords:
    """Made-up games; win and draw fit together, White begins in the first half, Black after."""
    made = made_up(list(range(40)), 3)
    draw = np.minimum(made.draw, VALUE_UNIT - np.minimum(made.win, VALUE_UNIT))
    start = made.start.copy()
    start[20:, 7] |= np.uint64(1 << 63)
    start[:20, 7] &= np.uint64(2**63 - 1)
    return replace(made, draw=draw.astype(np.uint16), start=start)


def gae(records: GameRecords, trace: float, plies: range) -> list[float]:
    """Schulman et al. 2016, gamma = 1, in White's view throughout: the sums as in the paper."""
    black = int(records.start[np.searchsorted(records.offsets, plies[0], "right") - 1, 7] >> 63)
    sign = [1 if (black + i) % 2 == 0 else -1 for i in range(len(plies))]
    game = int(np.searchsorted(records.offsets, plies[0], "right")) - 1
    loss = VALUE_UNIT - records.win.astype(int) - records.draw
    values = [s * (int(records.win[p]) - loss[p]) / 511 for s, p in zip(sign, plies, strict=True)]
    values.append(0.0)
    rewards = [0.0] * (len(plies) - 1) + [float(records.result[game])]
    deltas = [rewards[t] + values[t + 1] - values[t] for t in range(len(plies))]
    ends = len(plies)
    sums = [sum(trace ** (k - t) * deltas[k] for k in range(t, ends)) for t in range(ends)]
    return [s * a for s, a in zip(sign, sums, strict=True)]


@pytest.mark.parametrize("trace", [0.0, 0.6, 0.95, 1.0])
def test_advantages_are_gae_with_signs(records, trace) -> None:
    everywhere = replace(records, steps=np.ones_like(records.steps))
    found = advantages(everywhere, lambda_returns(everywhere, trace))
    for game in range(records.num_games):
        plies = range(*records.offsets[game : game + 2])
        assert np.allclose(found[plies], gae(records, trace, plies), atol=1e-5)


@pytest.mark.parametrize("trace", [0.0, 0.6, 1.0])
def test_a_game_that_goes_on_ends_in_its_last_value(records, trace) -> None:
    """Its other plies have the advantages of a game without the last one, worth that value."""
    going = replace(
        records,
        steps=np.ones_like(records.steps),
        termination=np.full_like(records.termination, Termination.ONGOING),
        result=np.zeros_like(records.result),
    )
    returned = lambda_returns(going, trace)
    found = advantages(going, returned)
    for game in range(records.num_games):
        plies = range(*records.offsets[game : game + 2])
        assert found[plies[-1]] == pytest.approx(0, abs=1e-6)
        if len(plies) > 1:
            assert np.allclose(found[plies[:-1]], bootstrapped(going, trace, plies), atol=1e-5)


def bootstrapped(records: GameRecords, trace: float, plies: range) -> list[float]:
    """Schulman et al. 2017, equation 11, with the value of the last position at the end."""
    black = int(records.start[np.searchsorted(records.offsets, plies[0], "right") - 1, 7] >> 63)
    sign = [1 if (black + i) % 2 == 0 else -1 for i in range(len(plies))]
    loss = VALUE_UNIT - records.win.astype(int) - records.draw
    values = [s * (int(records.win[p]) - loss[p]) / 511 for s, p in zip(sign, plies, strict=True)]
    deltas = [after - before for before, after in pairwise(values)]
    sums = [
        sum(trace ** (k - t) * deltas[k] for k in range(t, len(deltas))) for t in range(len(deltas))
    ]
    return [s * a for s, a in zip(sign[:-1], sums, strict=True)]


@pytest.mark.parametrize("trace", [0.0, 0.6, 1.0])
def test_returns_follow_their_definition(records, trace) -> None:
    returned, known, result = (
        lambda_returns(records, trace),
        records.evaluated(),
        outcomes(records),
    )
    assert np.allclose(returned.sum(axis=1), 1, atol=1e-6)
    assert 0 < known.sum() < len(known)
    for game in range(records.num_games):
        first, end = records.offsets[game : game + 2]
        assert result[first] == records.result[game] * (1 if game < 20 else -1)
        assert np.array_equal(returned[end - 1], np.eye(3)[1 - result[end - 1]])
        for ply in range(first, end - 1):
            rest = returned[ply + 1, ::-1]
            win, draw = records.win[ply + 1] / VALUE_UNIT, records.draw[ply + 1] / VALUE_UNIT
            value = np.array([1 - win - draw, draw, win])
            wanted = (1 - trace) * value + trace * rest if known[ply + 1] else rest
            if known[ply] and not known[ply + 1]:  # a random move comes next
                win, draw = records.win[ply] / VALUE_UNIT, records.draw[ply] / VALUE_UNIT
                wanted = np.array([win, draw, 1 - win - draw])
            assert np.allclose(returned[ply], wanted, atol=1e-6)


def test_the_result_says_nothing_of_moves_before_a_random_move(records) -> None:
    """As in engine games with random moves: after each the side that made it has mostly lost."""
    returned, known = lambda_returns(records, 1.0), records.evaluated()
    is_result = (returned == np.eye(3)[1 - outcomes(records)]).all(axis=1)
    for first, end in pairwise(records.offsets.tolist()):
        evaluated = np.flatnonzero(known[first:end])
        random = np.flatnonzero(~known[first:end])
        last_random = random[random > evaluated.min(initial=end)].max(initial=0)
        assert is_result[first + last_random : end].all()
        before = evaluated[evaluated < last_random]
        assert not is_result[first + before].any()


def test_without_a_value_there_is_no_advantage(records) -> None:
    plain = replace(records, steps=records.steps * 0, visits=records.visits * 0)
    returned = lambda_returns(plain, 1.0)
    assert np.array_equal(returned, np.eye(3)[1 - outcomes(plain)])
    returned = lambda_returns(records, 1.0)
    found = advantages(records, returned)
    assert (found[~records.evaluated()] == 0).all()
    assert found[records.evaluated()].any()
