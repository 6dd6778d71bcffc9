"""Recorded games as training data of lc0: a folder of gzip files, one a game."""

import gzip
from pathlib import Path
from typing import NamedTuple

from vecchess.errors import ConfigError
from vecchess.export.atomic_output import whole_folder
from vecchess.export.game_source import ExportSource, OnExported
from vecchess.export.lc0_chunk import to_chunk

COMPRESSION = 6
"""gzip's usual level, which lc0 takes too."""


class Lc0Counts(NamedTuple):
    """What an export came to."""

    games: int
    plies: int


def export_lc0(
    source: ExportSource, out: Path, watch: OnExported = lambda done, total: None
) -> Lc0Counts:
    """Write the games of ``source`` to the folder ``out``; ``game_<number>.gz`` as lc0 calls them.

    Raises ConfigError where ``out`` holds something or two games have one number, DataError where a
    game cannot be read or the disk refuses. ``out`` is there whole or not at all.
    """
    games = plies = 0
    with whole_folder(out) as folder:
        for game in source.games(watch):
            if not game.num_plies:
                continue  # lc0 has no files without a position
            data = gzip.compress(to_chunk(game).tobytes(), COMPRESSION, mtime=0)
            file = folder / f"game_{game.number:06d}.gz"
            if file.exists():
                raise ConfigError(f"two games have number {game.number}: export them one by one")
            file.write_bytes(data)
            games, plies = games + 1, plies + game.num_plies
    return Lc0Counts(games, plies)
