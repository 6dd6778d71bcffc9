import hashlib
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.games import made_up, same
from vecchess.chess.rules import Termination
from vecchess.errors import DataError
from vecchess.shapes import MAX_MOVES, TARGET_UNIT
from vecchess.store.records import (
    FINGERPRINT_COLUMNS,
    PLY_COLUMNS,
    SEARCH_COLUMNS,
    GameRecords,
    concatenate,
    empty_search_columns,
)
from vecchess.store.shard import read_outcomes, write_shard
from vecchess.store.stats import GameStats

pytestmark = pytest.mark.plain


@given(st.permutations(range(12)), st.integers(1, 11))
def test_the_digest_does_not_depend_on_order_or_split(order: list[int], cut: int) -> None:
    games = made_up(list(range(12)), nets=("a" * 64, "b" * 64))
    mixed = games.take(np.array(order))
    parts = [mixed.take(np.arange(cut)), mixed.take(np.arange(cut, 12))]
    assert concatenate(parts).digest() == games.digest()
    assert same(concatenate(parts).by_number(), games)


@pytest.mark.parametrize(
    "column",
    ["action", "steps", "win", "draw", "prob", "result", "numbers", *SEARCH_COLUMNS],
)
def test_the_digest_sees_every_column(column: str) -> None:
    games = made_up(list(range(5)))
    digest = games.digest()
    getattr(games, column)[3] += 1
    assert games.digest() != digest


@pytest.mark.parametrize("column", ["visits", "full", "thought"])
def test_the_digest_sees_a_single_search(column: str) -> None:
    games = made_up(list(range(5)), searched=False)
    digest = games.digest()
    getattr(games, column)[3] = 1
    assert games.digest() != digest


@pytest.mark.parametrize("column", FINGERPRINT_COLUMNS)
def test_the_digest_is_that_of_the_games_whoever_bears_witness(column: str) -> None:
    games = made_up(list(range(5)))
    digest = games.digest()
    getattr(games, column)[3] += 1
    assert games.digest() == digest


def test_games_without_search_keep_their_digest() -> None:
    """The one they had before records knew of searches: of these columns in this order."""
    games = made_up(list(range(5)), nets=("a" * 64, "b" * 64), searched=False)
    names = "numbers start result termination resign offsets action steps win draw prob"
    digest = hashlib.sha256()
    for name in (*names.split(), "span_offsets", "span_ply"):
        digest.update(getattr(games, name).tobytes())
    digest.update("".join(games.nets[net] for net in games.span_net).encode())
    assert games.digest() == digest.hexdigest()


def test_targets_follow_their_games() -> None:
    games = made_up(list(range(6)))
    order = [4, 0, 5]
    taken = games.take(np.array(order))
    taken.validate()
    assert targets_of(taken) == [target for game in order for target in targets_of(games, game)]
    assert targets_of(concatenate([taken, games])) == targets_of(taken) + targets_of(games)


def targets_of(games: GameRecords, game: int | None = None) -> list[list[tuple[int, int]]]:
    """The targets of all plies, or of one game's."""
    plies = range(len(games.action)) if game is None else range(*games.offsets[game : game + 2])
    moves = list(zip(games.target_action.tolist(), games.target_prob.tolist(), strict=True))
    return [moves[slice(*games.target_offsets[ply : ply + 2])] for ply in plies]


def test_the_digest_sees_the_network() -> None:
    assert made_up([1], nets=("a" * 64,)).digest() != made_up([1], nets=("b" * 64,)).digest()


@pytest.mark.parametrize(
    "column",
    [
        *("action", "start", "offsets", "span_net", "span_offsets", "termination"),
        *(*SEARCH_COLUMNS, *FINGERPRINT_COLUMNS),
    ],
)
def test_columns_that_do_not_fit_are_refused(column: str) -> None:
    games = made_up(list(range(5)))
    object.__setattr__(games, column, getattr(games, column)[:-1])
    with pytest.raises(DataError):
        games.validate()


@pytest.mark.parametrize("column", ["offsets", "span_offsets", "target_offsets"])
def test_offsets_that_do_not_ascend_are_refused(column: str) -> None:
    games = made_up(list(range(5)))
    getattr(games, column)[2] = getattr(games, column)[-1] + 1
    with pytest.raises(DataError, match=f'"{column}" does not ascend'):
        games.validate()


def test_statistics_add_up() -> None:
    games = made_up(list(range(50)))
    total = GameStats()
    for part in (games.take(np.arange(20)), games.take(np.arange(20, 50))):
        total.add(GameStats.of(part))
    assert total == GameStats.of(games)
    assert total.white_wins + total.draws + total.black_wins == total.games == 50
    assert sum(total.terminations.values()) == sum(total.lengths.values()) == 50
    assert total.plies == games.lengths.sum()
    assert sum(total.time_steps.values()) == (games.steps > 0).sum()
    assert total.searched_plies == (games.visits > 0).sum()
    assert total.mean_visits == games.visits[games.visits > 0].mean()
    assert 0 < total.full_searches == games.full.sum() < total.searched_plies
    assert GameStats.of(made_up([1], searched=False)).mean_visits == 0


def test_wrong_resignations_are_counted() -> None:
    games = made_up(list(range(5)))
    games.resign[:] = [1 | 2, 1 | 2, 1 | 4, 2, 1]  # the fourth really resigned, the last never
    games.result[:] = [1, -1, 0, -1, 0]
    stats = GameStats.of(games)
    assert (stats.resign_checks, stats.resign_false_positives) == (3, 2)


def test_counts_are_read_as_they_were_said() -> None:
    stats = GameStats.of(made_up(list(range(30))))
    assert GameStats.from_dict(stats.to_dict()) == stats
    assert GameStats.from_dict({}) == GameStats()
    tables = [value for value in stats.to_dict().values() if isinstance(value, dict)]
    assert [list(table) for table in tables] == [sorted(table) for table in tables]
    assert GameStats.from_dict({"games": 2**62}).games == 2**62
    assert GameStats.from_dict({"games": 0, "plies": 1000, "lengths": {"32": 0}}).plies == 1000
    for wrong in (
        [], {"game": 1}, {"games": {}}, {"lengths": 1}, {"games": True}, {"games": -1},
        {"games": 2**62 + 1}, {"lengths": {"x": 1}}, {"lengths": {"32": -1}},
        {"time_steps": {"1": 1.5}}, {"terminations": {"checkmate": {}}},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="count"):
            GameStats.from_dict(wrong)


def test_means_are_of_what_was_counted() -> None:
    assert (GameStats().mean_length, GameStats().mean_time_steps, GameStats().mean_visits) == (
        0,
        0,
        0,
    )
    stats = GameStats(games=4, plies=10, time_steps={"1": 3, "4": 1}, searched_plies=2, visits=9)
    assert (stats.mean_length, stats.mean_time_steps, stats.mean_visits) == (2.5, 1.75, 4.5)


def test_every_game_is_counted_by_its_end_length_and_answers() -> None:
    games = made_up(list(range(60)), seed=8)
    stats = GameStats.of(games)
    named = Counter(Termination(code).name.lower() for code in games.termination.tolist())
    assert stats.terminations == named
    bins = Counter(str(length // 32 * 32) for length in games.lengths.tolist())
    assert stats.lengths == bins
    assert stats.time_steps == Counter(str(n) for n in games.steps.tolist() if n > 0)
    assert stats.white_wins == (games.result == 1).sum()
    assert stats.draws == (games.result == 0).sum()
    assert stats.mean_length == games.lengths.mean()
    assert stats.mean_time_steps == games.steps[games.steps > 0].mean()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"action": 4672}, "an action code is not below 4672"),
        ({"target_action": 4672}, "an action code is not below 4672"),
        ({"result": 2}, "a game's number or result is none"),
        ({"numbers": -1}, "a game's number or result is none"),
        ({"numbers": 1 << 62}, "a game's number or result is none"),
        ({"steps": 65}, '"steps" has 65; 64 is the most'),
        ({"span_net": 2}, "a span refers to a network that is not listed"),
        ({"span_net": -1}, "a span refers to a network that is not listed"),
        ({"numbers": 1}, "two games have the same number"),
        ({"termination": 200}, '"termination" has 200; 9 is the most'),
        ({"resign": 8}, '"resign" has 8; 7 is the most'),
        ({"full": 2}, '"full" has 2; 1 is the most'),
        ({"win": 65_535}, "a win and a draw are more than 511 together"),
        ({"win": 500, "draw": 12}, "a win and a draw are more than 511 together"),
        ({"prob": float("nan")}, "a probability is not from 0 to 1"),
        ({"prob": float("inf")}, "a probability is not from 0 to 1"),
        ({"prob": -1.0}, "a probability is not from 0 to 1"),
        ({"span_ply": -5}, "do not follow each other from its start"),
        ({"span_ply": 9_000}, "do not follow each other from its start"),
    ],
)
def test_values_of_no_game_are_refused(fault: dict[str, float], reason: str) -> None:
    games = made_up(list(range(5)), nets=("a" * 64, "b" * 64))
    games.action[0], games.target_action[0], games.numbers[0] = 4671, 4671, 0
    games.validate()
    for name, value in fault.items():
        getattr(games, name)[-1] = value
    with pytest.raises(DataError, match=reason):
        games.validate()


def test_policy_targets_of_no_position_are_refused() -> None:
    games = made_up(list(range(5)))
    full = np.flatnonzero(np.diff(games.target_offsets) > 1)[-1]
    first = games.target_offsets[full]
    games.target_prob[first : first + 2] = TARGET_UNIT, MAX_MOVES + 1
    with pytest.raises(DataError, match="more than one together"):
        games.validate()
    games = made_up(list(range(5)))
    games.target_prob[:] = 1
    offsets = np.where(games.target_offsets < MAX_MOVES + 1, 0, games.target_offsets)
    with pytest.raises(DataError, match=f"more than {MAX_MOVES} moves"):
        replace(games, target_offsets=offsets).validate()


@pytest.mark.parametrize("column", ["numbers", "result", "termination"])
def test_outcomes_alone_are_checked_as_games_are(tmp_path: Path, column: str) -> None:
    games = made_up([1, 2])
    write_shard(tmp_path / "a.npz", games)
    assert read_outcomes(tmp_path / "a.npz").numbers.tolist() == [1, 2]
    getattr(games, column)[0] = 100 if column != "numbers" else -1
    write_shard(tmp_path / "a.npz", games)
    with pytest.raises(DataError, match=r"a\.npz is not a readable shard: "):
        read_outcomes(tmp_path / "a.npz")


def test_spans_of_no_game_are_refused() -> None:
    games = made_up(list(range(3)), nets=("a" * 64, "b" * 64))
    none = replace(games, span_offsets=np.array([0, 1, 1, 2]), **_spans([0, 0]))
    with pytest.raises(DataError, match="was played by no network"):
        none.validate()
    offsets = np.array([0, 2, 3, 4])
    replace(games, span_offsets=offsets, **_spans([0, 1, 0, 0])).validate()
    for plies in ([0, 0, 0, 0], [1, 2, 0, 0], [0, 1, 1, 0]):
        with pytest.raises(DataError, match="do not follow each other"):
            replace(games, span_offsets=offsets, **_spans(plies)).validate()


def _spans(plies: list[int]) -> dict[str, np.ndarray]:
    return {"span_ply": np.array(plies, np.int32), "span_net": np.zeros(len(plies), np.int32)}


def test_names_that_cannot_be_printed_are_refused() -> None:
    games = replace(made_up([1]), nets=("\x1b]0;title\x07",))
    with pytest.raises(DataError, match="cannot be printed"):
        games.validate()


def test_games_are_counted_and_measured() -> None:
    games = made_up([5, 3, 4])
    assert games.num_games == 3
    assert games.lengths.tolist() == [b - a for a, b in pairwise(games.offsets.tolist())]
    assert games.by_number().numbers.tolist() == [3, 4, 5]
    none = games.take(np.array([], np.int64))
    none.validate()
    assert (none.num_games, len(none.action)) == (0, 0)
    joined = concatenate([none, games])
    assert same(joined, games)


def test_resignations_are_checked_by_side_and_result() -> None:
    """Every bit of ``resign`` with every result, a game each."""
    for resign in range(8):
        for result in (1, 0, -1):
            games = made_up([1])
            games.resign[:], games.result[:] = resign, result
            loses = {2: result < 0, 4: result > 0}
            sides = [bit for bit in (2, 4) if resign & bit and resign & 1]
            stats = GameStats.of(games)
            assert stats.resign_checks == bool(sides)
            assert stats.resign_false_positives == any(not loses[bit] for bit in sides)


def test_tables_of_counts_have_an_end() -> None:
    """Or a line of a few bytes would make whoever draws them draw for ever."""
    longest = {
        "lengths": {str(ply): 1 for ply in range(0, 2**15 + 1, 32)},
        "time_steps": {str(steps): 1 for steps in range(1, 256)},
        "terminations": {reason.name.lower(): 1 for reason in Termination},
    }
    for name, table in longest.items():
        assert GameStats.from_dict({name: table}).to_dict()[name] == table
        for key in ("-1", "0x1", "5.0", "257", "999999999", "32800", "\ud800", "", "Ongoing"):
            with pytest.raises(ValueError, match=f'"{name}" is no count'):
                GameStats.from_dict({name: table | {key: 1}})


@pytest.mark.parametrize("plies", [2**15, 2**15 + 1])
def test_the_longest_games_fit(plies: int) -> None:
    games = made_up([1], searched=False)
    longest = replace(
        games,
        offsets=np.array([0, plies]),
        **{name: np.zeros(plies, kind) for name, kind in PLY_COLUMNS.items()}
        | empty_search_columns(plies),
    )
    if plies == 2**15:
        longest.validate()
    else:
        with pytest.raises(DataError, match="more than 32768 plies"):
            longest.validate()
