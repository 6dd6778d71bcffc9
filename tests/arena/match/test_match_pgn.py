"""Files that games of a match are appended to."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from vecchess.arena.match.match_pgn import PgnFile
from vecchess.arena.match_game import MatchGame
from vecchess.chess.chess960 import start_positions
from vecchess.errors import DataError


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_line_and_leaves_whole_games(tmp_path: Path) -> None:
    no_moves = (np.zeros(0, np.uint16), np.zeros(0, np.float32), np.zeros(0, np.int32))
    game = MatchGame(0, start_positions(1)[0], 0, *no_moves, 64, 1.0, first_is_white=True)
    path, players = tmp_path / "games.pgn", ("a", "b")
    with PgnFile(path, players) as file:
        file.add([game])
        whole = path.read_bytes()
        with (
            largest_file(len(whole) + 10),
            pytest.raises(DataError, match=f"^cannot write games to {path}: File too large$"),
        ):
            file.add([game])
        assert path.read_bytes() == whole
        file.add([game])
    assert path.read_bytes() == 2 * whole
