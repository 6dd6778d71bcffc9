import chess
import numpy as np
import pytest

from tests.inference.requests import ask
from vecchess.chess.fen import from_board
from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.inference.builtin import ConstantBackend, MaterialBackend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests

VALUES = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}


def judge(requests: Requests, num_slots: int = 7) -> None:
    """Answer all rows, through the engine."""
    engine = SlotEngine(MaterialBackend(num_slots), requests)
    engine.submit(np.arange(requests.num_rows, dtype=np.int32))
    while not engine.is_idle:
        engine.step()


def score(wdl: list[int]) -> float:
    """Expected score of the mover, win + draw / 2."""
    win, draw, loss = np.exp(np.array(wdl) * MaterialBackend.value_scale)
    return float((win + draw / 2) / (win + draw + loss))


def judge_board(board: chess.Board) -> list[int]:
    requests = Requests.empty(1, NUM_PLANES)
    requests.planes[:] = encode_planes(np.array([from_board(board)]))
    requests.num_legal[0] = 20
    judge(requests)
    return [int(number) for number in requests.wdl[0]]


def material(board: chess.Board) -> int:
    """Of the side to move over the other."""
    mine, theirs = board.turn, not board.turn
    return sum(
        value * (len(board.pieces(kind, mine)) - len(board.pieces(kind, theirs)))
        for kind, value in VALUES.items()
    )


FENS = [
    chess.STARTING_FEN,
    "4k3/8/8/8/8/8/P7/4K3 w - - 0 1",
    "4k3/8/8/8/8/8/P7/4K3 b - - 0 1",
    "q3k2r/8/2n5/8/8/8/PPP5/R3K3 w Qk - 40 60",
    "4k3/pppppppp/8/8/8/8/QQQQQQQQ/QRBNKNBR b - - 0 1",
]


@pytest.mark.parametrize("fen", FENS)
def test_balance_is_that_of_the_men_in_pawns(fen: str) -> None:
    board = chess.Board(fen)
    assert judge_board(board) == [material(board), 0, -material(board)]


@pytest.mark.parametrize("fen", FENS)
def test_what_one_side_wins_the_other_loses(fen: str) -> None:
    board = chess.Board(fen)
    win, draw, loss = judge_board(board)
    assert judge_board(board.mirror()) == [win, draw, loss]
    board.turn = not board.turn
    assert judge_board(board) == [loss, draw, win]


def test_expected_score_grows_with_the_balance() -> None:
    scores = [score([balance, 0, -balance]) for balance in range(-40, 41)]
    assert (np.diff(scores) > 0).all()
    expected = {0: 0.5, 1: 0.592, 3: 0.751, 5: 0.859, 9: 0.957, -9: 0.043}
    for balance, value in expected.items():
        assert scores[balance + 40] == pytest.approx(value, abs=5e-4)


def test_nothing_but_the_answer_is_written() -> None:
    requests, asked = ask(50), ask(50)
    requests.policy[:] = 99
    judge(requests)
    for name in ("planes", "legal", "num_legal"):
        assert np.array_equal(getattr(requests, name), getattr(asked, name))
    assert (requests.steps == 1).all()
    for row, count in enumerate(requests.num_legal):
        assert (requests.policy[row, :count] == 0).all()
        assert (requests.policy[row, count:] == 99).all()


def test_the_constant_backend_expects_the_same_everywhere() -> None:
    constant, material = ask(10), ask(10)
    rows = np.arange(10, dtype=np.int32)
    for requests in (constant, material):
        requests.wdl[:] = 5
    ConstantBackend(10).answer(constant, rows)
    MaterialBackend(10).answer(material, rows)
    assert (constant.wdl == 0).all()
    material.wdl[:] = 0
    for one, other in zip(constant, material, strict=True):
        assert np.array_equal(one, other)


def test_it_has_no_network_to_replace() -> None:
    with pytest.raises(ValueError, match="cannot be replaced"):
        MaterialBackend(1).replace_network(None)  # type: ignore[arg-type]
