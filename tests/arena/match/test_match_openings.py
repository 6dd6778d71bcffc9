"""The book of openings, the package's and the user's."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import chess
import numpy as np
import pytest

from vecchess.arena.match import match_openings as book
from vecchess.arena.match.match_openings import load_book, match_openings
from vecchess.chess.chess960 import start_positions
from vecchess.chess.fen import from_fens
from vecchess.chess.position import COUNTERS
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError

SHIPPED = Path(book.__file__).parents[1] / book.SHIPPED
PROGRAM = Path(__file__).parents[3] / "bench" / "make_openings.py"


def test_the_shipped_book_has_many_even_positions_all_different() -> None:
    positions = load_book()
    assert positions.shape == (500, 8)
    assert len(np.unique(positions[:, :COUNTERS], axis=0)) == 500
    verdicts = []
    for line in SHIPPED.read_text().splitlines():
        board, operations = chess.Board.from_epd(line)
        assert board.turn == chess.WHITE
        assert board.is_valid()
        verdicts.append(operations["ce"])
    assert max(map(abs, verdicts)) <= 30
    assert abs(np.mean(verdicts)) < 5


def test_the_shipped_book_is_spread_over_many_openings() -> None:
    boards = [chess.Board.from_epd(line)[0] for line in SHIPPED.read_text().splitlines()]
    structures = Counter(board.pieces_mask(chess.PAWN, chess.WHITE) for board in boards)
    assert len(structures) > 200
    assert max(structures.values()) < 0.03 * len(boards)


def test_the_seed_chooses_the_order() -> None:
    one, again, other = load_book(seed=1), load_book(None, 1), load_book(seed=2)
    assert np.array_equal(one, again)
    assert (one != other).any(axis=1).mean() > 0.9
    assert {row.tobytes() for row in one} == {row.tobytes() for row in other}


@pytest.mark.parametrize(("chess960", "num"), [(False, 500), (True, 960)])
def test_a_longer_match_repeats_no_opening(chess960: bool, num: int) -> None:
    config = MatchConfig(games=2 * num, chess960=chess960, seed=3)
    few = match_openings(config).positions
    many, more = (
        match_openings(config.model_copy(update={"games": games})).positions
        for games in (4 * num + 100, 6 * num)
    )
    assert (len(few), len(many), len(more)) == (num, 2 * num + 50, 3 * num)
    assert len(np.unique(more[:, :COUNTERS], axis=0)) == len(more)
    assert np.array_equal(many[:num], few), "a shorter match is part of a longer one"
    assert np.array_equal(more[: len(many)], many)


def test_a_file_of_openings_is_played_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.epd"
    file.write_text("4k3/8/8/8/8/8/4P3/4K3 w - - 5 9\n4k3/4p3/8/8/8/8/8/4K3 b - - 0 1\n")
    assert match_openings(MatchConfig(games=10, openings=file)).num_games == 2


def test_a_book_of_the_users(tmp_path: Path) -> None:
    fens = ["4k3/8/8/8/8/8/4P3/4K3 w - - 5 9", "4k3/4p3/8/8/8/8/8/4K3 b - - 0 1"]
    file = tmp_path / "mine.epd"
    file.write_text("\n".join(fens))
    orders = {load_book(file, seed).tobytes() for seed in range(20)}
    assert orders == {from_fens(fens).tobytes(), from_fens(fens[::-1]).tobytes()}
    games = tmp_path / "mine.pgn"
    games.write_text('[Result "*"]\n\n1. Nf3 Nf6 2. Ng1 Ng8 *\n')
    words = slice(0, COUNTERS)
    assert np.array_equal(load_book(games)[:, words], start_positions(1)[:, words])


@pytest.mark.parametrize(("text", "says"), [("", "holds no positions"), ("x", "mine.epd, line 1")])
def test_a_book_that_cannot_be_read(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "mine.epd"
    file.write_text(text)
    with pytest.raises(ConfigError, match=says):
        load_book(file)
    with pytest.raises(ConfigError, match=r"cannot read .*none\.epd"):
        load_book(tmp_path / "none.epd")


@pytest.mark.slow
@pytest.mark.stockfish
def test_the_program_that_made_it_does_so_again() -> None:
    stockfish = shutil.which("stockfish") or "/usr/games/stockfish"
    sizes = ["--positions", "3", "--nodes", "200", "--end-nodes", "400", "--even", "60"]
    books = [
        subprocess.run(
            [sys.executable, str(PROGRAM), "--engine", stockfish, *sizes],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for _ in range(2)
    ]
    assert books[0] == books[1]
    for line in books[0].splitlines():
        board, operations = chess.Board.from_epd(line)
        assert abs(operations["ce"]) <= 60
        assert chess.popcount(board.occupied) > 24
