"""A UCI engine as a child process: what it answers, and how its failures are named."""

import sys
import time
from contextlib import suppress
from pathlib import Path

import chess
import pytest
from chess.engine import Limit

from vecchess.errors import ConfigError
from vecchess.runtime.engines.engine_pipe import EngineFailed, EngineFault
from vecchess.runtime.engines.uci_client import UciEngine, find_engine

ENGINE = """
import sys, time

trick, moves = sys.argv[1], 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "uci":
        print("id name Tricky")
        print("option name Hash type spin default 1 min 1 max 9")
        print("uciok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "position" and trick == "listen":
        open(sys.argv[2], "a").write(line)
    elif words[0] == "go":
        if trick == "hang":
            print("info string lost in thought", flush=True)
            time.sleep(1000)
        if trick == "crash":
            print("out of memory", file=sys.stderr, flush=True)
            sys.exit(3)
        best = "e1e8" if trick == "illegal" else "e2e4"
        print("info depth 1 nodes 7 score cp 10 wdl 300 500 200")
        print("bestmove " + best, flush=True)
        if trick == "leave":
            sys.exit(0)
    elif words[0] == "quit":
        break
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("engine") / "engine.py"
    program.write_text(ENGINE)
    return program


def open_trick(program: Path, trick: str) -> UciEngine:
    return UciEngine(find_engine(f"{sys.executable} {program} {trick}"))


def test_a_move_and_what_the_engine_thinks_of_the_position(program: Path) -> None:
    with open_trick(program, "none") as engine:
        assert engine.name == "Tricky"
        assert list(engine.options) == ["Hash"]
        move, evaluation = engine.play(chess.Board(), Limit(nodes=5), 1)
    assert move == chess.Move.from_uci("e2e4")
    assert evaluation is not None
    assert (evaluation.nodes, evaluation.win, evaluation.draw) == (7, 0.3, 0.5)


@pytest.mark.parametrize(
    ("trick", "fault", "text"),
    [
        ("hang", EngineFault.NO_ANSWER, 'no answer; its last line: "info string lost in thought"'),
        ("crash", EngineFault.ENDED, r'exit code 3\); its last line: "out of memory"'),
        ("illegal", EngineFault.ILLEGAL_MOVE, 'e1e8.*; its last line: "bestmove e1e8"'),
    ],
)
def test_failures_are_named_with_the_last_line(
    program: Path, trick: str, fault: EngineFault, text: str
) -> None:
    timeout_s = 1.0 if trick == "hang" else 60.0
    with open_trick(program, trick) as engine, pytest.raises(EngineFailed, match=text) as failed:
        engine.play(chess.Board(), Limit(nodes=5), 1, timeout_s)
    assert failed.value.fault is fault
    assert "\n" not in str(failed.value)


def test_an_engine_that_ended_between_moves_has_failed(program: Path) -> None:
    with open_trick(program, "leave") as engine:
        engine.play(chess.Board(), Limit(nodes=5), 1)
        time.sleep(0.5)
        with pytest.raises(EngineFailed) as failed:
            engine.play(chess.Board(), Limit(nodes=5), 1, timeout_s=60)
    assert failed.value.fault is EngineFault.ENDED


def told(program: Path, folder: Path, board: chess.Board) -> str:
    """The command that describes ``board`` to an engine, whatever this then plays."""
    file = folder / "told"
    with open_trick(program, f"listen {file}") as engine, suppress(EngineFailed):
        engine.play(board, Limit(nodes=5), 1)
    return file.read_text().strip()


def test_an_engine_is_told_of_what_can_repeat_and_of_eight_plies(
    program: Path, tmp_path: Path
) -> None:
    board = chess.Board()
    assert told(program, tmp_path, board) == "position startpos"
    shuffles = ["g1f3", "g8f6", "f3g1", "f6g8"] * 3
    for move in ["e2e4", "e7e5", *shuffles]:
        board.push_uci(move)
    (tmp_path / "told").unlink()
    root = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 0 2"
    assert told(program, tmp_path, board) == f"position fen {root} moves {' '.join(shuffles)}"
    for move in ["d2d4", "d7d5"]:
        board.push_uci(move)
    (tmp_path / "told").unlink()
    command = told(program, tmp_path, board)
    assert command.endswith(" moves " + " ".join([*shuffles, "d2d4", "d7d5"][-8:]))
    assert command.split()[2:8] == board_before(board, 8).fen(en_passant="fen").split()


def board_before(board: chess.Board, plies: int) -> chess.Board:
    return board.copy(stack=plies).root()


def test_an_engine_without_chess960_fails_there(program: Path) -> None:
    board = chess.Board("1rk1r3/4p3/8/8/8/8/4P3/1RK1R3 w EBeb - 0 1", chess960=True)
    with open_trick(program, "none") as engine, pytest.raises(EngineFailed, match="Chess960"):
        engine.play(board, Limit(nodes=5), 1)


def test_a_refused_value_is_one_line(program: Path) -> None:
    command = find_engine(f"{sys.executable} {program} none")
    with pytest.raises(ConfigError, match="'Hash' to be at most 9, got: 10") as caught:
        UciEngine(command, lambda known: {"Hash": 10})
    assert "\n" not in str(caught.value)


def test_programs_that_are_no_engines_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='there is no engine "nowhere"'):
        find_engine("nowhere")
    with pytest.raises(ConfigError, match="cannot be read as a command"):
        find_engine("'")
    with pytest.raises(ConfigError, match="does not answer as a UCI engine"):
        UciEngine(find_engine("true"))


@pytest.mark.parametrize("timeout_s", [1e10, 1e300, float("inf")])
def test_a_wait_may_be_for_ever(program: Path, timeout_s: float) -> None:
    with open_trick(program, "none") as engine:
        assert engine.play(chess.Board(), Limit(nodes=5), 1, timeout_s)[0] is not None
