"""Make a suite of best moves of games that an engine labelled: ``src/vecchess/suites/moves.epd``.

    vecchess gather label games.pgn --engine stockfish --nodes 100000 --every 12 --out labels/human
    python -m bench.make_moves human=labels/human engine=labels/engine > moves.epd

Each NAME=PLACE is a source, whose name the ids of its positions begin with. The sources take turns,
in random orders that depend on the seed alone, so that any first part of the suite is a fair sample
of all. Left out are positions with one legal move, and those that are there already.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench.suite_lines import as_seen, best_moves_line

from vecchess.chess.fen import to_board
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.errors import VecchessError
from vecchess.store.records import VALUE_UNIT
from vecchess.store.replay_positions import replay_moves
from vecchess.store.sources import read_games


def lines_of(name: str, place: Path, seed: int) -> Iterator[tuple[bytes, str]]:
    """Key of the position, and line, of each labelled ply of a source, in a random order."""
    records = read_games([place])
    labelled = np.flatnonzero(records.visits)
    positions = replay_moves(records).positions
    number = 0
    for ply in np.random.default_rng(seed).permutation(labelled).tolist():
        board = to_board(positions[ply], chess960=False)
        target = slice(*records.target_offsets[ply : ply + 2])
        action = int(records.action[ply])
        if target.start < target.stop:
            action = int(records.target_action[target][records.target_prob[target].argmax()])
        move = action_to_chess_move(board, action)
        if move is None or board.legal_moves.count() < 2:
            continue
        win, draw = int(records.win[ply]), int(records.draw[ply])
        number += 1
        wdl = win, draw, VALUE_UNIT - win - draw
        yield as_seen(positions[ply]), best_moves_line(board, move, f"{name}.{number}", wdl)


def main() -> int:
    """Print the suite; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="+", metavar="NAME=PLACE")
    parser.add_argument("--positions", type=int, default=5000, help="at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sources = [source.partition("=") for source in options.sources]
    if not all(name and place for name, _, place in sources):
        parser.error("give each source as NAME=PLACE")
    seen: set[bytes] = set()
    try:
        waiting = [lines_of(name, Path(place), options.seed) for name, _, place in sources]
        while waiting and len(seen) < options.positions:
            for source in list(waiting):
                fresh = next(((key, line) for key, line in source if key not in seen), None)
                if fresh is None:
                    waiting.remove(source)
                elif len(seen) < options.positions:
                    seen.add(fresh[0])
                    print(fresh[1])
    except VecchessError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
