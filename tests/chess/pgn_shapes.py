"""Random games, written as the programs and collections of the world write them."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import chess

PLAYERS = "Muster, Anna", "Пример", 'Kid "the" Sample', "M\u00fcller-Beispiel"
RESULTS = "1-0", "0-1", "1/2-1/2"
FIGURINES = str.maketrans("KQRBN", "♔♕♖♗♘")


@dataclass(frozen=True)
class Written:
    """A game as it was played."""

    moves: tuple[chess.Move, ...]
    result: str

    @property
    def sans(self) -> list[str]:
        board, sans = chess.Board(), []
        for move in self.moves:
            sans.append(board.san(move))
            board.push(move)
        return sans

    @property
    def long_moves(self) -> list[str]:
        board, words = chess.Board(), []
        for move in self.moves:
            words.append(board.lan(move))
            board.push(move)
        return words


def random_game(rng: Random) -> Written:
    """A game of up to sixty random plies whose result does not contradict its last position."""
    board, moves = chess.Board(), []
    for _ in range(rng.randint(1, 60)):
        legal = list(board.legal_moves)
        if not legal:
            break
        checks = [move for move in legal if board.is_castling(move) or move.promotion]
        moves.append(rng.choice(checks or legal))
        board.push(moves[-1])
    outcome = board.outcome()
    return Written(tuple(moves), outcome.result() if outcome else rng.choice(RESULTS))


def _tags(game: Written, rng: Random, *more: str) -> list[str]:
    white, black = (rng.choice(PLAYERS).replace('"', '\\"') for _ in range(2))
    head = [f'[Event "{rng.randint(1, 99)}"]', '[Site "?"]', '[Date "????.??.??"]', '[Round "1"]']
    return [*head, f'[White "{white}"]', f'[Black "{black}"]', f'[Result "{game.result}"]', *more]


def _numbered(sans: list[str], gap: str = " ", dots: bool = False) -> list[str]:
    words = []
    for ply, san in enumerate(sans):
        number = f"{ply // 2 + 1}."
        if ply % 2 == 0:
            words.append(number + gap + san)
        else:
            words.append(f"{number}..{gap}{san}" if dots else san)
    return words


def _wrapped(words: list[str], width: int) -> str:
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def plain(game: Written, rng: Random) -> str:
    words = [*_numbered(game.sans), game.result]
    return "\n".join([*_tags(game, rng), "", _wrapped(words, 79), "", ""])


def clocks(game: Written, rng: Random) -> str:
    """A server's: a clock and an evaluation behind each move, all in one line."""
    words = [
        f"{word} {{ [%eval {rng.randint(-9, 9)}.{rng.randint(10, 99)}] [%clk 0:0{ply % 6}:00] }}"
        for ply, word in enumerate(_numbered(game.sans, dots=True))
    ]
    tags = _tags(game, rng, '[TimeControl "180+2"]', '[Termination "Normal"]')
    return "\n".join([*tags, "", " ".join([*words, game.result]), "", ""])


def two_empty_lines(game: Written, rng: Random) -> str:
    """Two empty lines behind the tags, no blank behind numbers, two before the result."""
    moves = _wrapped(_numbered(game.sans, gap=""), 70)
    return "\n".join([*_tags(game, rng), "", "", f"{moves}  {game.result}", "", ""])


def by_hand(game: Written, rng: Random) -> str:
    """Moves in lines of their own, with empty lines between them."""
    lines = [""]
    for ply, san in enumerate(game.sans):
        if ply % 2 == 0:
            lines += [""] * rng.randint(0, 2) + [f"  {ply // 2 + 1}.\t{san}"]
        else:
            lines[-1] += f" {san}"
    return "\n".join([*_tags(game, rng), *lines, "", game.result, "", ""])


def annotated(game: Written, rng: Random) -> str:
    """Variations within variations, glyphs, signs, and comments of several paragraphs."""
    extras = [
        "$1", "$146", "{A remark.}", "{Two paragraphs:\n\nsee ( there ) and 1-0.}", "( 1. d4 $6 )",
        "(1. c4 e5 (1... c5 {here too} 2. g3) 2. Nc3 *)", "; until the end ( of { the line\n",
        "\n% an escape 1-0\n", "{[%csl Ga4][%cal Gc2c3]}", "(1-0)", "+-", "=", "+/=", "{}",
    ]  # fmt: skip
    words = []
    for word in _numbered(game.sans, dots=rng.random() < 0.5):
        words.append(word + rng.choice(["", "!", "?!", "!!"]))
        words += [rng.choice(extras) for _ in range(rng.randint(0, 2))]
    return "\n".join([*_tags(game, rng), "", " ".join([*words, game.result]), "", ""])


def figurines(game: Written, rng: Random) -> str:
    words = [word.translate(FIGURINES) for word in _numbered(game.sans)]
    return "\n".join([*_tags(game, rng), "", _wrapped([*words, game.result], 79), "", ""])


def long_algebraic(game: Written, rng: Random) -> str:
    """Long moves, castling with zeros, checks without a mark, no numbers."""
    words = [word.rstrip("+#").replace("O", "0") for word in game.long_moves]
    return "\n".join([*_tags(game, rng), "", _wrapped([*words, game.result], 40), "", ""])


def no_tags(game: Written, rng: Random) -> str:
    return _wrapped([*_numbered(game.sans), game.result], 60) + "\n" * rng.randint(1, 3)


def crowded(game: Written, rng: Random) -> str:
    """Tags in one line, no empty lines at all, quotes within quotes, a draw with a real half."""
    tags = " ".join(_tags(game, rng)[:4])
    rest = [f'[White "{rng.choice(PLAYERS)}"]', f'[Result "{game.result}"]']
    result = "½-½" if game.result == "1/2-1/2" else game.result.replace("-", "–")  # noqa: RUF001
    return "\n".join([tags, *rest, _wrapped([*_numbered(game.sans, gap=""), result], 200), ""])


def remarks(game: Written, rng: Random) -> str:
    """A comment before the tags, one before the moves, and the old signs of passing."""
    words = [
        word + ("e.p." if _is_en_passant(game, ply) else "")
        for ply, word in enumerate(_numbered(game.sans))
    ]
    head = ["; a collection", *_tags(game, rng, f'[PlyCount "{len(game.moves)}"]')]
    return "\n".join([*head, "", "{White plays.}", _wrapped([*words, game.result], 79), "", ""])


def _is_en_passant(game: Written, ply: int) -> bool:
    board = chess.Board()
    for move in game.moves[:ply]:
        board.push(move)
    return board.is_en_passant(game.moves[ply])


SHAPES: dict[str, Callable[[Written, Random], str]] = {
    shape.__name__: shape
    for shape in (
        plain, clocks, two_empty_lines, by_hand, annotated, figurines, long_algebraic, no_tags,
        crowded, remarks,
    )
}  # fmt: skip
