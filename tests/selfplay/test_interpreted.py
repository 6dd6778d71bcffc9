"""Games whose kernels are interpreted: the same as those of compiled ones, and games of chess."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.selfplay.playing import LoudBackend, play, replay, server_of
from vecchess.chess.planes import NUM_PLANES, num_planes
from vecchess.config import GameConfig, TreeConfig
from vecchess.selfplay.games.finished_games import FinishedGames, finished_records
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import read_saved
from vecchess.store.records import GameRecords

GAME = GameConfig(
    max_plies=28, random_plies=3, resign_below=0.4, resign_turns=2, adjudicate_draw_within=0.06,
    adjudicate_draw_plies=3, temperature="1.0,8:0.3",
)  # fmt: skip
CASES = {
    "drawn": (GAME, TreeConfig(), NUM_PLANES),
    "chess960": (GAME.model_copy(update={"chess960": True}), TreeConfig(), num_planes(3)),
    "gumbel": (GAME, TreeConfig(search="gumbel", sims=4, cache_mb=1), num_planes(2, moves=True)),
    "puct": (GAME, TreeConfig(search="puct", sims=6, fast_sims=2, full_share=0.5), NUM_PLANES),
}
"""Rules, search, input planes."""


def games_of(case: str) -> GameRecords:
    game, tree, planes = CASES[case]
    return play(game, 6, LoudBackend(3), seats=4, movers=2, tree=tree, planes=planes)


def print_digests() -> None:
    for case in CASES:
        print(games_of(case).digest())


@pytest.mark.plain
@pytest.mark.parametrize("case", CASES)
def test_games_are_games_of_chess(case: str) -> None:
    records = games_of(case)
    records.validate()
    boards = replay(records, chess960=case == "chess960")
    assert records.numbers.tolist() == list(range(6))
    assert [len(board.move_stack) for board in boards] == records.lengths.tolist()
    assert records.lengths.max() <= CASES[case][0].max_plies
    searched = records.visits > 0
    assert searched.any() == (case in ("gumbel", "puct"))
    assert ((records.prob > 0) & (records.prob <= 1)).all()
    sizes = np.diff(records.target_offsets)
    assert (sizes[~searched] == 0).all()


@pytest.mark.plain
@pytest.mark.parametrize("case", CASES)
def test_saved_games_go_on_as_they_would_have(case: str, tmp_path: Path) -> None:
    """They are saved once the first has ended."""
    game, tree, planes = CASES[case]
    finished, file = list[FinishedGames](), tmp_path / "0.npz"
    for first_half in (True, False):
        server = server_of(game, tree, LoudBackend(3), 6, 1, 1, planes)
        if first_half:
            server.pool.add(IdSet([(0, 6)]))
        else:
            server.pool.add_saved(read_saved(file))
        server.start()
        while not server.is_idle and not (first_half and finished):
            server.step()
            finished += server.take_finished()
        server.pool.clear()
        server.close()
        finished += server.take_finished()
        if saved := server.saved_now():
            file.write_bytes(saved.to_bytes())
            assert first_half
            assert saved.num_games > 1
    assert finished_records(finished).digest() == games_of(case).digest()


@pytest.mark.slow
def test_interpreted_games_are_the_compiled_ones() -> None:
    program = (
        "import tests.plain.interpreted\n"
        "from tests.selfplay.test_interpreted import print_digests\n"
        "print_digests()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == [games_of(case).digest() for case in CASES], done.stderr
