"""Texts of games with damage: whatever is read of them was played, or another reader reads it too.

python -m tests.chess.damaged_pgn --texts 200000 [--seed N]    prints one JSON object
"""

import argparse
import io
import json
import logging
import re
from collections import Counter
from collections.abc import Callable
from random import Random

import chess.pgn

from tests.chess.pgn_shapes import SHAPES, Written, random_game
from vecchess.chess.read_pgn import PgnGame, read_pgn

MOST_PLIES = 500
logging.getLogger("chess.pgn").setLevel(logging.CRITICAL)
LETTERS = str.maketrans("♔♕♖♗♘♚♛♜♝♞\u2013", "KQRBNKQRBN-") | {ord("½"): "1/2"}
_GLYPH = re.compile(r"\$\d*\.?")
_RESULT = re.compile(r"(1-0|0-1|1/2-1/2|\*)(?=\s)")
PIECES_OF_TEXT = [
    "\n", "\n\n", "\n\n\n", "\r", "\t", " ", "{", "}", "(", ")", ";", "%", "\n%", "[", "]", '"',
    "\\", "$", "$1", "1-0", "0-1", "1/2-1/2", "*", "1.", "2...", "7.", "...", "e4", "Nf3", "O-O",
    "0-0-0", "=Q", "x", "+", "#", "!?", "--", "S", "D", "\u0422", "♘", "½", "\u2013", "\ufeff",
    "\x00", "\x1a", "\x85", "\u2028", "é", '\n[Event "x"]\n', '[FEN "', '[Result "1-0"]',
    "\n\n[White",
]  # fmt: skip


def _cut(text: str, rng: Random) -> str:
    return text[: rng.randrange(len(text))]


def _head_lost(text: str, rng: Random) -> str:
    return text[rng.randrange(len(text)) :]


def _span_lost(text: str, rng: Random) -> str:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.choice((1, 1, 2, 3, 8, 40, 200)) :]


def _line_lost(text: str, rng: Random) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def _inserted(text: str, rng: Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(PIECES_OF_TEXT) + text[at:]


def _doubled(text: str, rng: Random) -> str:
    start = rng.randrange(len(text))
    end = start + rng.choice((1, 3, 10, 60))
    return text[:end] + text[start:end] + text[end:]


def _moved(text: str, rng: Random) -> str:
    first, second, third = sorted(rng.randrange(len(text)) for _ in range(3))
    return text[:first] + text[second:third] + text[first:second] + text[third:]


def _other_letter(text: str, rng: Random) -> str:
    at = rng.randrange(len(text))
    letter = text[at]
    other = letter.swapcase() if rng.random() < 0.5 else chr(ord(letter) ^ (1 << rng.randrange(7)))
    return text[:at] + other + text[at + 1 :]


def _joined(text: str, rng: Random) -> str:
    return text.replace("\n", " " if rng.random() < 0.5 else "", rng.randint(1, 10))


DAMAGE: list[Callable[[str, Random], str]] = [
    _cut, _head_lost, _span_lost, _line_lost, _inserted, _inserted, _doubled, _moved,
    _other_letter, _joined,
]  # fmt: skip


def key_of(moves: tuple[chess.Move, ...], start: chess.Board) -> tuple[str, str]:
    return start.fen(), " ".join(move.uci() for move in moves)


def is_played(game: PgnGame, games: list[Written]) -> bool:
    """Whether it is one of ``games`` or its begin: that the rest is missing nobody can tell."""
    moves, num = tuple(game.moves), len(game.moves)
    return game.start == chess.Board() and any(other.moves[:num] == moves for other in games)


def found_by_python_chess(text: str) -> set[tuple[str, str]]:
    """The games of a text that python-chess reads without an error."""
    stream, found = io.StringIO(text), set()
    while game := chess.pgn.read_game(stream):
        if not game.errors:
            found.add(key_of(tuple(game.mainline_moves()), game.board()))
    return found


def unplayed(text: str, games: list[Written]) -> list[PgnGame]:
    """The games that our reader gives without a fault, and that neither were played nor are what
    python-chess reads in ``text``, as it is and in the form that it knows."""
    found = [
        game
        for game in read_pgn(io.StringIO(text, newline=None), MOST_PLIES)
        if game.moves and not game.fault and game.marker in ("1-0", "0-1", "1/2-1/2")
    ]
    strange = [game for game in found if not is_played(game, games)]
    if strange:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        dense = "\n".join(line for line in lines if line.strip()).translate(LETTERS)
        known = _RESULT.sub(r"\1\n\n", _GLYPH.sub(" ", dense))
        others = found_by_python_chess(text) | found_by_python_chess(known)
        strange = [g for g in strange if key_of(tuple(g.moves), g.start) not in others]
    return strange


def damaged(rng: Random) -> tuple[str, list[Written]]:
    """One to four games as somebody writes them, with one to three kinds of damage."""
    games = [random_game(rng) for _ in range(rng.randint(1, 4))]
    shape = SHAPES[rng.choice(list(SHAPES))]
    text = "".join(shape(game, rng) for game in games)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(DAMAGE)(text, rng) or " "
    return text, games


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="texts with unplayed games to print")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for number in range(options.texts):
        text, games = damaged(Random(f"{options.seed} {number}"))
        strange = unplayed(text, games)
        counts["games"] += len(games)
        counts["unplayed"] += len(strange)
        if strange and counts["shown"] < options.show:
            counts["shown"] += 1
            print(f"--- {number}: {[move.uci() for move in strange[0].moves]}\n{text}")
    print(json.dumps({"texts": options.texts, "seed": options.seed, **counts}))


if __name__ == "__main__":
    main()
