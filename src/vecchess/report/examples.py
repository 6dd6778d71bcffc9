"""A few games worth a look: the shortest mate, a large turn, the longest draw (decision 159)."""

from dataclasses import dataclass

import chess
import chess.svg
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination
from vecchess.errors import DataError
from vecchess.monitor.charts import Chart, Curve
from vecchess.monitor.decoded_game import DecodedGame
from vecchess.monitor.run_view import RunView

NUM_NEWEST = 64
"""The largest turn is searched among this many games: all of their values have to be read."""
LEAST_TURN = 0.1
MOST_TRIED = 4
"""Games that are tried as an example, in case the first cannot be read."""
COLOURS = {
    "square light": "#e9e4da", "square dark": "#a6927a", "margin": "#00000000",
    "square light lastmove": "#d9d38a", "square dark lastmove": "#b5a957", "coord": "#7d7468",
}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A game and what it is an example of."""

    title: str
    game: DecodedGame

    def diagrams(self) -> list[tuple[str, str]]:
        """The board before the largest turn, and at the end."""
        plies = len(self.game.ucis)
        found = [diagram(self.game, plies, "the end")]
        turning = max(_turns(self.game), default=(0.0, 0))[1]
        if 0 < turning < plies - 1:
            found.insert(0, diagram(self.game, turning, "before the largest turn"))
        return found

    def course(self) -> Chart | None:
        """White's expected score by ply; None where no position was evaluated."""
        scores = enumerate(self.game.white_score)
        points = [(float(ply), score) for ply, score in scores if score is not None]
        if len(points) < 2:
            return None
        return Chart("score", "expected score", "plies", "share", [Curve("White", points)])

    def movetext(self) -> str:
        """Its moves in SAN with their numbers, and the result."""
        board = chess.Board(self.game.start_fen, chess960=self.game.chess960)
        moves = board.variation_san(map(chess.Move.from_uci, self.game.ucis))
        return f"{moves} {self.game.result}"


def examples(view: RunView) -> list[Example]:
    """At most three recorded games, all different: the shortest mate and the longest draw of all
    games, and the largest turn among the newest; the newest game where none of these is there."""
    outcomes = view.outcomes()
    numbers, plies = outcomes.numbers, outcomes.plies
    mates = np.flatnonzero((outcomes.termination == Termination.CHECKMATE) & (plies > 0))
    draws = np.flatnonzero((outcomes.result == 0) & (plies > 0))
    found: dict[int, Example] = {}

    def add(title: str, rows: NDArray[np.intp]) -> None:
        """Add the first game of ``rows`` that can be read and is no example yet."""
        for row in rows[:MOST_TRIED].tolist():
            game = _read(view, int(numbers[row]))
            if game is not None and game.number not in found:
                found[game.number] = Example(title, game)
                return

    add("the shortest mate", mates[np.argsort(plies[mates], kind="stable")])
    turning = _largest_turn(view, numbers[::-1][:NUM_NEWEST].tolist(), set(found))
    if turning is not None:
        title = f"the largest turn of the newest {min(NUM_NEWEST, len(numbers))} games"
        found[turning.number] = Example(title, turning)
    add("the longest draw", draws[np.argsort(-plies[draws], kind="stable")])
    if not found:
        add("the newest game", np.flatnonzero(plies)[::-1])
    return list(found.values())


def diagram(game: DecodedGame, plies: int, words: str) -> tuple[str, str]:
    """The board after so many plies as SVG, the last move marked, and its caption."""
    board = chess.Board(game.start_fen, chess960=game.chess960)
    for uci in game.ucis[:plies]:
        board.push_uci(uci)
    move = board.peek() if plies else None
    check = board.king(board.turn) if board.is_check() else None
    drawn = chess.svg.board(board, lastmove=move, check=check, colors=COLOURS)
    return drawn, f"{words}, after ply {plies}"


def _read(view: RunView, number: int) -> DecodedGame | None:
    """A recorded game with moves; None where it cannot be read."""
    try:
        game = view.game(number)
    except DataError:
        return None
    return game if game.ucis and not game.is_live else None


def _largest_turn(view: RunView, numbers: list[int], others: set[int]) -> DecodedGame | None:
    """The game of ``numbers``, but for ``others``, in which the expected score changed most over
    two plies; None where it changed in none by more than ``LEAST_TURN``."""
    games = [game for number in numbers if number not in others and (game := _read(view, number))]
    found = max(games, key=_turn, default=None)
    return found if found is not None and _turn(found) > LEAST_TURN else None


def _turns(game: DecodedGame) -> list[tuple[float, int]]:
    """(change of White's expected score over two plies, ply before it)."""
    scores = game.white_score
    pairs = zip(scores, scores[2:], strict=False)
    return [
        (abs(after - before), ply)
        for ply, (before, after) in enumerate(pairs)
        if before is not None and after is not None
    ]


def _turn(game: DecodedGame) -> float:
    return max(_turns(game), default=(0.0, 0))[0]
