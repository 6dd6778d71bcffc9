"""Make a suite of puzzles of recorded games: ``src/vecchess/suites/puzzles.epd``.

    python -m bench.make_puzzles runs/first games.pgn --out src/vecchess/suites/puzzles.epd

A puzzle has one good move. By the engine's two best lines with ``--nodes``, that move is better
than any other by MARGIN_CP; with it the mover is not lost, and without it the mover does not win.
So a move that wins what is won already is no puzzle, nor one of several mates. Left out are moves
that take a man back, or one that is not defended, unless they mate at once. A game gives one puzzle
at most, of positions in a random order, and a look with a hundredth of the nodes comes first.

Ids begin with what the move does: "mate", "win", or "hold", for the others; then comes the place of
its game among all. The same command goes on where it was stopped, at the game after its last
puzzle. The same places and engine make the same puzzles, whatever ``--concurrency`` is.
"""

import argparse
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import chess
import numpy as np
from bench.suite_lines import as_seen, best_moves_line
from chess.engine import Limit

from vecchess.chess.fen import from_fens, to_board
from vecchess.chess.uci_moves import to_chess_move
from vecchess.errors import VecchessError
from vecchess.importers.engine_label import open_engine
from vecchess.importers.recorded_places import check_places, recorded_games
from vecchess.runtime.engines.uci_client import UciEngine, find_engine
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_moves

MARGIN_CP = 200
"""From the best move to the second best."""
EDGE_CP = 300
"""Above it the mover wins, below its negative it is lost."""
MATE_CP = 10_000
LOOK_SHARE = 100
FIRST_PLY = 8


class PuzzleFinder:
    """Engines, one for each thread, and the search for a puzzle in a game."""

    def __init__(self, command: list[str], nodes: int, seed: int) -> None:
        self._command, self._nodes, self._seed = command, nodes, seed
        self._own = threading.local()
        self._engines: list[UciEngine] = []

    def close(self) -> None:
        """End all engines."""
        for engine in self._engines:
            engine.close()

    def find(self, number: int, game: GameRecords) -> str | None:
        """The line of the puzzle of a game, None where it has none."""
        played = replay_moves(game)
        for ply in np.random.default_rng([self._seed, number]).permutation(len(played.moves)):
            if ply < FIRST_PLY:
                continue
            board = to_board(played.positions[ply], chess960=False)
            before = to_board(played.positions[ply - 1], chess960=False)
            last = to_chess_move(before, int(played.moves[ply - 1]))
            lost_on = last.to_square if before.is_capture(last) else None
            for nodes in (max(1, self._nodes // LOOK_SHARE), self._nodes):
                found = self._good_move(board, nodes)
                if found is None or is_plain(board, found[0], lost_on):
                    break
            else:
                return best_moves_line(board, found[0], f"{found[1]}.{number}")
        return None

    def _good_move(self, board: chess.Board, nodes: int) -> tuple[chess.Move, str] | None:
        """The only good move and what it does; None where there is no such move."""
        if not hasattr(self._own, "engine"):
            self._own.engine = open_engine(self._command, self._nodes, 2)
            self._engines.append(self._own.engine)
        engine: UciEngine = self._own.engine
        _, evaluation = engine.play(board, Limit(nodes=nodes), object())
        if evaluation is None or len(evaluation.lines) < 2:
            return None
        best, second = evaluation.lines[:2]
        scores = [line.score.score(mate_score=MATE_CP) or 0 for line in (best, second)]
        is_alone = scores[0] >= scores[1] + MARGIN_CP
        if not is_alone or scores[0] <= -EDGE_CP or scores[1] >= EDGE_CP:
            return None
        kind = "mate" if best.score.mate() is not None else "win" if scores[0] > EDGE_CP else "hold"
        return board.parse_uci(best.move), kind


def is_plain(board: chess.Board, move: chess.Move, lost_on: int | None) -> bool:
    """Whether ``move`` just takes back what the mover lost on a square, or what is not defended."""
    if not board.is_capture(move):
        return False
    after = board.copy(stack=False)
    after.push(move)
    is_free = not after.is_attacked_by(after.turn, move.to_square)
    return (is_free or move.to_square == lost_on) and not after.is_checkmate()


def found_puzzles(
    finder: PuzzleFinder, games: Iterator[tuple[int, GameRecords]], concurrency: int
) -> Iterator[tuple[int, str | None]]:
    """Number and puzzle of each game in their order, with several games at a time."""
    with ThreadPoolExecutor(concurrency, "engine") as pool:
        waiting: deque[tuple[int, Future[str | None]]] = deque()
        try:
            for number, game in games:
                waiting.append((number, pool.submit(finder.find, number, game)))
                if len(waiting) == 2 * concurrency:
                    number, puzzle = waiting.popleft()
                    yield number, puzzle.result()
            for number, puzzle in waiting:
                yield number, puzzle.result()
        finally:
            finder.close()
            pool.shutdown(cancel_futures=True)


def written(file: Path) -> list[str]:
    """The lines that are there; a last one that is not whole is removed."""
    if not file.exists():
        return []
    lines = file.read_text().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if whole != lines:
        file.write_text("".join(whole))
    return whole


def _key(line: str) -> bytes:
    """Which position the line is of."""
    return as_seen(from_fens([" ".join([*line.split()[:4], "0 1"])])[0])


def main() -> int:
    """Add puzzles to the file; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("places", nargs="+", type=Path, help="runs, folders, shards, PGN files")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--engine", default="stockfish", help="command of a UCI engine")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--puzzles", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if min(options.nodes, options.puzzles, options.concurrency) < 1:
        parser.error("--nodes, --puzzles and --concurrency: give 1 or more")
    try:
        check_places(options.places)
        lines = written(options.out)
        done = int(lines[-1].split()[-1].strip('";').rpartition(".")[2]) + 1 if lines else 0
        recorded = recorded_games(options.places, True, lambda line: print(line, file=sys.stderr))
        games = islice(enumerate(recorded), done, None)
        finder = PuzzleFinder(find_engine(options.engine), options.nodes, options.seed)
        seen = {_key(line) for line in lines}
        with options.out.open("a") as file:
            for number, line in found_puzzles(finder, games, options.concurrency):
                if len(seen) >= options.puzzles:
                    break
                if line is not None and (key := _key(line)) not in seen:
                    seen.add(key)
                    file.write(f"{line}\n")
                    file.flush()
                print(f"{len(seen)} puzzles of {number + 1} games", file=sys.stderr)
    except VecchessError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
