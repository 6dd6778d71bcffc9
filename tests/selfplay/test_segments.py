"""Generations of positions: every seat takes its turns, and the games go on in the next one."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.selfplay.playing import LoudBackend, play, server_of
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig, TreeConfig
from vecchess.errors import FileMissing
from vecchess.runtime import retried_read
from vecchess.selfplay.games.finished_games import FinishedGames, ended_and_waiting, joined_games
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames, join_saved, read_cuts
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.seating import Seating

GAME = GameConfig(
    max_plies=40, random_plies=3, resign_below=0.4, resign_turns=2, resign_playthrough=0.5,
    adjudicate_draw_within=0.06, adjudicate_draw_plies=3,
)  # fmt: skip
TREES = {
    "none": TreeConfig(),
    "gumbel": TreeConfig(search="gumbel", sims=4, cache_mb=1),
    "puct": TreeConfig(search="puct", sims=6, fast_sims=2, full_share=0.5, cache_mb=1),
}
JUDGED = (Termination.RESIGNATION, Termination.ADJUDICATION)
"""Ends that are a turn without a move."""
SEATING = Seating(seats=12, turns=17)
GENERATIONS = 4


def generation(
    number: int, segments: IdSet, cuts: Sequence[Path], tree: TreeConfig, rows: int, movers: int
) -> tuple[GameRecords, SavedGames]:
    """Play ``segments`` in one server: the games that ended, and those that wait."""
    server = server_of(GAME, tree, LoudBackend(5), rows, movers, seating=SEATING)
    files = [(path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in cuts]
    lines: list[str] = []
    if saved := read_cuts(files, SEATING, segments, f"net {number}", lines.append):
        server.pool.add_saved(saved)
        begun = IdSet.of(SEATING.of_games(segments, saved.records.numbers))
        assert begun == segments
    else:
        server.pool.add(IdSet.of(SEATING.new_games(segments)))
    server.start()
    finished: list[FinishedGames] = []
    while not server.is_idle:
        server.step()
        finished += server.take_finished()
    plies = server.to_message()["plies"]
    server.close()
    assert not server.saved_now(), "no game is left in a row"
    assert lines == []
    ended, waiting = ended_and_waiting(
        joined_games([part._replace(net_sha=f"net {number}") for part in finished])
    )
    moves = len(segments) * SEATING.turns - int(np.isin(ended.termination, JUDGED).sum())
    assert plies == moves, "moves of random openings are no turns"
    return ended, waiting


def training(
    folder: Path, tree: TreeConfig, rows: int, movers: int, parts: int
) -> list[tuple[GameRecords, SavedGames]]:
    """All generations, the segments of each shared by so many servers, one after the other."""
    found, cuts = [], list[Path]()
    for number in range(GENERATIONS):
        ends = number * SEATING.seats + SEATING.seats * np.arange(parts + 1) // parts
        shares = [IdSet([each]) for each in pairwise(ends.tolist())]
        played = [generation(number, share, cuts, tree, rows, movers) for share in shares]
        ended, waiting = zip(*played, strict=True)
        found.append((concatenate(list(ended)).by_number(), join_saved(list(waiting)).longest()))
        cuts = []
        for part, saved in enumerate(waiting):
            cuts.append(folder / f"{number}-{part}-{rows}.npz")
            cuts[-1].write_bytes(saved.to_bytes())
    return found


def num_turns(records: GameRecords) -> np.ndarray:
    """int64[seats]: turns taken in the last span of each game, by its seat."""
    turns = np.zeros(SEATING.seats, np.int64)
    asked = (records.steps > 0) | (records.visits > 0)
    for game, number in enumerate(records.numbers.tolist()):
        last = int(records.offsets[game]) + records.spans(game)[-1][0]
        turns[number % SEATING.seats] += asked[last : records.offsets[game + 1]].sum()
        turns[number % SEATING.seats] += records.termination[game] in JUDGED
    return turns


@pytest.mark.parametrize("kind", TREES)
def test_every_seat_takes_its_turns_and_its_games_go_on(kind: str, tmp_path: Path) -> None:
    found = training(tmp_path, TREES[kind], rows=12, movers=1, parts=1)
    numbers: list[int] = []
    for ended, waiting in found:
        everything = concatenate([ended, waiting.records])
        assert num_turns(everything).tolist() == [SEATING.turns] * SEATING.seats
        assert sorted(waiting.records.numbers % SEATING.seats) == list(range(SEATING.seats))
        numbers += ended.numbers.tolist()
    assert len(set(numbers)) == len(numbers) >= SEATING.seats
    last = found[-1][1].records.numbers
    for seat in range(SEATING.seats):
        own = sorted(n for n in numbers if n % SEATING.seats == seat)
        assert own == [seat + SEATING.seats * i for i in range(len(own))]
        assert seat + SEATING.seats * len(own) in last
    assert max(np.diff(records.span_offsets).max(initial=0) for records, _ in found) > 2


@pytest.mark.thorough
@pytest.mark.parametrize("kind", TREES)
def test_rows_movers_and_workers_do_not_matter(kind: str, tmp_path: Path) -> None:
    one = training(tmp_path, TREES[kind], rows=12, movers=1, parts=1)
    other = training(tmp_path, TREES[kind], rows=5, movers=2, parts=3)
    for (ended, waiting), (ended_too, waiting_too) in zip(one, other, strict=True):
        assert ended.digest() == ended_too.digest()
        assert np.array_equal(ended.fingerprint, ended_too.fingerprint)
        assert waiting.records.digest() == waiting_too.records.digest()
        assert np.array_equal(waiting.records.fingerprint, waiting_too.records.fingerprint)
        assert np.array_equal(waiting.low_turns, waiting_too.low_turns)
        assert np.array_equal(waiting.level_plies, waiting_too.level_plies)


def test_without_search_a_game_that_went_on_is_the_game_played_at_once(tmp_path: Path) -> None:
    ended = concatenate([records for records, _ in training(tmp_path, TREES["none"], 12, 1, 1)])
    ended = ended.by_number()
    whole = play(GAME, int(ended.numbers[-1]) + 1, LoudBackend(5)).take(ended.numbers)
    assert np.diff(ended.span_offsets).max() > 2
    names = ("span_offsets", "span_ply", "span_net", "nets")
    spans = {name: getattr(whole, name) for name in names}
    assert replace(ended, **spans).digest() == whole.digest()
    assert np.array_equal(ended.fingerprint, whole.fingerprint)


def test_seats_that_begin_anew_play_games_that_are_new(tmp_path: Path) -> None:
    played = {n for records, saved in training(tmp_path, TREES["none"], 12, 1, 1)
              for n in [*records.numbers.tolist(), *saved.records.numbers.tolist()]}  # fmt: skip
    anew = SEATING.new_games(SEATING.segments(GENERATIONS, GENERATIONS + 1))
    assert not played & set(anew.tolist())
    assert (anew % SEATING.seats).tolist() == list(range(SEATING.seats))


def test_a_cut_that_cannot_be_read_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Games that are lost would change the training; games that are out of reach must not."""
    monkeypatch.setattr(retried_read, "PAUSES_S", ())
    _, waiting = training(tmp_path, TREES["none"], rows=12, movers=1, parts=1)[0]
    path, lines = tmp_path / "cut.npz", list[str]()
    data = waiting.to_bytes()
    files, segments = [(path, hashlib.sha256(data).hexdigest())], SEATING.segments(1, 2)
    with pytest.raises(FileMissing, match="an empty file in its place would begin new games"):
        read_cuts(files, SEATING, segments, "net 1", lines.append)
    for damaged in (b"", data[:-1]):
        path.write_bytes(damaged)
        assert read_cuts(files, SEATING, segments, "net 1", lines.append) is None
    assert len(lines) == 2
    path.write_bytes(data)
    saved = read_cuts(files, SEATING, segments, "net 1", lines.append)
    assert saved is not None
    assert saved.num_games == SEATING.seats
    assert len(lines) == 2
