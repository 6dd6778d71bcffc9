"""Whole conversations: a recorded one through python-chess, games by python-chess, and garbage."""

import asyncio
import random
import sys
from pathlib import Path

import chess
import chess.engine
import pytest

from tests.uci.make_conversation import ASIDES, FILE, LIMITS, SETTINGS
from tests.uci.talk import Talk
from vecchess.errors import ConfigError
from vecchess.uci.parse_command import parse_go, parse_position, split
from vecchess.uci.uci_board import UciGame, legal_move, set_up

ENGINE = [sys.executable, "-m", "vecchess_cli.main", "uci", "--net", "material", "--hash-mb", "16"]
PATIENCE_S = 120.0
RECORDED = FILE.read_text().splitlines()


class Recorder(chess.engine.UciProtocol):
    """python-chess's side of the protocol, which also keeps every line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.heard = asyncio.Event()

    def line_received(self, line: str) -> None:
        self.lines.append(line)
        self.heard.set()

    async def until(self, start: str, after: int) -> None:
        """Wait for a line that begins so, among those from ``after`` on."""
        while not any(line.startswith(start) for line in self.lines[after:]):
            self.heard.clear()
            await asyncio.wait_for(self.heard.wait(), PATIENCE_S)


def expected_answer(line: str, open_search: bool) -> str:
    """The beginning of the line to wait for after ``line``; "" where nothing has to come."""
    verb, words = split(line)
    if verb == "go":
        go = parse_go(words)
        if go.perft:
            return "Nodes searched"
        return "" if go.infinite or go.ponder else "bestmove"
    if verb in ("stop", "ponderhit"):
        return "bestmove" if open_search else ""
    return {"isready": "readyok", "uci": "uciok", "d": "Checkers", "eval": "Final"}.get(verb, "")


class Referee:
    """Follows the recorded conversation and judges the moves."""

    def __init__(self) -> None:
        self.game: UciGame = set_up(parse_position(["startpos"]))  # type: ignore[arg-type]
        self.go: list[str] = []

    def hear(self, line: str) -> None:
        """A line that the engine is sent."""
        verb, words = split(line)
        if verb == "position" and (asked := parse_position(words)) is not None:
            try:
                self.game = set_up(asked)
            except ConfigError:
                return
        elif verb == "go":
            self.go = words

    def judge(self, best: str) -> None:
        """``bestmove`` and what follows it."""
        words = best.split()
        board = self.game.board.copy()
        wanted = parse_go(self.go).search_moves
        moves = [legal_move(board, uci) for uci in wanted] if wanted else list(board.legal_moves)
        if not any(moves):
            assert words == ["bestmove", "(none)"]
            return
        move = legal_move(board, words[1])
        assert move in moves, (best, board.fen())
        if len(words) > 2:
            assert words[2] == "ponder"
            board.push(move)  # type: ignore[arg-type]
            assert legal_move(board, words[3]) is not None, (best, board.fen())


async def play_back(commands: list[str]) -> tuple[list[str], int]:
    """Everything that was said, and the engine's exit code."""
    transport, engine = await Recorder.popen(ENGINE)
    await engine.initialize()
    referee, is_open = Referee(), False
    for line in commands:
        referee.hear(line)
        after = len(engine.lines)
        engine.send_line(line)
        answer = expected_answer(line, is_open)
        is_infinite = split(line)[0] == "ponderhit" and parse_go(referee.go).infinite
        if answer and not (answer == "bestmove" and is_infinite):
            await engine.until(answer, after)
            if answer == "bestmove":
                is_open = False
                found = [text for text in engine.lines[after:] if text.startswith("bestmove")]
                assert len(found) == 1
                referee.judge(found[0])
        elif split(line)[0] == "go":
            is_open = True
    await engine.ping()
    await engine.quit()
    code = await asyncio.wait_for(engine.returncode, PATIENCE_S)
    transport.close()
    return engine.lines, code


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(RECORDED[:120], id="short"),
        pytest.param(RECORDED, id="whole", marks=pytest.mark.slow),
    ],
)
def test_a_recorded_conversation(commands: list[str]) -> None:
    assert len(RECORDED) > 1000
    lines, code = asyncio.run(play_back(commands))
    assert code == 0
    assert not any("internal error" in line for line in lines)
    verbs = [split(command) for command in commands]
    searches = [words for verb, words in verbs if verb == "go" and not parse_go(words).perft]
    assert sum(line.startswith("bestmove") for line in lines) == len(searches)
    asked = sum(verb == "isready" for verb, _ in verbs)
    assert sum(line == "readyok" for line in lines) == asked + 1


def test_python_chess_plays_analyses_and_ponders() -> None:
    with chess.engine.SimpleEngine.popen_uci(ENGINE, timeout=PATIENCE_S) as engine:
        assert engine.id["name"].startswith("vecchess")
        engine.configure({"Threads": 1, "Clear Hash": None, "UCI_ShowWDL": True})
        board = chess.Board()
        for _ in range(12):
            limit = chess.engine.Limit(white_clock=0.5, black_clock=0.5, white_inc=0.01)
            found = engine.play(board, limit, game=1, ponder=True, info=chess.engine.INFO_ALL)
            assert found.move in board.legal_moves
            board.push(found.move)  # type: ignore[arg-type]
        infos = engine.analyse(board, chess.engine.Limit(nodes=300), multipv=3)
        assert len(infos) == 3
        assert all({"pv", "score", "wdl", "depth", "nodes"} <= set(info) for info in infos)
        with engine.analysis(board) as analysis:
            assert "pv" in next(iter(analysis)) or analysis.next() is not None
        roots = list(board.legal_moves)[:2]
        assert engine.play(board, chess.engine.Limit(nodes=50), root_moves=roots).move in roots
        castling = chess.Board.from_chess960_pos(17)
        assert engine.play(castling, chess.engine.Limit(nodes=50)).move in castling.legal_moves


WORDS = (
    "go", "position", "startpos", "fen", "moves", "setoption", "name", "value", "stop", "isready",
    "ponderhit", "ucinewgame", "uci", "infinite", "ponder", "searchmoves", "nodes", "depth", "mate",
    "movetime", "wtime", "btime", "winc", "binc", "movestogo", "perft", "e2e4", "e7e5", "0000",
    "a7a8q", "Hash", "MultiPV", "-1", "0", "1", "3", "99999999999999999999", "1e9", "nan", "\u00e9",
    "\u0663", "eval", "d", "debug", "on", "register", "bench", "2", "w", "KQkq", "8/8/8/8/8/8/8/8",
)  # fmt: skip


def garbage(chance: random.Random) -> bytes:
    """A line: bytes, words in any order, a command with something wrong, or one out of place."""
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(80)).replace(b"\n", b" ")
    if kind == 1:
        return " ".join(chance.choices(WORDS, k=chance.randrange(1, 9))).encode()
    if kind == 2:
        line = bytearray(chance.choice(RECORDED).encode())
        for _ in range(chance.randrange(1, 4)):
            line[chance.randrange(len(line))] = chance.choice(b" \t\x00\xff0aK/-9")
        return bytes(line)
    if kind == 3:
        return chance.choice(RECORDED).encode()
    if kind == 4:
        limit = chance.choice(LIMITS).format(moves="e2e4 d2d4")
        return f"go {limit}".encode()
    return chance.choice((*ASIDES, *(f"setoption name {text}" for text in SETTINGS))).encode()


def is_search(line: bytes) -> bool:
    verb, words = split(line.decode("utf-8", "replace").rstrip("\r"))
    return verb == "go" and not (parse_go(words).perft or 0) > 0


def is_long(line: bytes) -> bool:
    """What is not wrong, but takes long: the end of the conversation, and benches."""
    verb, words = split(line.decode("utf-8", "replace"))
    return verb == "quit" or (verb == "bench" and words[:1] != ["zero"])


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(700, id="short"),
        pytest.param(10_000, id="whole", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_garbage(number: int, tmp_path: Path) -> None:
    """Never a crash, a hang, or a search without its one answer."""
    chance = random.Random(number)
    with Talk() as talk:
        talk.ready()
        searches = 0
        for count in range(number):
            line = garbage(chance)
            if is_long(line):
                continue
            talk.send(line)
            searches += is_search(line)
            if count % 50 == 49:
                talk.send("stop")
                talk.ready()
        talk.send("stop", "setoption name WeightsFile value material")
        talk.ready()
        talk.session.wait()
        talk.send("position startpos")
        lines = talk.ask("ucinewgame", "go nodes 20")
        assert lines[-1].startswith("bestmove ")
        assert sum(line.startswith("bestmove") for line in talk.said) == searches + 1
        assert not any("internal error" in line for line in talk.said)
