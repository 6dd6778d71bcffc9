"""Make the files in ``positions/``: ``python tests/search/make_positions.py`` (ten minutes).

The positions come from games between erratic players. What they claim follows from the rules alone
(``facts.py``); Stockfish finds candidates and confirms what the rules cannot tell: who is winning.
Seeded, and the same for the same version of Stockfish (made with 15.1).
"""

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import chess
import chess.engine

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.search.board_facts import (
    can_stay_ahead,
    material,
    mating_moves,
    mating_moves_in_two,
    repeating_moves,
    stalemating_moves,
)
from tests.search.epd import FOLDER, epd_line
from tests.search.position_sources import about_to_repeat, play

SEED = 4
STOCKFISH = "/usr/games/stockfish"
WINNING = 5
"""Pawns, by men on the board and by Stockfish's judgement."""
MOST_MEN = (7, 13, 19, 25, 32)
"""What phase a position is of; as many are taken from each."""
GLANCE, LOOK = 3000, 200_000
"""Nodes for finding and for confirming."""

Operations = dict[str, Any]
Found = tuple[chess.Board, str, Operations]
"""The position, the shelf it belongs to, and what is claimed of it."""


class Judge:
    """Stockfish, forgetting everything between two questions."""

    def __init__(self, engine: chess.engine.SimpleEngine) -> None:
        self.engine = engine

    def ask(
        self, board: chess.Board, nodes: int, without: list[chess.Move] | None = None
    ) -> tuple[chess.Move, chess.engine.Score]:
        """The best move and its value for the mover, all moves but some considered."""
        moves = [move for move in board.legal_moves if move not in (without or [])]
        limit = chess.engine.Limit(nodes=nodes)
        info = self.engine.analyse(board, limit, game=object(), root_moves=moves)
        return info["pv"][0], info["score"].relative

    def pawns(self, board: chess.Board, without: list[chess.Move]) -> float:
        """What the mover is ahead after the best of the other moves; a mate is 1,000."""
        return self.ask(board, LOOK, without)[1].score(mate_score=100_000) / 100

    def mate(self, board: chess.Board, moves: int) -> chess.Move | None:
        """A first move that mates in as many, if there is one."""
        limit = chess.engine.Limit(mate=moves, nodes=10 * LOOK)
        info = self.engine.analyse(board, limit, game=object())
        return info["pv"][0] if info["score"].relative == chess.engine.Mate(moves) else None


def mate_in_1(board: chess.Board, judge: Judge, rng: random.Random) -> Found | None:
    moves = mating_moves(board)
    return (board, _phase(board), {"bm": moves, "dm": 1}) if moves else None


def mate_in_2(board: chess.Board, judge: Judge, rng: random.Random) -> Found | None:
    if judge.ask(board, GLANCE)[1] != chess.engine.Mate(2) or mating_moves(board):
        return None
    moves = mating_moves_in_two(board)
    return (board, _phase(board), {"bm": moves, "dm": 2}) if moves else None


def stalemate_trap(board: chess.Board, judge: Judge, rng: random.Random) -> Found | None:
    if material(board) < WINNING:
        return None
    moves = stalemating_moves(board)
    kinds = {_temptation(board, move) for move in moves} - {""}
    if not kinds or mating_moves(board) or not can_stay_ahead(board, WINNING, moves):
        return None
    return board, max(kinds), {"am": moves}


def repetition_trap(board: chess.Board, judge: Judge, rng: random.Random) -> Found | None:
    """Stockfish, told nothing of the history, would complete the repetition."""
    if material(board) > -WINNING or not (game := about_to_repeat(board, rng)):
        return None
    moves = repeating_moves(game)
    if mating_moves(game) or not can_stay_ahead(game, WINNING, moves):
        return None
    natural, _ = judge.ask(game.copy(stack=False), GLANCE)
    return (game, _with_check(game, moves), {"am": moves}) if natural in moves else None


def repetition_save(board: chess.Board, judge: Judge, rng: random.Random) -> Found | None:
    if material(board) < WINNING or not (game := about_to_repeat(board, rng)):
        return None
    moves = repeating_moves(game)
    if material(game) > -WINNING or game.legal_moves.count() <= len(moves):
        return None
    return game, _with_check(game, moves), {"bm": moves}


def others_win(board: chess.Board, judge: Judge, moves: list[chess.Move]) -> bool:
    return judge.pawns(board, moves) > WINNING


def others_lose(board: chess.Board, judge: Judge, moves: list[chess.Move]) -> bool:
    return judge.pawns(board, moves) < -WINNING


def is_mate_in_1(board: chess.Board, judge: Judge, moves: list[chess.Move]) -> bool:
    return judge.mate(board, 1) in moves


def is_mate_in_2(board: chess.Board, judge: Judge, moves: list[chess.Move]) -> bool:
    return judge.mate(board, 2) in moves


def _phase(board: chess.Board) -> str:
    return str(next(most for most in MOST_MEN if _num_men(board) <= most))


def _num_men(board: chess.Board) -> int:
    return chess.popcount(board.occupied)


def _with_check(board: chess.Board, moves: list[chess.Move]) -> str:
    return "check" if any(board.gives_check(move) for move in moves) else "quiet"


def _temptation(board: chess.Board, move: chess.Move) -> str:
    """Whether it wins material, or brings a rook, the queen or the king closer to the king."""
    if board.is_capture(move) or move.promotion:
        return "gain"
    king, kind = board.king(not board.turn), board.piece_type_at(move.from_square)
    assert king is not None
    assert kind is not None
    way = [chess.square_distance(square, king) for square in (move.from_square, move.to_square)]
    return "approach" if way[1] < way[0] and kind >= chess.ROOK else ""


@dataclass
class Collection:
    """Positions of one sort: ``room`` for so many of each shelf, for either side to move."""

    name: str
    prefix: str
    find: Callable[[chess.Board, Judge, random.Random], Found | None]
    confirm: Callable[[chess.Board, Judge, list[chess.Move]], bool]
    room: dict[str, int]
    keeps_history: bool = False
    on_shelf: Counter[tuple[str, bool]] = field(default_factory=Counter)
    lines: dict[str, str] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return len(self.lines) == 2 * sum(self.room.values())

    def search(self, boards: list[chess.Board], judge: Judge, rng: random.Random) -> None:
        """Take the first new position there is room for: at most one of a game."""
        for board in boards:
            bare = board if self.keeps_history else chess.Board(f"{board.epd()} 0 1")
            found = self.find(bare, judge, rng)
            if found and self._has_room(*found[:2]) and self._take(judge, *found):
                return

    def _has_room(self, board: chess.Board, shelf: str) -> bool:
        is_new = board.epd() not in self.lines
        return is_new and self.on_shelf[shelf, board.turn] < self.room[shelf]

    def _take(self, judge: Judge, board: chess.Board, shelf: str, operations: Operations) -> bool:
        if not self.confirm(board, judge, operations.get("bm") or operations["am"]):
            return False
        self.on_shelf[shelf, board.turn] += 1
        self.lines[board.epd()] = epd_line(board, **operations)
        return True

    def write(self) -> None:
        """Those with the fewest men first."""
        order = sorted(self.lines, key=lambda epd: (_num_men(chess.Board(f"{epd} 0 1")), epd))
        lines = [
            f'{self.lines[epd]} id "{self.prefix}.{number:03}";\n'
            for number, epd in enumerate(order, 1)
        ]
        (FOLDER / f"{self.name}.epd").write_text("".join(lines))


def main() -> None:
    phases = [str(most) for most in MOST_MEN]
    collections = [
        Collection("mate_in_1", "mate1", mate_in_1, is_mate_in_1, dict.fromkeys(phases, 20)),
        Collection("mate_in_2", "mate2", mate_in_2, is_mate_in_2, dict.fromkeys(phases, 10)),
        Collection(
            "stalemate_traps", "stalemate", stalemate_trap, others_win, {"approach": 9, "gain": 9}
        ),
        Collection(
            "repetition_traps",
            "repetition",
            repetition_trap,
            others_win,
            {"quiet": 8, "check": 4},
            keeps_history=True,
        ),
        Collection(
            "repetition_saves",
            "save",
            repetition_save,
            others_lose,
            {"quiet": 4, "check": 4},
            keeps_history=True,
        ),
    ]
    rng = random.Random(SEED)
    with _stockfish() as player, _stockfish() as referee:
        judge = Judge(referee)
        for game in count(1):
            open_ones = [each for each in collections if not each.is_full]
            if not open_ones:
                break
            boards = play(player, rng)
            rng.shuffle(boards)
            for collection in open_ones:
                collection.search(boards, judge, rng)
            if game % 50 == 0:
                print(game, {each.name: dict(each.on_shelf) for each in open_ones}, flush=True)
    for collection in collections:
        collection.write()


def _stockfish() -> chess.engine.SimpleEngine:
    engine = chess.engine.SimpleEngine.popen_uci(STOCKFISH)
    engine.configure({"Threads": 1, "Hash": 4})
    return engine


if __name__ == "__main__":
    main()
