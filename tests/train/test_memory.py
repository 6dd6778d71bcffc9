"""What a large window takes in memory, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.train.games import games
from vecchess.bench.loading import made_up_searches
from vecchess.store.shard import write_shard

POSITIONS = 10_000_000
LIMIT_KIB = 2 * 1024 * 1024
PROGRAM = """
import resource, sys
from pathlib import Path
from vecchess.train.data.collate import fill_rows
from vecchess.train.data.samples import empty_samples
from vecchess.train.data.replay_window import GivenShelf, Window

place, wanted = Path(sys.argv[1]), int(sys.argv[2])
one = Window(GivenShelf([place]))
one.update(1)
copies = -(-wanted // one.num_positions)
window = Window(GivenShelf([place] * copies))
window.update(copies)
places = window.find(__import__("numpy").arange(0, wanted, wanted // 1000))
fill_rows(window.table, *places, empty_samples(1000))
print(window.num_positions, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_ten_million_positions_take_less_than_two_gigabytes(tmp_path: Path) -> None:
    records = made_up_searches(games(64), 0)
    write_shard(tmp_path / "games.npz", records.take(np.arange(64)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), str(POSITIONS)],
        capture_output=True,
        text=True,
        check=True,
    )
    positions, resident_kib = map(int, done.stdout.split())
    assert positions >= POSITIONS
    assert resident_kib < LIMIT_KIB
