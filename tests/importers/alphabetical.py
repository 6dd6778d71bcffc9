"""A UCI engine that plays the first legal move by name, and may be told to die."""

import sys
from pathlib import Path

# Its lines are the next moves by name, each 30 centipawns worse. It dies at MOVES_TO_LIVE, or at
# the move POISON, counted anew in each process; it makes the file TOLD_OF_MOVES after 130 moves:
# more than two games of 61 plies.
ENGINE = """
import os, sys, chess
board, moves, lines, chess960 = chess.Board(), 0, 1, False
for line in sys.stdin:
    words = line.split()
    if words[0] == "uci":
        print("id name Alphabetical"); print("option name UCI_ShowWDL type check default false")
        print("option name MultiPV type spin default 1 min 1 max 9")
        print("option name UCI_Chess960 type check default false")
        print("uciok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[:3] == ["setoption", "name", "MultiPV"]:
        lines = int(words[4])
    elif words[:3] == ["setoption", "name", "UCI_Chess960"]:
        chess960 = words[4] == "true"
    elif words[0] == "position":
        at = words.index("moves") if "moves" in words else len(words)
        fen = chess.STARTING_FEN if words[1] == "startpos" else " ".join(words[2:at])
        board = chess.Board(fen, chess960=chess960)
        for move in words[at + 1:]:
            board.push_uci(move)
        assert any(board.legal_moves)
    elif words[0] == "go":
        moves += 1
        if moves > int(os.environ.get("MOVES_TO_LIVE", "1000000")):
            os._exit(3)
        if board.fen().split()[0] == os.environ.get("POISON"):
            os._exit(4)
        if moves == 130 and "TOLD_OF_MOVES" in os.environ:
            open(os.environ["TOLD_OF_MOVES"], "w").close()
        if "ASKED" in os.environ:
            with open(os.environ["ASKED"], "a") as file:
                print(board.fen(), file=file)
        best = sorted(board.legal_moves, key=lambda move: move.uci())
        for rank, move in enumerate(best[:lines], 1):
            score = f"multipv {rank} score cp {40 - 30 * rank} wdl 300 500 200"
            print(f"info depth 1 {score} nodes 77 pv {move.uci()}")
        print("bestmove", best[0].uci(), flush=True)
    elif words[0] == "quit":
        break
"""


def write_engine(folder: Path) -> str:
    """The path of a script that runs it."""
    (folder / "engine.py").write_text(ENGINE)
    script = folder / "alphabetical"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/engine.py"\n')
    script.chmod(0o755)
    return str(script)
