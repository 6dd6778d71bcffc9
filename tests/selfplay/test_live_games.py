"""What onlookers see of games in progress is what is recorded of them in the end."""

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.selfplay.playing import LoudBackend, server_of
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig, TreeConfig
from vecchess.selfplay.games.finished_games import FinishedGames, finished_records
from vecchess.selfplay.worker import live_games
from vecchess.selfplay.worker.live_games import LiveGames
from vecchess.store.id_set import IdSet
from vecchess.store.records import PLY_COLUMNS, GameRecords
from vecchess.store.shard import read_shard

GAME = GameConfig(max_plies=60, random_plies=3)
TREES = {
    "none": TreeConfig(),
    "gumbel": TreeConfig(search="gumbel", sims=6, cache_mb=0),
}


def play_and_look(tree: TreeConfig, movers: int) -> tuple[list[GameRecords], list[FinishedGames]]:
    """What was seen of the games each turn, and the games."""
    server = server_of(GAME, tree, LoudBackend(9), seats=12, movers=movers)
    server.pool.add(IdSet([(0, 20)]))
    server.start()
    seen, finished = [], list[FinishedGames]()
    while not server.is_idle:
        server.step()
        finished += server.take_finished()
        if (games := server.snapshot(6)) is not None:
            seen.append(games)
    assert server.snapshot(6) is None  # nobody plays any more
    server.close()
    finished += server.take_finished()
    return seen, finished


@pytest.mark.thorough
@pytest.mark.parametrize(("search", "movers"), [("none", 1), ("none", 2), ("gumbel", 1)])
def test_a_glimpse_is_the_beginning_of_a_game(search: str, movers: int) -> None:
    seen, finished = play_and_look(TREES[search], movers)
    games = finished_records(finished)
    assert len(seen) > 100
    assert len({number for glimpse in seen for number in glimpse.numbers}) > 6
    searched = 0
    for glimpse in seen:
        glimpse.validate()
        assert 0 < glimpse.num_games <= 6
        assert (glimpse.termination == Termination.ONGOING).all()
        for place, number in enumerate(glimpse.numbers):
            assert (glimpse.start[place] == games.start[number]).all()
            first, end = glimpse.offsets[place : place + 2]
            there = games.offsets[number]
            assert end - first <= games.lengths[number]
            for name in PLY_COLUMNS:
                begun = getattr(games, name)[there : there + end - first]
                assert (getattr(glimpse, name)[first:end] == begun).all(), name
        searched += int(glimpse.visits.sum())
    assert (searched > 0) == (search != "none")
    assert max(glimpse.lengths.max() for glimpse in seen) > 20


def test_a_game_keeps_its_place_while_it_goes_on() -> None:
    seen, _ = play_and_look(TREES["none"], movers=1)
    first = [glimpse.numbers.tolist() for glimpse in seen if glimpse.num_games == 6]
    for before, after in pairwise(first):
        for place in range(6):
            assert before[place] == after[place] or before[place] not in after


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_file_shows_the_newest_and_goes(tmp_path: Path) -> None:
    seen, _ = play_and_look(TREES["none"], movers=1)
    live, file = LiveGames(tmp_path / "live", 3), tmp_path / "live" / "003.npz"
    live.show(seen[0])
    wait_until(file.exists)
    for glimpse in seen[:200]:
        live.show(glimpse)
    wait_until(lambda: read_shard(file).digest() == seen[:200][-1].digest())
    live.show(None)
    wait_until(lambda: not file.exists())
    live.show(seen[0])
    wait_until(file.exists)
    live.close()
    assert [path.name for path in (tmp_path / "live").iterdir()] == []


def test_games_that_ended_are_shown_so_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, finished = play_and_look(TREES["none"], movers=1)
    games = finished_records(finished)
    now = 100.0
    monkeypatch.setattr(live_games, "monotonic", lambda: now)
    live, file = LiveGames(tmp_path / "live", 0), tmp_path / "live" / "000.npz"
    live.add_ended(finished)  # nobody has seen any of them
    live.show(seen[0])
    shown = seen[0].numbers.tolist()
    wait_until(file.exists)
    live.add_ended(finished)
    live.show(seen[0])  # from before these games ended
    wait_until(lambda: (read_shard(file).termination != Termination.ONGOING).all())
    assert read_shard(file).numbers.tolist() == shown
    later = next(glimpse for glimpse in seen if not set(shown) & set(glimpse.numbers))
    for now, over in ((101.0, shown), (105.0, shown), (105.1, [])):  # noqa: B007
        live.show(later)
        wanted = later.numbers.tolist() + over
        wait_until(lambda wanted=wanted: read_shard(file).numbers.tolist() == wanted)
        ended = read_shard(file).take(np.arange(later.num_games, len(wanted)))
        assert (ended.termination != Termination.ONGOING).all()
        assert ended.digest() == games.take(np.array(over, np.int64)).digest()
    live.close()


def test_the_end_of_a_game_moves_no_other(tmp_path: Path) -> None:
    seen, finished = play_and_look(TREES["none"], movers=1)
    live, file = LiveGames(tmp_path / "live", 0), tmp_path / "live" / "000.npz"
    live.show(seen[0].take(np.array([2])))
    live.add_ended(finished)
    live.show(seen[0])  # its mover reported before the end
    wait_until(lambda: file.exists() and read_shard(file).num_games == 6)
    games = read_shard(file)
    assert games.numbers.tolist() == seen[0].numbers.tolist()
    has_ended = games.termination != Termination.ONGOING
    assert has_ended.tolist() == [False, False, True, False, False, False]
    live.close()


def test_nobody_minds_a_disk_that_refuses(tmp_path: Path) -> None:
    seen, _ = play_and_look(TREES["none"], movers=1)
    (tmp_path / "live").write_text("in the way")
    live, file = LiveGames(tmp_path / "live", 0), tmp_path / "live" / "000.npz"
    live.show(seen[0])
    time.sleep(0.05)
    (tmp_path / "live").unlink()
    live.show(seen[-1])
    wait_until(file.exists)
    assert np.array_equal(read_shard(file).numbers, seen[-1].numbers)
    live.close()
