"""Games that go on from where they were saved: the same games, to the bit."""

from pathlib import Path

import numpy as np
import pytest

from tests.selfplay.playing import LoudBackend, play, server_of
from vecchess.chess.planes import num_planes
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig, TreeConfig
from vecchess.selfplay.games.finished_games import FinishedGames, finished_records
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames, join_saved, read_saved
from vecchess.store.records import GameRecords

GAME = GameConfig(
    max_plies=70, random_plies=3, resign_below=0.4, resign_turns=3, adjudicate_draw_within=0.06,
    adjudicate_draw_plies=3,
)  # fmt: skip
NO_SEARCH = TreeConfig()
GUMBEL = TreeConfig(search="gumbel", sims=4, cache_mb=1)
PUCT = TreeConfig(search="puct", sims=6, fast_sims=2, full_share=0.5, cache_mb=1)
GAMES = 24


def moved(server: SelfplayServer, plies: int) -> list[FinishedGames]:
    """Play about so many plies; returns the games that ended."""
    finished = list[FinishedGames]()
    while sum(mover.plies for mover in server.movers) < plies and not server.is_idle:
        server.step()
        finished += server.take_finished()
    return finished


def in_pieces(
    tree: TreeConfig, folder: Path, plies: int, movers: int, history: int = 1
) -> tuple[GameRecords, int]:
    """All games, by servers that are closed after so many plies and save what goes on.

    Returns the games, and how many times one went on.
    """
    finished, waiting = list[FinishedGames](), list[SavedGames]()
    left, gone_on, seats = set(range(GAMES)), 0, 10
    while left:
        server = server_of(GAME, tree, LoudBackend(5), seats, movers, 1, num_planes(history))
        saved = join_saved(waiting).longest() if waiting else None
        numbers = set(saved.records.numbers.tolist()) if saved else set()
        if saved:
            server.pool.add_saved(saved)
        server.pool.add(IdSet([(n, n + 1) for n in sorted(left - numbers)]))
        gone_on += len(numbers)
        server.start()
        finished += moved(server, plies)
        server.pool.clear()
        server.close()
        finished += server.take_finished()
        left -= {n for part in finished for n in part.numbers.tolist()}
        if now := server.saved_now():
            (folder / "saved.npz").write_bytes(now.to_bytes())
            waiting.append(read_saved(folder / "saved.npz"))
            assert (waiting[-1].records.termination == Termination.ONGOING).all()
        if waiting:
            joined = join_saved(waiting)
            waiting = [joined.take(np.flatnonzero(np.isin(joined.records.numbers, list(left))))]
        waiting = [part for part in waiting if part.num_games]
        seats = 7 if seats == 10 else 10
    return finished_records(finished), gone_on


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tree", "plies", "movers", "history"),
    [
        (NO_SEARCH, 50, 1, 1),
        (NO_SEARCH, 80, 3, 8),
        (GUMBEL, 100, 2, 1),
        (PUCT, 300, 2, 1),
        (PUCT, 250, 1, 8),
    ],
)
def test_the_same_games_in_pieces(
    tree: TreeConfig, plies: int, movers: int, history: int, tmp_path: Path
) -> None:
    whole = play(GAME, GAMES, LoudBackend(5), tree=tree, planes=num_planes(history))
    pieces, gone_on = in_pieces(tree, tmp_path, plies, movers, history)
    assert gone_on > GAMES // 2
    assert pieces.numbers.tolist() == list(range(GAMES))
    assert pieces.digest() == whole.digest()
    assert (pieces.fingerprint == whole.fingerprint).all()
    assert (pieces.tag == whole.tag).all()
    assert (pieces.resign == whole.resign).all()
    assert len(set(whole.termination.tolist())) > 1, "games end in several ways"
