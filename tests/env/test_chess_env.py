"""The environment's games are those of python-chess, of random self-play, and of any threads."""

import os
import random
from collections.abc import Iterator

import chess
import numpy as np
import pytest
import torch

from tests.chess.walks import STARTS, choose_move, to_code, why_over
from tests.selfplay.playing import play
from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.chess.chess960 import chess960_positions, start_positions
from vecchess.chess.fen import from_board, from_fens, to_board
from vecchess.chess.game_arrays import Games
from vecchess.chess.make import make
from vecchess.chess.planes import encode_planes, num_planes
from vecchess.chess.rules import Termination, terminations
from vecchess.chess.sample import play_random
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.config import GameConfig
from vecchess.env import STAY, ChessEnv
from vecchess.errors import ConfigError, NetworkError
from vecchess.shapes import NUM_ACTIONS

MAX_PLIES = 90
COMPARED = 3
"""One game of so many is compared at each step: python-chess takes a millisecond a position."""
CHESS960 = chess960_positions(np.arange(0, 960, 50))


def test_games_are_those_of_python_chess_and_begin_anew() -> None:
    clocks = [
        "8/8/4k3/8/8/2RK4/8/8 w - - 90 80",
        "k7/8/8/8/8/8/1Q6/K7 w - - 60 80",
        *["8/8/8/8/8/4k3/5p2/5K2 b - - 0 80"] * 8,
    ]
    table = np.concatenate(
        [from_fens([*STARTS[:-1], *clocks]), chess960_positions(np.arange(0, 960, 50))]
    )
    env = ChessEnv(24, seed=3, starts=table, max_plies=MAX_PLIES, observations="planes", masks=True)
    rng, seen = random.Random(0), set()
    boards = [_first_board(env, game) for game in range(24)]
    for number in range(170):
        _compare(env, boards, slice(number % COMPARED, None, COMPARED))
        actions = []
        for board in boards:
            move = choose_move(board, list(board.legal_moves), rng)
            actions.append(int(moves_to_actions([to_code(board, move)])[0]))
            board.push(move)
        step = env.step(np.array(actions, np.int64))
        for game, board in enumerate(boards):
            code = _why_over(board)
            assert step.codes[game] == code
            assert step.rewards[game] == float(code == Termination.CHECKMATE)
            if code != Termination.ONGOING:
                seen.add(code)
                assert (env.final_positions[game] == from_board(board)).all()
                assert env.final_plies[game] == len(board.move_stack)
                boards[game] = _first_board(env, game)
    assert seen == set(Termination) - {
        Termination.ONGOING, Termination.RESIGNATION, Termination.ADJUDICATION,
        Termination.TABLEBASE,
    }  # fmt: skip


def _first_board(env: ChessEnv, game: int) -> chess.Board:
    start = env.starts[env.rows.starts[game]]
    assert env.rows.plies[game] == 0
    return to_board(start)


def _why_over(board: chess.Board) -> Termination:
    code = why_over(board)
    is_long = len(board.move_stack) >= MAX_PLIES
    return Termination.PLY_CAP if is_long and code == Termination.ONGOING else code


def _compare(env: ChessEnv, boards: list[chess.Board], part: slice) -> None:
    """Positions, and of ``part`` legal actions, masks and observations, by bits."""
    positions = np.stack([from_board(board) for board in boards])
    assert (env.positions == positions).all()
    repetitions = [int(board.is_repetition(2)) for board in boards[part]]
    planes = unpack_planes(encode_planes(positions[part], repetitions))
    assert (env.observations[part] == planes).all()
    for game, board in list(enumerate(boards))[part]:
        moves = [to_code(board, move) for move in board.legal_moves]
        legal = env.legal[game, : env.num_legal[game]]
        assert sorted(legal) == sorted(moves_to_actions(moves))
        assert (np.flatnonzero(env.masks[game]) == np.sort(legal)).all()


def test_random_games_are_those_of_the_rules() -> None:
    """The whole of many games at once: last positions, reasons and lengths."""
    num = 1500
    env = ChessEnv(num, seed=5, max_plies=8192, auto_reset=False)
    while not env.is_over.all():
        env.step(env.random_actions())
    wanted = play_random(start_positions(num), np.arange(num), 5)
    found = (env.positions, env.rows.codes, env.rows.plies)
    for one, other in zip(found, wanted, strict=True):
        assert (one == other).all()


def _stepped(env: ChessEnv, num_steps: int) -> Iterator[tuple[np.ndarray, ...]]:
    for _ in range(num_steps):
        step = env.step(env.random_actions(seed=1))
        yield (*step, env.final_positions, env.observations, env.masks, *_meaningful(env))


def _meaningful(env: ChessEnv) -> list[np.ndarray]:
    """All arrays of the games, without what stands behind the legal actions."""
    behind = np.arange(env.legal.shape[1]) >= env.num_legal[:, None]
    return list(env.rows._replace(legal=np.where(behind, 0, env.legal)))


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_nothing(threads: int) -> None:
    settings = {
        "seed": 2, "starts": "chess960", "random_plies": 3, "max_plies": 60, "masks": True,
        "observations": "bitboards", "num_planes": num_planes(3, True),
    }  # fmt: skip
    one, other = ChessEnv(700, **settings), ChessEnv(700, threads=threads, **settings)
    assert one.rows.plies.min() == 3
    for found, wanted in zip(_stepped(one, 130), _stepped(other, 130), strict=True):
        for first, second in zip(found, wanted, strict=True):
            assert (first == second).all()
    assert one.rows.numbers.min() >= 700


def test_a_game_depends_on_its_number_alone() -> None:
    many = ChessEnv(96, seed=9, starts="book", random_plies=2)
    few = ChessEnv(2, seed=9, starts="book", random_plies=2)
    few.reset(rows=[0, 1], numbers=[95, 13])
    for _ in range(30):
        assert (few.positions == many.positions[[95, 13]]).all()
        many.step(many.random_actions())
        few.step(few.random_actions())


def test_openings_are_those_of_self_play() -> None:
    config = GameConfig(chess960=True, random_plies=5, max_plies=9)
    records = play(config, 40, seed=6)
    env = ChessEnv(40, seed=6, starts="chess960", random_plies=5)
    assert (env.starts[env.rows.starts] == records.start).all()
    positions = records.start
    for ply in range(5):
        actions = records.action[records.offsets[:-1] + ply]
        positions = make(positions, actions_to_moves(positions, actions))
    assert (env.positions == positions).all()


@pytest.mark.parametrize("history", [1, 2, 8])
def test_observations_are_the_planes_of_networks(history: int) -> None:
    planes = num_planes(history, True)
    settings = {"max_plies": 40, "num_planes": planes, "keep_past": True}
    packed = ChessEnv(32, observations="bitboards", **settings)
    kinds = (torch.bool, torch.uint8, torch.float16, torch.bfloat16, torch.float32)
    others = [
        ChessEnv(32, observations=torch.full((32, planes, 8, 8), 1).to(kind), **settings)
        for kind in kinds
    ]
    for _ in range(60):
        seen, past = packed.rows.repetitions, packed.rows.past
        wanted = encode_planes(packed.positions, seen, past, planes)
        assert (packed.observations == wanted).all()
        numbers = torch.from_numpy(unpack_planes(wanted))
        assert all((env.observations.float() == numbers).all() for env in others)
        actions = packed.random_actions()
        for env in (packed, *others):
            env.step(actions)


def test_the_past_is_that_of_matches() -> None:
    env = ChessEnv(40, keep_past=True, auto_reset=False, max_plies=300)
    games = Games.at(start_positions(40), 300)
    for _ in range(300):
        ongoing = games.ongoing
        assert (env.rows.past == games.past)[ongoing].all()
        assert (env.rows.keys == games.keys)[ongoing].all()
        actions = env.random_actions()
        moves = actions_to_moves(env.positions[ongoing], actions[ongoing])
        env.step(actions)
        games.play(ongoing, moves)
    assert (env.rows.codes == games.codes).all()


def test_a_game_that_is_over_stays() -> None:
    mate = from_fens(["6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", chess.STARTING_FEN])
    env = ChessEnv(2, starts=mate[:1], auto_reset=False, masks=True)
    a8 = int(moves_to_actions([chess.A1 | chess.A8 << 6])[0])
    step = env.step([a8, int(env.legal[1, 0])])
    assert step.rewards.tolist() == [1, 0]
    assert step.codes.tolist() == [Termination.CHECKMATE, 0]
    assert (env.num_legal[0], env.masks[0].sum(), env.is_over.tolist()) == (0, 0, [True, False])
    before = env.snapshot()
    again = env.step([5, int(env.legal[1, 0])])
    assert (again.codes[0], again.rewards[0]) == (0, 0)
    assert all((now[0] == then[0]).all() for now, then in zip(env.rows, before, strict=True))
    env.reset(rows=0)
    assert env.rows.numbers.tolist() == [2, 1]
    assert (env.positions[0] == mate[0]).all()
    assert (env.masks == env.legal_masks()).all()


def test_a_snapshot_goes_on_as_before() -> None:
    env = ChessEnv(100, seed=4, max_plies=50, observations="bitboards", masks=True)
    for _ in _stepped(env, 30):
        pass
    saved = env.snapshot()
    ways = []
    for _ in range(2):
        ways.append([[array.copy() for array in way] for way in _stepped(env, 40)])
        env.restore(saved)
        wanted = encode_planes(env.positions, env.rows.repetitions)
        assert (env.observations == wanted).all()
        assert (env.masks == env.legal_masks()).all()
    for first, second in zip(*ways, strict=True):
        # final positions are no part of a game
        for index in (0, 1, *range(3, len(first))):
            assert (first[index] == second[index]).all()
    with pytest.raises(ValueError, match="other settings"):
        ChessEnv(3).restore(saved)


def test_an_illegal_action_moves_no_game() -> None:
    env = ChessEnv(300, threads=2)
    before, actions = env.snapshot(), env.random_actions()
    for bad in (0, -2, NUM_ACTIONS, 1 << 40):
        actions[[201, 250]] = bad
        with pytest.raises(ValueError, match=f"game 201: action {bad} is not legal"):
            env.step(actions)
    assert all((now == then).all() for now, then in zip(env.rows, before, strict=True))


def test_a_game_may_stay() -> None:
    env = ChessEnv(6, observations="bitboards", masks=True)
    before, seen = env.snapshot(), env.observations.copy()
    actions = env.random_actions()
    actions[1::2] = STAY
    assert env.is_legal(actions).tolist() == [True, False] * 3
    step = env.step(actions)
    assert (step.rewards == 0).all()
    assert env.rows.plies.tolist() == [1, 0] * 3
    assert (env.positions == before.positions).all(1).tolist() == [False, True] * 3
    assert (env.observations == seen).all(1).tolist() == [False, True] * 3
    assert (env.masks == env.legal_masks()).all()


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"num_games": 0}, ConfigError, "num_games must be from 1"),
        ({"threads": 0}, ConfigError, "threads"),
        ({"random_plies": 512}, ConfigError, "random_plies"),
        ({"seed": -1}, ConfigError, "seed"),
        ({"starts": "960"}, ConfigError, "'chess960'"),
        ({"starts": from_fens([STARTS[1]])[:0]}, ConfigError, "no positions"),
        ({"starts": from_fens(["7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"])}, ConfigError, "is over"),
        ({"observations": "pixels"}, ConfigError, "'bitboards', 'planes'"),
        ({"observations": np.zeros((4, 25))}, ValueError, "observations must be"),
        ({"observations": np.zeros((3, 25), np.uint64)}, ValueError, "observations must be"),
        ({"observations": np.zeros((4, 25, 8, 8))}, ValueError, "not float64"),
        ({"observations": np.zeros((25, 4, 8, 8), np.int8).swapaxes(0, 1)}, ValueError, "contig"),
        ({"observations": np.zeros((4, 26), np.uint64)}, NetworkError, "26 input planes"),
        ({"num_planes": 7}, NetworkError, "7 input planes"),
        ({"observations": True}, ValueError, r"observations must be .*, not bool\[\]"),
        ({"observations": np.zeros(())}, ValueError, "observations must be"),
        ({"masks": 1}, ValueError, r"masks must be .*, not int\[\]"),
        ({"masks": np.zeros((4, 4671), np.bool_)}, ValueError, "masks must be"),
        ({"masks": np.zeros((4, 4672), np.int64)}, ValueError, "masks must be"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    settings: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ChessEnv(**{"num_games": 4, **settings})  # type: ignore[arg-type]


def test_wrong_calls_are_refused() -> None:
    env = ChessEnv(4, masks=False)
    assert env.masks is None
    for actions in ([0, 1], np.zeros(4), [[0] * 4]):
        with pytest.raises(ValueError, match=r"actions must be int\[4\]"):
            env.step(actions)
    with pytest.raises(ValueError, match="rows must be from 0 to 3"):
        env.reset(rows=[4])
    for numbers in ([-2], [1, 2]):
        with pytest.raises(ValueError, match=r"numbers must be int\[1\], from 0 on"):
            env.reset(rows=[1], numbers=numbers, seed=9)
    assert env.seed == 0
    with pytest.raises(ConfigError, match="seed must be from 0"):
        env.reset(seed=-1)
    assert (terminations(env.positions) == Termination.ONGOING).all()


def test_rows_are_begun_anew_by_number_or_by_mask() -> None:
    for rows in ([3], np.array([False, False, False, True])):
        env = ChessEnv(4, auto_reset=False)
        env.step(env.random_actions())
        env.reset(rows)
        assert env.rows.plies.tolist() == [1, 1, 1, 0]
    for wrong in ([0.5], [True, False], ["a"]):
        with pytest.raises(ValueError, match="rows must be"):
            env.reset(wrong)
    env.reset([])


def test_a_forked_process_begins_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork has the pool and none of its threads: here they are ended instead."""
    env = ChessEnv(256, threads=2)
    env.step(env.random_actions())
    runner = env._runner
    assert runner._pool is not None
    runner._pool.shutdown()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    env.step(env.random_actions())
    assert (env.rows.plies == 2).all()
