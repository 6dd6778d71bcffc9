"""PGN as the world writes it: the games that were played, or a fault, never others."""

import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import chess
import chess.pgn
import pytest

from tests.chess.damaged_pgn import damaged, unplayed
from tests.chess.pgn_shapes import SHAPES, Written, random_game
from vecchess.chess.read_pgn import PgnGame, read_pgn

PGN_EXTRACT = shutil.which("pgn-extract", path=f"{os.environ['PATH']}:/usr/games")
TAGS = '[Event "x"]\n[Result "{}"]\n'


def read(text: str, most_plies: int = 500) -> list[PgnGame]:
    return list(read_pgn(io.StringIO(text, newline=None), most_plies))


def played(game: PgnGame) -> Written:
    return Written(tuple(game.moves), game.result)


def games_of(text: str) -> list[str]:
    """Each game in short: its moves and its result, or its fault."""
    return [
        game.fault or " ".join([*Written(tuple(game.moves), "").sans, game.marker])
        for game in read(text)
    ]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_games_of_a_collection_are_those_that_were_played(shape: str, ends: str) -> None:
    rng = Random(f"{shape} {ends}")
    games = [random_game(rng) for _ in range(15)]
    text = "".join(SHAPES[shape](game, rng) for game in games)
    found = read(text.replace("\n", ends))
    assert [game.fault for game in found] == [""] * len(games)
    assert [played(game) for game in found] == games
    assert [game.board.move_stack for game in found] == [[*game.moves] for game in games]


def test_shapes_may_be_mixed() -> None:
    rng = Random(4)
    games = [random_game(rng) for _ in range(100)]
    text = "".join(SHAPES[rng.choice(list(SHAPES))](game, rng) for game in games)
    assert [played(game) for game in read(text)] == games


@pytest.mark.parametrize(
    ("moves", "found"),
    [
        ("1. e4 e5\n\n2. Nf3 Nc6 1-0", ["e4 e5 Nf3 Nc6 1-0"]),
        ("\n\n1.e4 e5\n1-0", ["e4 e5 1-0"]),
        ("1. e4 e5 2. Sf3 Sc6 1-0", ["move 2. Sf3 is illegal"]),
        ("1. e4 e5 2. N f3 Nc6 1-0", ["move 2. N is illegal"]),
        ("1. e4 e5 2. Ng1 - f3 Nc6 1-0", ["move 2. Ng1 is illegal"]),
        ("1. e4 e5 2. d4 - d5 1-0", ["move 2... - is illegal"]),
        ("1. e4 e5 then Nf3 1-0", ["move 2. then is illegal"]),
        ("1. e4 e5 3. Nf3 1-0", ["the number 3 stands where 2 should be"]),
        ("1. e4 e5\n\n1. d4 d5 1-0", ["the number 1 stands where 2 should be"]),
        ("2. e4 e5 1-0", ["the number 2 stands where 1 should be"]),
        ("1. e4 e5 2. 2-a4 1-0", ["move 2. 2-a4 is illegal"]),
        ("1. e4 e5 2. -a4 1-0", ["move 2. -a4 is illegal"]),
        ("1. e4 .e5 1-0", ["move 1... .e5 is illegal"]),
        ("1. e4 e..5 1-0", ["move 1... e..5 is illegal"]),
        ("1 . e4 … e5 2 ... Nf3 1-0", ["e4 e5 Nf3 1-0"]),
        ("1. e4 {never ends e5 1-0", ["the comment that begins in line 4 does not end"]),
        ("1. e4 (1. d4 e5 1-0", ["a variation does not end"]),
        ("1. e4 ) e5 1-0", ["a variation ends that did not begin"]),
        ("1. e4 e5 0-1", ["its tag says 1-0, its moves end with 0-1"]),
        ("1. e4 -- 2. d4 1-0", ["move 1... -- is no move"]),
        ("1. e4 e5 2. Nf3 Nf6 3. Nb", ["move 3. Nb is illegal"]),
        ("1. e4 e5 2. Nf3 N", ["move 2... N is illegal"]),
        ("1. e4 e5", ["the file ends behind a move: write its result, or *, there"]),
        ("1. e4 e5\n", ["e4 e5 "]),
        ("1. e4 e5 *", ["e4 e5 *"]),
        ("1. e4 $12345678901234567890 e5 1-0", ["e4 e5 1-0"]),
        ("1. e4 1... e5 2. Nf3 2... Nc6 1-0", ["e4 e5 Nf3 Nc6 1-0"]),
        ("1. e4 1. ... e5 1-0", ["e4 e5 1-0"]),
        ("1. e4 e5 1-0 1. d4 d5 *", ["e4 e5 1-0", "d4 d5 *"]),
        ("1. e2-e4 e7e5 2. ♘f3 ♞c6 1-0", ["e4 e5 Nf3 Nc6 1-0"]),
        ("[%clk 0:01:00]\n1. e4 1-0", ["line 4 is no tag: [%clk 0:01:00]"]),
    ],
)  # fmt: skip
def test_the_moves_of_one_game(moves: str, found: list[str]) -> None:
    assert games_of(TAGS.format("1-0") + "\n" + moves) == found


def test_an_open_comment_ends_where_the_next_tags_begin() -> None:
    text = (
        TAGS.format("1-0") + "\n1. e4 {oops e5 1-0\n\n" + TAGS.format("1-0") + "\n1. d4 {x} d5 1-0"
    )
    assert games_of(text) == ["the comment that begins in line 4 does not end", "d4 d5 1-0"]


def test_a_game_without_tags_and_numbers_may_be_the_rest_of_another() -> None:
    assert games_of("1. e4 e5 1-0\na3 e6 0-1") == [
        "e4 e5 1-0",
        "it has neither tags nor numbers: it may be the rest of another game",
    ]


@pytest.mark.parametrize(
    ("num_texts", "seed"), [(150, 0), pytest.param(5_000, 1, marks=pytest.mark.slow)]
)
def test_damage_makes_no_game_that_nobody_played(num_texts: int, seed: int) -> None:
    for number in range(num_texts):
        text, games = damaged(Random(f"{seed} {number}"))
        assert not unplayed(text, games), text


def test_tags_alone_are_games_without_moves() -> None:
    assert games_of(TAGS.format("1-0") * 2 + "\n1. e4 1-0") == ["", "e4 1-0"]


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\n\n\n"])
def test_a_position_in_the_tags_is_kept_whatever_follows(gap: str) -> None:
    fen = "8/8/8/8/8/4k3/8/4K2R b - - 3 40"
    [game] = read(f'{TAGS.format("*")}[FEN "{fen}"]\n[SetUp "1"]{gap}40... Kf3 41. Rh3+ *\n')
    assert (game.fault, game.start.fen(), len(game.moves)) == ("", fen, 2)


@pytest.mark.parametrize(
    ("tags", "fault"),
    [
        ('[FEN "8/8/8/8/8/8/8/K7 w - - 0 1"]', "no king"),
        ('[FEN "nonsense"]', "nonsense"),
        ("[FEN 8/8/8/8/8/4k3/8/4K2R w - - 0 1]", "line 3 is no tag"),
        ('[Result "0-1"]', "two tags Result"),
        ('[Variant "Atomic"]', "AtomicBoard is not chess"),
    ],
)
def test_tags_that_cannot_be_understood(tags: str, fault: str) -> None:
    [game] = read(f"{TAGS.format('1-0')}{tags}\n\n1. e4 1-0\n")
    assert fault in game.fault
    assert not game.moves


def test_a_game_that_is_too_long_has_a_fault() -> None:
    [game] = read("1. Nf3 Nf6 2. Ng1 Ng8 *\n", most_plies=3)
    assert game.fault == "it has more than 3 plies"


def _extracted(folder: Path, text: str) -> Iterator[Written]:
    """The games that pgn-extract reads."""
    (folder / "a.pgn").write_text(text)
    command = [str(PGN_EXTRACT), "-s", "-C", "-V", "-N", "-w9999", "-Wuci", str(folder / "a.pgn")]
    out = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for line in out.splitlines():
        if line and not line.startswith("["):
            *moves, result = line.split()
            yield Written(tuple(chess.Move.from_uci(move.lower()) for move in moves), result)


@pytest.mark.skipif(not PGN_EXTRACT, reason="pgn-extract is not installed")
@pytest.mark.parametrize(
    "shape", ["plain", "clocks", "two_empty_lines", "no_tags", "long_algebraic"]
)
def test_pgn_extract_reads_the_same_games(tmp_path: Path, shape: str) -> None:
    rng = Random(shape)
    text = "".join(SHAPES[shape](random_game(rng), rng) for _ in range(20))
    assert [played(game) for game in read(text)] == list(_extracted(tmp_path, text))
