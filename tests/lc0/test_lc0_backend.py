"""Players' questions to lc0's networks: the same answer however they are asked, and lc0's own."""

import os
from pathlib import Path

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.lc0.made import weight_file
from tests.lc0.test_lc0_planes import seen_after
from vecchess.chess.action import moves_to_actions
from vecchess.chess.fen import from_board
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import NUM_PLANES, POSITION_INPUTS, encode_planes
from vecchess.chess.uci_moves import move_to_uci
from vecchess.inference.engine import SlotEngine
from vecchess.inference.float_backend import UNITS
from vecchess.inference.lc0_backend import Lc0Backend
from vecchess.inference.requests import Requests
from vecchess.lc0.lc0_moves import lc0_moves
from vecchess.lc0.lc0_network import Lc0Network
from vecchess.lc0.weights_file import load_weights, parse_weights
from vecchess.selfplay.worker.random_requests import random_requests

MAIA = Path(os.environ.get("VECCHESS_MAIA", "/nowhere")) / "maia-1100.pb.gz"
"""Of https://github.com/CSSLab/maia-chess, where VECCHESS_MAIA names a folder that has it."""
GOLDEN = {
    "": ({"e2e4": 0.6608, "d2d4": 0.2095, "e2e3": 0.0301}, 0.0456, 0.0387),
    "e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 f3g5": (
        {"d7d5": 0.7285, "d8e7": 0.0851, "f8c5": 0.0659}, -0.1804, 0.0282
    ),
    "g1f3 g8f6 f3g1 f6g8 g1f3": (
        {"g8f6": 0.2061, "e7e6": 0.1536, "d7d5": 0.1129}, -0.0726, 0.0637
    ),
}  # fmt: skip
"""Lines of moves: probabilities of the best moves, win less loss, draw; after lc0 0.32.1, eigen."""


def answered(num_slots: int, threads: int, order: NDArray[np.int32]) -> Requests:
    """21 questions, answered in ``order``."""
    requests = random_requests(21, 3, POSITION_INPUTS)
    backend = Lc0Backend(parse_weights(weight_file()), num_slots, threads=threads)
    engine = SlotEngine(backend, requests)
    engine.submit(order)
    while not engine.is_idle:
        engine.step()
    return requests


def test_an_answer_depends_on_its_question_alone() -> None:
    order = np.arange(21, dtype=np.int32)
    first = answered(21, 1, order)
    assert (first.steps == 1).all()
    assert len(np.unique(first.wdl, axis=0)) == 21
    for slots, threads, turn in ((1, 1, 1), (5, 1, -1), (21, 2, -1), (13, 3, 1)):
        other = answered(slots, threads, order[::turn])
        assert np.array_equal(other.policy, first.policy)
        assert np.array_equal(other.wdl, first.wdl)


def test_answers_are_the_network_s_own_logits() -> None:
    """Every legal move has the logit of its place in lc0's order."""
    weights = parse_weights(weight_file(conv_policy=False))
    promotes = "3r4/2P1k3/8/8/8/8/8/R3K2R w KQ - 0 1"
    ((board, planes),) = seen_after(promotes, [])
    policy, outcomes = Lc0Network(weights).answers(np.repeat(planes[None], 8, axis=0))
    requests = Requests.empty(1, POSITION_INPUTS)
    position = from_board(board)[None]
    moves, counts = legal_moves(position)
    requests.planes[:] = encode_planes(position, 0, None, POSITION_INPUTS)
    requests.legal[0, : counts[0]] = moves_to_actions(moves[0, : counts[0]])
    requests.num_legal[0] = counts[0]
    backend = Lc0Backend(weights, 1)
    backend.answer(requests, np.zeros(1, np.int32))
    assert np.allclose(requests.wdl[0] / UNITS, outcomes[0], atol=1e-5)
    places = {move.uci(): index for index, move in enumerate(lc0_moves())}
    ours = {"e1g1": "e1h1", "e1c1": "e1a1", "c7c8n": "c7c8", "c7d8n": "c7d8"}
    for index, move in enumerate(moves[0, : counts[0]]):
        uci = move_to_uci(position[0], int(move))
        wanted = policy[0, places[ours.get(uci, uci)]]
        assert requests.policy[0, index] / UNITS == pytest.approx(wanted, abs=1e-5), uci
    assert {"c7c8q", "c7c8n", "c7d8r", "e1g1"} <= {move.uci() for move in board.legal_moves}


def test_questions_of_planes_are_refused() -> None:
    backend = Lc0Backend(parse_weights(weight_file()), 1)
    requests = Requests.empty(1, NUM_PLANES)
    requests.num_legal[:] = 1
    with pytest.raises(ValueError, match="25 planes, the network sees 64"):
        backend.answer(requests, np.zeros(1, np.int32))


@pytest.mark.skipif(not MAIA.is_file(), reason="VECCHESS_MAIA names no folder with maia-1100.pb.gz")
@pytest.mark.parametrize("line", GOLDEN)
def test_maia_answers_as_in_lc0(line: str) -> None:
    """The three best moves, and the value."""
    wanted, q, d = GOLDEN[line]
    board, planes = seen_after(chess.STARTING_FEN, line.split())[-1]
    policy, outcomes = Lc0Network(load_weights(MAIA)).answers(planes[None])
    flip = 0 if board.turn else 56
    legal = {
        chess.Move(move.from_square ^ flip, move.to_square ^ flip): policy[0, index]
        for index, move in enumerate(lc0_moves())
        if chess.Move(move.from_square ^ flip, move.to_square ^ flip) in board.legal_moves
    }
    total = sum(np.exp(logit) for logit in legal.values())
    best = sorted(legal, key=lambda move: -legal[move])[:3]
    assert [move.uci() for move in best] == list(wanted)
    for move in best:
        assert np.exp(legal[move]) / total == pytest.approx(wanted[move.uci()], abs=1e-3)
    win, draw, loss = np.exp(outcomes[0]) / np.exp(outcomes[0]).sum()
    assert (win - loss, draw) == (pytest.approx(q, abs=1e-3), pytest.approx(d, abs=1e-3))
