"""Replayed positions are the very questions that self-play had put to the network."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from tests.chess.walks import men_before, to_code
from tests.kernels import size
from tests.selfplay.playing import Recorder, play, questions_in
from tests.selfplay.playing import replay as replay_by_python_chess
from tests.store.games import walked
from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.chess.fen import from_board
from vecchess.chess.game_arrays import Games
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import NUM_PLANES, POSITION_INPUTS, encode_planes, num_planes
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import action_of
from vecchess.config import GameConfig
from vecchess.errors import DataError
from vecchess.importers.imported_game import ImportedGame, to_records
from vecchess.inference.requests import Requests
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_moves, replay_positions

CASES = {
    "standard": (False, NUM_PLANES),
    "chess960": (True, NUM_PLANES),
    "tactical": (False, num_planes(2, tactical=True, moves=True)),
    "eight": (True, num_planes(8)),
}
"""Chess960 or not, and the input planes."""


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def played(request) -> tuple[GameRecords, Recorder, int]:
    chess960, planes = request.param
    backend = Recorder(64)
    config = GameConfig(max_plies=120, random_plies=3, chess960=chess960)
    return play(config, 30, backend, planes=planes), backend, planes


def test_every_question_comes_back(played) -> None:
    records, backend, planes = played
    asked = np.flatnonzero(records.steps > 0)
    back = replay_positions(records, asked, planes)
    assert Counter(questions_in(back.requests, range(len(asked)))) == backend.asked
    legal = back.requests.legal[np.arange(len(asked)), back.played]
    assert np.array_equal(legal, records.action[asked])


def test_a_few_plies_are_those_of_all(played) -> None:
    records, _, planes = played
    every = replay_positions(records, np.arange(len(records.action)), planes)
    some = np.sort(np.random.default_rng(1).choice(len(records.action), 50, replace=False))
    few = replay_positions(records, some, planes)
    assert np.array_equal(few.requests.planes, every.requests.planes[some])
    assert np.array_equal(few.requests.legal, every.requests.legal[some])
    for name in ("game", "played", "outcome"):
        assert np.array_equal(getattr(few, name), getattr(every, name)[some])
    assert replay_positions(records, some[:0]).requests.num_rows == 0


def test_openings_leave_nothing_behind_for_the_next(tmp_path: Path) -> None:
    """Where taking the rook in a random opening ends the game, another opening is drawn."""
    openings = tmp_path / "rook.epd"
    openings.write_text("7k/8/8/8/8/8/6r1/5K2 w - - 3 40\n")
    backend = Recorder(16)
    config = GameConfig(max_plies=12, random_plies=4, openings=openings)
    records = play(config, 60, backend, seats=5, planes=num_planes(8))
    asked = np.flatnonzero(records.steps > 0)
    back = replay_positions(records, asked, num_planes(8))
    assert Counter(questions_in(back.requests, range(len(asked)))) == backend.asked


def test_planes_of_earlier_positions_are_python_chess_s() -> None:
    records = play(GameConfig(max_plies=60), 8, planes=num_planes(5))
    planes = replay_positions(
        records, np.arange(len(records.action)), num_planes(5)
    ).requests.planes
    for index, board in enumerate(replay_by_python_chess(records)):
        for ply in range(records.offsets[index + 1] - 1, records.offsets[index] - 1, -1):
            board.pop()
            assert planes[ply, NUM_PLANES:].tolist() == men_before(board, 5)


def test_outcome_is_the_movers() -> None:
    records = play(GameConfig(), 16)
    assert len(np.unique(records.result)) == 3
    every = replay_positions(records, np.arange(len(records.action)))
    for index, board in enumerate(replay_by_python_chess(records)):
        outcome = every.outcome[every.game == index]
        assert len(outcome) == len(board.move_stack)
        assert outcome[0] == records.result[index]
        assert outcome[:2].sum() == 0


@pytest.mark.plain
@pytest.mark.parametrize("history", [1, 3])
def test_positions_are_those_of_python_chess(history: int) -> None:
    records, last = walked(size(60, 8), seed=2)
    every = replay_positions(records, np.arange(len(records.action)), num_planes(history))
    assert every.requests.planes.shape == (len(records.action), num_planes(history))
    for index, board in enumerate(last):
        for ply in range(records.offsets[index + 1] - 1, records.offsets[index] - 1, -1):
            move = board.pop()
            position = from_board(board)[None]
            moves, (count,) = legal_moves(position)
            actions = moves_to_actions(moves[0, :count])
            seen = sum(1 for back in _earlier(board) if back == board._transposition_key())
            planes = encode_planes(position, seen)[0]
            assert every.requests.num_legal[ply] == count
            assert np.array_equal(every.requests.legal[ply, :count], actions)
            assert every.requests.planes[ply, :NUM_PLANES].tolist() == planes.tolist()
            assert every.requests.planes[ply, NUM_PLANES:].tolist() == men_before(board, history)
            assert moves[0, every.played[ply]] == to_code(board, move)
            assert every.ply[ply] == ply
            assert every.game[ply] == index
            assert every.outcome[ply] == records.result[index] * (1 if board.turn else -1)


def _earlier(board: chess.Board) -> list[object]:
    """What was on the board before, by move; castling rights and en passant included."""
    earlier, board = [], board.copy()
    while board.move_stack:
        board.pop()
        earlier.append(board._transposition_key())
    return earlier


@pytest.mark.plain
def test_a_choice_of_plies_is_that_of_all() -> None:
    records, _ = walked(8, seed=3)
    every = replay_positions(records, np.arange(len(records.action)), num_planes(2))
    ends = records.offsets[1:] - 1
    for some in (ends, records.offsets[:-1], np.array([ends[3]]), ends[-1:], every.ply[::7]):
        few = replay_positions(records, some, num_planes(2))
        assert np.array_equal(few.ply, some)
        assert np.array_equal(few.requests.planes, every.requests.planes[some])
        assert np.array_equal(few.requests.legal, every.requests.legal[some])
        for name in ("game", "played", "outcome"):
            assert np.array_equal(getattr(few, name), getattr(every, name)[some])
    assert replay_positions(records, ends[:0]).requests.num_rows == 0


@pytest.mark.plain
def test_where_a_recorded_move_is_illegal_is_told() -> None:
    records, _ = walked(6, seed=4)
    for index in (0, 2, 5):
        for ply in (0, int(records.lengths[index]) - 1):
            action = records.action.copy()
            action[records.offsets[index] + ply] = 64 * 73 - 1  # a knight promotes on h8's file
            expected = f"game {10 + index}: the move recorded at ply {ply} is illegal"
            wrong = replace(records, action=action)
            with pytest.raises(DataError, match=f"^{expected}$"):
                replay_positions(wrong, np.arange(len(action)))
            with pytest.raises(DataError, match=f"^{expected}$"):
                replay_moves(wrong)


@pytest.mark.plain
def test_moves_lead_from_each_position_to_the_next() -> None:
    records, _ = walked(4, seed=5)
    replayed = replay_moves(records)
    after = make(replayed.positions, replayed.moves)
    first = np.isin(np.arange(len(after)), records.offsets[:-1])
    assert np.array_equal(replayed.positions[first], records.start)
    assert np.array_equal(replayed.positions[~first], after[:-1][~first[1:]])


def test_an_illegal_move_is_named() -> None:
    records = play(GameConfig(max_plies=20), 3)
    action = records.action.copy()
    action[records.offsets[1] + 4] = action[records.offsets[1] + 4] ^ 63
    with pytest.raises(DataError, match="game 1: the move recorded at ply 4 is illegal"):
        replay_positions(replace(records, action=action), np.arange(len(action)))


def test_positions_that_repeat_are_marked_for_networks_of_lc0() -> None:
    board, game = chess.Board(), ImportedGame(0, from_board(chess.Board()), 0, Termination.PLY_CAP)
    for uci in ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "e2e4"]:
        game.actions.append(action_of(board, chess.Move.from_uci(uci)))
        board.push_uci(uci)
    records = to_records([game], "x")
    back = replay_positions(records, np.arange(7), POSITION_INPUTS).requests
    games = Games.at(records.start, 50)
    for ply in range(7):
        asked = Requests.at(games.positions, POSITION_INPUTS, games.past, games.repetitions)
        assert np.array_equal(back.planes[ply], asked.planes[0]), ply
        moves = actions_to_moves(games.positions, records.action[ply : ply + 1])
        games.play(np.array([0]), moves)
