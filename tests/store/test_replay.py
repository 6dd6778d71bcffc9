"""Replayed positions are the very questions that self-play had put to the network."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.selfplay.playing import LoudBackend, play
from tests.selfplay.playing import replay as replay_by_python_chess
from vecchess.config import GameConfig
from vecchess.errors import DataError
from vecchess.inference.requests import Requests
from vecchess.store.records import GameRecords
from vecchess.store.replay import replay


class Recorder(LoudBackend):
    """Notes every question."""

    def __init__(self, num_slots: int) -> None:
        super().__init__(num_slots)
        self.asked: Counter[bytes] = Counter()

    def admit(self, slots, requests, rows):
        super().admit(slots, requests, rows)
        self.asked += Counter(_questions(requests, rows))


def _questions(requests: Requests, rows) -> list[bytes]:
    return [
        requests.planes[row].tobytes() + requests.legal[row, : requests.num_legal[row]].tobytes()
        for row in rows
    ]


@pytest.fixture(scope="module", params=[False, True], ids=["standard", "chess960"])
def played(request) -> tuple[GameRecords, Recorder]:
    backend = Recorder(64)
    config = GameConfig(max_plies=120, random_plies=3, chess960=request.param)
    return play(config, 30, backend), backend


def test_every_question_comes_back(played) -> None:
    records, backend = played
    asked = np.flatnonzero(records.steps > 0)
    back = replay(records, asked)
    assert Counter(_questions(back.requests, range(len(asked)))) == backend.asked
    legal = back.requests.legal[np.arange(len(asked)), back.played]
    assert np.array_equal(legal, records.action[asked])


def test_a_few_plies_are_those_of_all(played) -> None:
    records, _ = played
    every = replay(records, np.arange(len(records.action)))
    some = np.sort(np.random.default_rng(1).choice(len(records.action), 50, replace=False))
    few = replay(records, some)
    assert np.array_equal(few.requests.planes, every.requests.planes[some])
    assert np.array_equal(few.requests.legal, every.requests.legal[some])
    for name in ("game", "played", "outcome"):
        assert np.array_equal(getattr(few, name), getattr(every, name)[some])
    assert replay(records, some[:0]).requests.num_rows == 0


def test_outcome_is_the_movers() -> None:
    records = play(GameConfig(), 40)
    assert len(np.unique(records.result)) == 3
    every = replay(records, np.arange(len(records.action)))
    for index, board in enumerate(replay_by_python_chess(records)):
        outcome = every.outcome[every.game == index]
        assert len(outcome) == len(board.move_stack)
        assert outcome[0] == records.result[index]
        assert outcome[:2].sum() == 0


def test_an_illegal_move_is_named() -> None:
    records = play(GameConfig(max_plies=20), 3)
    action = records.action.copy()
    action[records.offsets[1] + 4] = action[records.offsets[1] + 4] ^ 63
    with pytest.raises(DataError, match="game 1: the move recorded at ply 4 is illegal"):
        replay(replace(records, action=action), np.arange(len(action)))
