"""Collated samples are the positions that were played, with the recorded facts."""

from dataclasses import replace

import chess
import numpy as np
import pytest

from tests.train.games import advantages, games, searched
from vecchess.chess.pgn import start_board, to_pgn
from vecchess.chess.planes import num_planes
from vecchess.chess.rules import Termination
from vecchess.errors import DataError
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import replay_moves, replay_positions
from vecchess.store.targets import lay_out_targets
from vecchess.train.data.samples import make_samples
from vecchess.train.data.shard_block import ShardBlock, trainable_plies
from vecchess.train.data.value_targets import SampleRules, lambda_returns

WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}


@pytest.fixture(scope="module", params=[False, True], ids=["standard", "chess960"])
def records(request) -> GameRecords:
    return searched(games(chess960=request.param))


@pytest.mark.parametrize("planes", [num_planes(1), num_planes(4, True), num_planes(2, True, True)])
def test_samples_are_those_of_a_replay(records, planes: int) -> None:
    plies = np.random.default_rng(0).permutation(len(records.action))
    rows = make_samples(records, plies, SampleRules(0.7), planes)
    every = replay_positions(records, np.arange(len(plies)), planes)
    assert np.array_equal(rows.planes, every.requests.planes[plies])
    assert np.array_equal(rows.legal, every.requests.legal[plies])
    assert np.array_equal(rows.num_legal, every.requests.num_legal[plies])
    assert np.array_equal(rows.played, every.played[plies])
    assert np.array_equal(rows.outcome, every.outcome[plies])
    assert np.array_equal(rows.prob, records.prob[plies])
    assert np.array_equal(rows.steps, records.steps[plies])
    returned = lambda_returns(records, 0.7)
    assert np.allclose(rows.returned, returned[plies], atol=1e-6)
    assert np.allclose(rows.advantage, advantages(records, returned)[plies], atol=1e-6)


@pytest.mark.parametrize("lead", [0, 1, 3])
def test_games_at_the_cap_teach_a_win_of_who_is_ahead(records, lead: int) -> None:
    capped = replace(records, termination=records.termination.copy())
    capped.termination[::3] = Termination.PLY_CAP
    expected = []
    for game in range(capped.num_games):
        moves = replay_moves(capped).moves[slice(*capped.offsets[game : game + 2])]
        board = to_pgn({}, start_board(capped.start[game], chess960=True), moves).end().board()
        result = int(capped.result[game])
        men = [(WORTH.get(man.piece_type, 0), man.color) for man in board.piece_map().values()]
        balance = sum(value if colour else -value for value, colour in men)
        if capped.termination[game] == Termination.PLY_CAP and abs(balance) >= lead > 0:
            result = 1 if balance > 0 else -1
        expected.append(result)
    assert lead == 0 or {-1, 1} <= {*expected}
    rules = SampleRules(trace=1.0, capped_lead=lead)
    assert ShardBlock.of(capped, rules).result.tolist() == expected
    taught = replace(capped, result=np.array(expected, np.int8))
    plies = trainable_plies(records)
    found, wanted = make_samples(capped, plies, rules), make_samples(taught, plies)
    assert np.array_equal(found.outcome, wanted.outcome)
    assert np.array_equal(found.returned, wanted.returned)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_values_may_count_the_men(records, share: float) -> None:
    plies = np.arange(len(records.action))
    found = make_samples(records, plies, SampleRules(0.9, material_share=share))
    plain = make_samples(records, plies)
    balances = []
    for game in range(records.num_games):
        moves = replay_moves(records).moves[slice(*records.offsets[game : game + 2])]
        for node in to_pgn({}, start_board(records.start[game], chess960=True), moves).mainline():
            board = node.parent.board()
            men = [(WORTH.get(man.piece_type, 0), man.color) for man in board.piece_map().values()]
            balances.append(sum(value if own == board.turn else -value for value, own in men))
    assert {-1, 0, 1} <= {*np.sign(balances).tolist()}
    score = 2 / (1 + np.exp(-0.368208 * np.array(balances))) - 1
    worth = np.stack([np.maximum(score, 0), 1 - np.abs(score), np.maximum(-score, 0)], axis=1)
    wanted = ((1 - share) * plain.value + share * worth) * plain.has_value[:, None]
    assert np.allclose(found.value, wanted, atol=2 / VALUE_UNIT)
    won, drawn = (np.rint(found.value[:, i] * VALUE_UNIT).astype(np.uint16) for i in (0, 1))
    returned = lambda_returns(replace(records, win=won, draw=drawn), 0.9)
    assert np.allclose(found.returned, returned, atol=1e-2)
    assert np.allclose(
        found.advantage,
        advantages(replace(records, win=won, draw=drawn), found.returned),
        atol=1e-2,
    )


def test_values_are_those_recorded(records) -> None:
    rows = make_samples(records, np.arange(len(records.action)))
    evaluated = (records.steps > 0) | (records.visits > 0)
    assert np.array_equal(rows.has_value, evaluated)
    assert 0 < evaluated.sum() < len(evaluated)
    win, draw = records.win / VALUE_UNIT, records.draw / VALUE_UNIT
    wanted = np.stack([win, draw, 1 - win - draw], axis=1) * evaluated[:, None]
    assert np.allclose(rows.value, wanted, atol=1e-6)


def test_policies_are_the_searchs_or_the_move_played(records) -> None:
    plies = np.arange(len(records.action))
    rows = make_samples(records, plies)
    has_target = np.diff(records.target_offsets) > 0
    is_fast = (records.visits > 0) & (records.full == 0)
    assert has_target.any()
    assert is_fast.any()
    is_random = ~records.evaluated() & (records.prob < 1)
    assert np.array_equal(rows.has_policy, ~is_fast & ~is_random)
    assert np.allclose(rows.policy.sum(axis=1), 1, atol=1e-6)
    expected = lay_out_targets(records, plies, rows.legal, rows.num_legal.astype(np.uint8))
    assert np.array_equal(rows.policy[has_target], expected[has_target].astype(np.float32))
    assert (rows.policy[~has_target, rows.played[~has_target]] == 1).all()


def test_a_full_search_without_a_target_recommends_what_was_played(records) -> None:
    plies = np.arange(len(records.action))
    none = np.zeros(0, np.uint16)
    bare = replace(
        records,
        target_offsets=np.zeros(len(plies) + 1, np.int64),
        target_action=none,
        target_prob=none,
    )
    rows = make_samples(bare, plies)
    is_random = ~records.evaluated() & (records.prob < 1)
    assert np.array_equal(
        rows.has_policy, ((records.visits == 0) | (records.full == 1)) & ~is_random
    )
    assert (rows.policy[plies, rows.played] == 1).all()


def test_a_wrong_move_or_target_is_named() -> None:
    records = searched(games(4))
    ply = int(records.offsets[2]) + 5
    action = records.action.copy()
    action[ply] = 65000
    with pytest.raises(DataError, match="game 2: the move recorded at ply 5 is illegal"):
        make_samples(replace(records, action=action), np.arange(1))
    full = int(np.flatnonzero(np.diff(records.target_offsets))[-1])
    target = records.target_action.copy()
    target[records.target_offsets[full]] = 65000
    with pytest.raises(DataError, match=r"game 3, ply \d+: the recorded target does not fit"):
        make_samples(replace(records, target_action=target), np.arange(1))
