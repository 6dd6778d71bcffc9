"""Games of PGN files: their main lines, read one at a time, and never a move that was not played.

PGN is what many programs write, each in its own way ("Portable Game Notation Specification and
Implementation Guide", 1994, and what became of it). Read are empty lines anywhere, several games
without tags, comments over lines, variations, numeric glyphs and signs, lines of escape, figurines,
castling with zeros, long algebraic moves. A game ends with its result, or where tags begin again.
Whatever else stands between moves is a fault of its game: a move is never guessed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import chess
import chess.pgn

from vecchess.chess.fen import parse
from vecchess.errors import ConfigError, DataError
from vecchess.safe_parse import clip_line

UNFINISHED = "*"
_RESULTS = {"1-0": "1-0", "0-1": "0-1", "1/2-1/2": "1/2-1/2", "1/2": "1/2-1/2", "*": UNFINISHED}
_DASHES = str.maketrans("‐‑‒–—−", "------") | {ord("½"): "1/2"}  # noqa: RUF001
_FIGURINES = str.maketrans("♔♕♖♗♘♚♛♜♝♞", "KQRBNKQRBN", "♙♟")
_TAG = re.compile(r'\[\s*(\w+)\s*"((?:[^"\\]|\\.)*)"\s*\]\s*')
_LOOSE_TAG = re.compile(r'\[\s*(\w+)\s*"(.*)"\s*\]?\s*$')
"""A tag whose value has quotes that are not escaped, or whose bracket is missing."""
_TAG_BEGINS = re.compile(r'\s*\[\s*\w+\s*"')
_TOKEN = re.compile(r"[{}();]|\$\d*|[^\s{}();$]+")
_NUMBER = re.compile(r"(\d{1,6})(?:\.+|…|$)")
_DOTS = re.compile(r"^(?:\.{2,}|…|\.$)")
"""Dots before a move of Black that stand away from its number, as in "1. ... e5"."""
_SUFFIX = re.compile(r"(?:e\.?p\.?)?[+#!?]*$")
_CASTLING = re.compile(r"[oO0](-[oO0]){1,2}")
_SIGNS = re.compile(r"[!?]+|[+=∓±⩲⩱∞□⇆↑→⌓]+|[+-]/[+-]|\+/=|=/\+|\+-+|-+\+|e\.?p\.?")
_NULL_MOVES = frozenset(("--", "Z0", "0000", "@@@@", "null", "pass"))


@dataclass
class PgnGame:
    """The main line of one game, and what is wrong with it."""

    line: int = 0
    """Line of the file in which the game begins, from 1."""
    tags: dict[str, str] = field(default_factory=dict)
    start: chess.Board = field(default_factory=chess.Board)
    board: chess.Board = field(default_factory=chess.Board)
    """After the last move."""
    moves: list[chess.Move] = field(default_factory=list)
    marker: str = ""
    """The result behind its moves; "" where there is none: it may have been cut off."""
    fault: str = ""
    """The first thing that could not be understood, "" for none; moves from there on are left
    out."""

    @property
    def result(self) -> str:
        """The result that its moves end with; "*" where they end with none."""
        return self.marker or UNFINISHED


def read_pgn(lines: Iterable[str], most_plies: int) -> Iterator[PgnGame]:
    """The games of ``lines``, as ``open_pgn`` gives them. A game with more plies has a fault."""
    reader = _Reader(most_plies)
    for number, line in enumerate(lines, 1):
        yield from reader.read(number, line)
    yield from reader.end()


class _Reader:
    """Reads line by line; a game is given away once it has ended."""

    def __init__(self, most_plies: int) -> None:
        self._most_plies = most_plies
        self._begin(0)

    def _begin(self, line: int) -> None:
        self._game = PgnGame(line)
        self._has_moves = False  # or anything else behind the tags
        self._is_open = False  # a line of tags or moves was read
        self._first_number: int | None = None
        self._depth = 0  # of variations
        self._comment_line = 0  # where an open comment begins
        self._was_empty = False
        self._is_whole = True

    def read(self, number: int, line: str) -> Iterator[PgnGame]:
        """Read a line; gives the games that end in it."""
        line = line.lstrip("\ufeff")
        self._is_whole = line.endswith("\n")
        if _TAG_BEGINS.match(line) and not (self._comment_line and line.lstrip() != line):
            yield from self._read_tags(number, line)
            return
        if self._comment_line:
            line = self._end_comment(line)
        elif line.startswith("%"):
            return
        elif line.lstrip().startswith("[") and not self._has_moves:
            self._open(number)
            self._fail(f"line {number} is no tag: {clip_line(line.strip())}")
            return
        if not line.strip():
            self._was_empty = True
            return
        yield from self._read_moves(number, line)

    def end(self) -> Iterator[PgnGame]:
        """Give the last game."""
        if self._comment_line:
            self._open(self._comment_line)
        if self._is_open:
            game = self._ended()
            if self._has_moves and not self._is_whole:
                self._fail("the file ends behind a move: write its result, or *, there")
            yield game

    def _open(self, number: int) -> None:
        if not self._is_open:
            self._game.line, self._is_open = number, True

    def _read_tags(self, number: int, line: str) -> Iterator[PgnGame]:
        """Tags behind moves begin another game, and so does a tag that the game has already."""
        line = line.strip()
        found = _TAG.findall(line) if _TAG.sub("", line) == "" else _LOOSE_TAG.findall(line)
        repeats = any(name in self._game.tags for name, _ in found)
        if self._comment_line:
            self._open(self._comment_line)
        is_next = self._has_moves or (repeats and (self._was_empty or found[0][0] == "Event"))
        if is_next or self._comment_line:
            yield self._ended()
            self._begin(number)
        self._open(number)
        if not found:
            self._fail(f"line {number} is no tag: {clip_line(line)}")
        for name, value in found:
            value = re.sub(r"\\(.)", r"\1", value).strip()
            if self._game.tags.setdefault(name, value) != value:
                self._fail(f"it has two tags {name}")

    def _read_moves(self, number: int, line: str) -> Iterator[PgnGame]:
        rest = line
        while token := _TOKEN.search(rest):
            rest, word = rest[token.end() :], token[0]
            if word == ";":
                return
            if word == "{":
                self._comment_line = number
                rest = self._end_comment(rest)
                continue
            if not self._has_moves:
                self._open(number)
                self._set_up()
            if word in "()":
                self._depth += 1 if word == "(" else -1
                if self._depth < 0:
                    self._depth = 0
                    self._fail("a variation ends that did not begin")
            elif self._depth == 0 and self._read_word(word):
                yield self._ended()
                self._begin(number)

    def _end_comment(self, text: str) -> str:
        """What follows the open comment in a line; "" where it goes on in the next."""
        _, end, rest = text.partition("}")
        if end:
            self._comment_line = 0
        return rest

    def _set_up(self) -> None:
        """Make the board, before the first move."""
        self._has_moves = True
        game = self._game
        try:
            board = chess.pgn.Headers(game.tags).board()
            if type(board) is not chess.Board:
                raise ConfigError(f"{type(board).__name__} is not chess")
            parse(board.fen())
        except (ConfigError, DataError, ValueError) as error:
            self._fail(clip_line(error))
        else:
            game.start, game.board = board, board.copy()

    def _read_word(self, word: str) -> bool:
        """Read what stands between blanks; whether it ends the game."""
        game, plain = self._game, word.translate(_DASHES)
        if plain in _RESULTS:
            game.marker = _RESULTS[plain]
            return True
        if game.fault or word.startswith("$"):
            return False
        if number := _NUMBER.match(plain):
            self._check_number(int(number[1]))
            plain = plain[number.end() :]
        plain = _DOTS.sub("", plain)
        if plain and not _SIGNS.fullmatch(plain):
            self._push(plain)
        return False

    def _check_number(self, number: int) -> None:
        """Moves are counted on from the first number: 1, or any where a FEN is given."""
        game = self._game
        played = (len(game.moves) + (not game.start.turn)) // 2
        if self._first_number is None and "FEN" not in game.tags:
            self._first_number = 1
        if self._first_number is None:
            self._first_number = number - played
        elif number != self._first_number + played:
            self._fail(f"the number {number} stands where {self._first_number + played} should be")

    def _push(self, word: str) -> None:
        game = self._game
        board = game.board
        san = _SUFFIX.sub("", word.translate(_FIGURINES))
        if _CASTLING.fullmatch(san):
            san = san.replace("o", "O").replace("0", "O")
        where = f"move {board.fullmove_number}{'.' if board.turn else '...'} {clip_line(word)}"
        if len(game.moves) >= self._most_plies:
            self._fail(f"it has more than {self._most_plies} plies")
            return
        if san in _NULL_MOVES:
            self._fail(f"{where} is no move")
            return
        try:
            if not san[:1].isalpha():  # python-chess takes "2-a4" and "-a4" for moves of a pawn
                raise ValueError
            move = board.parse_san(san)
        except ValueError:
            self._fail(f"{where} is illegal")
            return
        game.moves.append(move)
        board.push(move)

    def _fail(self, fault: str) -> None:
        self._game.fault = self._game.fault or fault

    def _ended(self) -> PgnGame:
        """The game, ended."""
        if self._comment_line:
            self._fail(f"the comment that begins in line {self._comment_line} does not end")
        elif self._depth:
            self._fail("a variation does not end")
        if not self._has_moves:
            self._set_up()
        game = self._game
        if game.moves and not game.tags and self._first_number is None:
            self._fail("it has neither tags nor numbers: it may be the rest of another game")
        tag = _RESULTS.get(game.tags.get("Result", "").translate(_DASHES).replace(" ", ""))
        if game.marker not in ("", UNFINISHED) and tag not in (None, UNFINISHED, game.marker):
            self._fail(f"its tag says {tag}, its moves end with {game.marker}")
        return game
