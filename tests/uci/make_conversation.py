"""Writes ``conversation.txt``: a session of over 1,000 commands that leaves nothing out.

    python -m tests.uci.make_conversation

Games from all kinds of positions, each with other settings and other limits; between the moves
whatever a GUI or a curious user says, right and wrong. The file is data: the test plays it as it
is, so that it changes only where somebody means it to.
"""

import random
from pathlib import Path

import chess

from vecchess.uci.parse_command import STARTPOS
from vecchess.uci.tasks import BENCH_FENS

FILE = Path(__file__).parent / "conversation.txt"
GAMES = 36
MOVES = 7
SETTINGS = (
    "Threads value 1", "Threads value 2", "Hash value 16", "Hash value 32", "Hash value abc",
    "Ponder value true", "Ponder value false", "Ponder value perhaps", "MultiPV value 1",
    "MultiPV value 3", "MultiPV value 218", "MultiPV value 0", "Move Overhead value 0",
    "Move Overhead value 50", "Move Overhead value -1", "UCI_Chess960 value true",
    "UCI_Chess960 value false", "UCI_AnalyseMode value true", "UCI_AnalyseMode value false",
    "UCI_LimitStrength value true", "UCI_LimitStrength value false", "UCI_Elo value 800",
    "UCI_Elo value 5", "UCI_ShowWDL value true", "UCI_ShowWDL value false",
    "UCI_EngineAbout value me", "SyzygyPath value tests/data/syzygy", "SyzygyPath value /nowhere",
    "SyzygyPath value <empty>", "WeightsFile value constant", "WeightsFile value material",
    "WeightsFile value /nowhere/net.safetensors", "Backend value cpu", "Backend value auto",
    "Backend value blas", "EarlyExit value false", "EarlyExit value true",
    "MinibatchSize value 1", "MinibatchSize value 7", "MinibatchSize value 0",
    "Search value gumbel", "Search value puct", "CPuct value 2.5", "CPuct value 1.745",
    "CPuct value fast", "CPuctBase value 1000", "CPuctFactor value 0", "FpuValue value 0.5",
    "FpuValueAtRoot value 0", "PolicyTemperature value 1.5", "PolicyTemperature value 0",
    "DrawScore value -0.1", "DrawScore value 0", "DrawScore value 7", "ScoreType value Q",
    "ScoreType value W-L", "ScoreType value win_percentage", "ScoreType value centipawn",
    "Contempt value 20", "Clear Hash", "",
)  # fmt: skip
LIMITS = (
    "nodes 1", "nodes 40", "nodes 150", "depth 1", "depth 2", "movetime 5", "movetime 15",
    "wtime 300 btime 200 winc 2 binc 3", "wtime 90 btime 60 movestogo 2", "wtime -4 btime 0",
    "infinite", "ponder wtime 200 btime 200", "ponder nodes 30", "infinite searchmoves {moves}",
    "nodes 30 searchmoves {moves}", "searchmoves {moves} depth 2", "mate 1 nodes 60",
    "nodes x depth 1", "depth 1 nonsense", "perft 1", "perft 2",
)  # fmt: skip
ASIDES = (
    "isready", "d", "eval", "uci", "debug on", "debug off", "register later", "help", "stop",
    "ponderhit", "ucinewgame", "xyzzy", "go perft 2", "position", "position nowhere",
    "position fen 8/8/8/8/8/8/8/8 w - - 0 1", "setoption", "# nothing", "bench zero", "debug",
)  # fmt: skip


def conversation(chance: random.Random) -> list[str]:
    """Lines for the engine; the answer to a ``go`` is waited for before the next line, where it
    comes of itself, otherwise after the ``stop`` or ``ponderhit`` that is here."""
    lines = ["uci", "isready", "bench 2"]
    fens = (STARTPOS, chess.STARTING_FEN, *BENCH_FENS)
    for number in range(GAMES):
        lines += ["ucinewgame"]
        lines += [f"setoption name {text}".strip() for text in chance.sample(SETTINGS, 5)]
        lines += ["isready", *_game(fens[number % len(fens)], chance)]
    return [*lines, "isready"]


def _game(fen: str, chance: random.Random) -> list[str]:
    board = chess.Board(chess.STARTING_FEN if fen == STARTPOS else fen, chess960=True)
    start = fen if fen == STARTPOS else f"fen {fen}"
    lines: list[str] = []
    for _ in range(MOVES):
        moves = " ".join(move.uci() for move in board.move_stack)
        lines.append(f"position {start} moves {moves}".removesuffix(" moves "))
        legal = [move.uci() for move in board.legal_moves]
        some = " ".join(chance.sample(legal, min(3, len(legal)))) or "a1a1"
        limit = chance.choice(LIMITS).format(moves=some)
        lines.append(f"go {limit}")
        if "infinite" in limit:
            lines += [*chance.sample(["isready", "d", "ponderhit"], 1), "stop"]
        elif "ponder" in limit:
            lines.append(chance.choice(["ponderhit", "stop"]))
        lines += chance.sample(ASIDES, 1)
        for _ in range(2):
            if any(board.legal_moves):
                board.push(chance.choice(list(board.legal_moves)))
    return lines


if __name__ == "__main__":
    FILE.write_text("\n".join(conversation(random.Random(1))) + "\n")
