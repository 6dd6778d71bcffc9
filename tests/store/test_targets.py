"""Recorded targets laid over legal moves, against dictionaries."""

from dataclasses import replace

import numpy as np
import pytest

from tests.store.games import made_up
from vecchess.errors import DataError
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.store.records import GameRecords
from vecchess.store.targets import lay_out_targets

pytestmark = pytest.mark.plain


def legal_of(records: GameRecords, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Legal moves of every ply: those of its target among others, in any order."""
    draw = np.random.default_rng(seed)
    legal = draw.integers(0, 2**16, (len(records.action), MAX_MOVES)).astype(np.uint16)
    counts = np.zeros(len(legal), np.uint8)
    for ply, row in enumerate(legal):
        wanted = records.target_action[slice(*records.target_offsets[ply : ply + 2])]
        others = np.setdiff1d(draw.choice(NUM_ACTIONS, 30, replace=False), wanted)
        moves = draw.permutation(np.concatenate([wanted, others]))[:MAX_MOVES]
        row[: len(moves)], counts[ply] = moves, len(moves)
    return legal, counts


def targets_of(records: GameRecords, ply: int) -> dict[int, int]:
    chosen = slice(*records.target_offsets[ply : ply + 2])
    codes, probs = records.target_action[chosen].tolist(), records.target_prob[chosen].tolist()
    return dict(zip(codes, probs, strict=True))


def test_targets_stand_where_their_moves_stand() -> None:
    records = made_up([3, 4], seed=3)
    plies = np.arange(len(records.action))[::2]
    legal, counts = legal_of(records, 1)
    laid = lay_out_targets(records, plies, legal[plies], counts[plies])
    assert laid.shape == (len(plies), MAX_MOVES)
    assert laid.dtype == np.float64
    for row, ply in enumerate(plies):
        target = targets_of(records, ply)
        total = sum(target.values())
        expected = np.zeros(MAX_MOVES)
        for place, code in enumerate(legal[ply, : counts[ply]].tolist()):
            expected[place] = target.get(code, 0) / total if target else 0
        assert laid[row].tolist() == expected.tolist()
        assert laid[row].sum() == pytest.approx(1 if target else 0)


def a_ply_with_a_target(records: GameRecords, game: int) -> int:
    sizes = np.diff(records.target_offsets)
    plies = np.arange(len(sizes))
    inside = (plies >= records.offsets[game]) & (plies < records.offsets[game + 1])
    return int(np.flatnonzero(inside & (sizes > 1))[-1])


@pytest.mark.parametrize("game", [0, 1, 2])
@pytest.mark.parametrize("fault", ["missing", "beyond", "too large", "the last code", "no weight"])
def test_a_target_that_does_not_fit_is_named(fault: str, game: int) -> None:
    records = made_up([7, 8, 9], seed=5)
    legal, counts = legal_of(records, 2)
    ply = a_ply_with_a_target(records, game)
    first = int(records.target_offsets[ply])
    action, prob = records.target_action.copy(), records.target_prob.copy()
    if fault == "missing":
        place = legal[ply, : counts[ply]].tolist().index(int(action[first]))
        legal[ply, place] = 65535 % NUM_ACTIONS if action[first] != 65535 % NUM_ACTIONS else 1
    elif fault == "beyond":
        moved = legal[ply, : counts[ply]].tolist().index(int(action[first]))
        legal[ply, [moved, counts[ply] - 1]] = legal[ply, [counts[ply] - 1, moved]]
        counts[ply] -= 1
    elif fault == "too large":
        action[first] = NUM_ACTIONS
    elif fault == "the last code":
        legal[ply][legal[ply] == NUM_ACTIONS - 1] = 0
        action[first] = NUM_ACTIONS - 1
    else:
        prob[first : records.target_offsets[ply + 1]] = 0
    changed = replace(records, target_action=action, target_prob=prob)
    place = ply - records.offsets[game]
    expected = f"game {7 + game}, ply {place}: the recorded target does not fit the legal moves"
    good = np.flatnonzero(np.diff(records.target_offsets) == 0)[:1]
    for chosen in (range(len(legal)), [ply], [ply, ply], [*good, ply]):
        plies = np.array(chosen)
        with pytest.raises(DataError, match=f"^{expected}$"):
            lay_out_targets(changed, plies, legal[plies], counts[plies])


def test_the_last_code_can_have_a_place() -> None:
    records = made_up([7], seed=5)
    legal, counts = legal_of(records, 2)
    ply = a_ply_with_a_target(records, 0)
    first, end = records.target_offsets[ply : ply + 2]
    action = records.target_action.copy()
    legal[ply, : end - first], counts[ply] = NUM_ACTIONS - 1 - np.arange(end - first), end - first
    action[first:end] = NUM_ACTIONS - 1 - np.arange(end - first)
    laid = lay_out_targets(
        replace(records, target_action=action), np.array([ply]), legal[[ply]], counts[[ply]]
    )
    probs = records.target_prob[first:end].astype(np.float64)
    assert laid[0, : end - first].tolist() == (probs / probs.sum()).tolist()
