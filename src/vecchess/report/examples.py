"""A few games worth a look: a mate, a turn of fortune, a long draw."""

from dataclasses import dataclass
from html import escape

import chess
import chess.svg

from vecchess.errors import DataError
from vecchess.monitor.charts import Chart, Curve
from vecchess.monitor.decoded_game import DecodedGame
from vecchess.monitor.run_view import RunView
from vecchess.report.svg import line_chart

NUM_LOOKED_AT = 64
"""Newest games among which examples are looked for."""
COLOURS = {
    "square light": "#e9e4da", "square dark": "#a6927a", "margin": "#00000000",
    "square light lastmove": "#d9d38a", "square dark lastmove": "#b5a957", "coord": "#7d7468",
}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A game and what it is an example of."""

    title: str
    game: DecodedGame


def examples(view: RunView) -> list[Example]:
    """At most three of the newest recorded games, all different."""
    games = _newest(view)
    found: list[Example] = []
    for title, key, fits in (
        ("the shortest mate", lambda g: -len(g.ucis), lambda g: g.termination == "checkmate"),
        ("the largest turn", _turn, lambda g: _turn(g) > 0.1),
        ("the longest draw", lambda g: len(g.ucis), lambda g: g.result == "1/2-1/2"),
        ("the newest game", lambda g: g.number, lambda g: True),
    ):
        left = [game for game in games if fits(game) and game not in [e.game for e in found]]
        if left and (len(found) < 3 and (title != "the newest game" or not found)):
            found.append(Example(title, max(left, key=key)))
    return found


def example_html(example: Example) -> str:
    """Its turn and its end as diagrams, the course of its value, its moves."""
    game = example.game
    ply = _turning_ply(game)
    boards = [diagram(game, len(game.ucis), "the end")]
    if 0 < ply < len(game.ucis) - 1:
        boards.insert(0, diagram(game, ply, "before the largest turn"))
    return (
        f"<article><h3>{escape(example.title)}: game {game.number}</h3>"
        f"<p>{escape(game.result)}, {escape(game.termination.replace('_', ' '))} after "
        f"{len(game.ucis)} plies</p>"
        f'<div class="boards">{"".join(boards)}{_course(game)}</div>'
        f"<details><summary>moves</summary><p>{escape(movetext(game))}</p></details></article>"
    )


def diagram(game: DecodedGame, plies: int, words: str) -> str:
    """The board after so many plies, the last move marked."""
    board = chess.Board(game.start_fen, chess960=game.chess960)
    move = None
    for uci in game.ucis[:plies]:
        move = board.parse_uci(uci)
        board.push(move)
    check = board.king(board.turn) if board.is_check() else None
    drawn = chess.svg.board(board, lastmove=move, check=check, colors=COLOURS)
    name = f"{words}, after ply {plies}"
    return f"<figure>{drawn}<figcaption>{escape(name)}</figcaption></figure>"


def movetext(game: DecodedGame) -> str:
    """Its moves in SAN with their numbers."""
    board = chess.Board(game.start_fen, chess960=game.chess960)
    full, is_white = board.fullmove_number, board.turn
    words = [] if is_white or not game.sans else [f"{full}..."]
    for san in game.sans:
        words.append(f"{full}. {san}" if is_white else san)
        full, is_white = full + (not is_white), not is_white
    return " ".join([*words, game.result])


def _newest(view: RunView) -> list[DecodedGame]:
    """The newest recorded games that can be read."""
    found = []
    for number in view.newest_games(NUM_LOOKED_AT):
        try:
            found.append(view.game(number))
        except DataError:
            continue
    return [game for game in found if game.ucis and not game.is_live]


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


def _turning_ply(game: DecodedGame) -> int:
    return max(_turns(game), default=(0.0, 0))[1]


def _course(game: DecodedGame) -> str:
    """White's expected score by ply; nothing where nobody judged."""
    points = [(float(p), s) for p, s in enumerate(game.white_score) if s is not None]
    if len(points) < 2:
        return ""
    curve = Curve("White", points)
    return line_chart(Chart("score", "expected score", "plies", "share", [curve]))
