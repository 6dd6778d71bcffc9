"""Searches of interleaved games, logged and unpacked, against plain Python lists."""

from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.kernels import exposed
from vecchess.selfplay.games import game_log
from vecchess.selfplay.games.game_log import (
    MOST_PAGES,
    MOST_WORDS,
    NO_PAGE,
    PAGE_WORDS,
    PagedLog,
    unpack_targets,
)
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS

pytestmark = pytest.mark.plain

append_word = exposed(game_log.append_word)
take_items = exposed(game_log.take_items)
free_items = exposed(game_log.free_items)
GAMES = 4


@dataclass
class Logged:
    """A game in the log, and what it should hold."""

    words: list[int] = field(default_factory=list)
    chains: NDArray[np.int32] = field(default_factory=lambda: np.full((1, 2), NO_PAGE, np.int32))

    def append(self, log: PagedLog, words: list[int]) -> None:
        for word in words:
            append_word(log.pages, self.chains, 0, len(self.words), np.uint32(word))
            self.words.append(word)

    def take(self, log: PagedLog) -> list[int]:
        out = np.zeros((len(self.words) + 2, 1), np.uint32)
        take_items(log.pages, self.chains, 0, len(self.words), out, 1)
        assert out[0] == out[-1] == 0
        return out[1:-1, 0].tolist()

    @property
    def num_pages(self) -> int:
        return -(-len(self.words) // PAGE_WORDS)


def assert_no_page_is_lost(log: PagedLog, games: list[Logged]) -> None:
    _, following, free = log.pages
    held = sum(game.num_pages for game in games)
    assert free[1] == len(following) - held
    seen, page = set(), int(free[0])
    while page != NO_PAGE:
        assert page not in seen
        seen.add(page)
        page = int(following[page])
    assert len(seen) == free[1]


STEPS = st.tuples(
    st.integers(0, GAMES - 1), st.sampled_from(["log"] * 6 + ["end", "drop"]), st.integers(1, 221)
)


@given(st.lists(STEPS, max_size=30))
def test_interleaved_games_against_lists(steps: list[tuple[int, str, int]]) -> None:
    log = PagedLog(PAGE_WORDS, 1, np.uint32)
    games, counter = [Logged() for _ in range(GAMES)], 2**32 - 99
    for index, action, count in steps:
        game = games[index]
        if action == "log":
            log.reserve(MOST_PAGES)
            free = int(log.pages.free[1])
            game.append(log, [(counter + i) % 2**32 for i in range(count)])
            assert free - log.pages.free[1] <= MOST_PAGES
            counter += count
            continue
        if action == "end":
            assert game.take(log) == game.words
        else:
            free_items(log.pages, game.chains, 0, len(game.words))
        games[index] = Logged()
        assert_no_page_is_lost(log, games)
    for game in games:
        assert game.take(log) == game.words
    assert log.pages.free[1] == len(log.pages.following)
    assert log.nbytes == len(log.pages.following) * (4 * PAGE_WORDS + 4) + 16


MOVES = st.lists(
    st.tuples(st.integers(0, NUM_ACTIONS - 1), st.integers(1, 65535)),
    max_size=12,
    unique_by=lambda move: move[0],
)
SEARCHES = st.tuples(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 2**32 - 1), MOVES)
PLIES = st.lists(st.none() | SEARCHES, max_size=12)


def pack(ply: int, search: tuple) -> list[int]:
    visits, is_full, thought, moves = search
    head = ply | len(moves) << 16 | is_full << 31
    return [head, visits, thought, *(action | prob << 16 for action, prob in moves)]


@given(st.lists(PLIES, max_size=5))
def test_unpacked_columns_against_lists(games: list[list]) -> None:
    words = [
        [word for ply, search in enumerate(game) if search for word in pack(ply, search)]
        for game in games
    ]
    columns = unpack_targets(
        np.array(list(chain(*words)), np.uint32),
        np.cumsum([0, *map(len, words)], dtype=np.int64),
        np.cumsum([0, *map(len, games)], dtype=np.int64),
    )
    nothing = (0, False, 0, [])
    plies = [search or nothing for game in games for search in game]
    for place, name in enumerate(("visits", "full", "thought")):
        assert columns[name].tolist() == [search[place] for search in plies]
    moves = [sorted(search[3]) for search in plies]
    assert np.diff(columns["target_offsets"]).tolist() == [len(target) for target in moves]
    pairs = zip(columns["target_action"].tolist(), columns["target_prob"].tolist(), strict=True)
    assert list(pairs) == list(chain(*moves))
    dtypes = [str(columns[name].dtype) for name in columns]
    assert dtypes == ["uint32", "uint8", "uint32", "int64", "uint16", "uint16"]


def test_the_largest_ply_fits() -> None:
    moves = [(NUM_ACTIONS - 1 - i, 65535) for i in range(MAX_MOVES)]
    words = pack(8191, (7, True, 9, moves))
    assert len(words) == MOST_WORDS
    log, game = PagedLog(PAGE_WORDS, 1, np.uint32), Logged()
    log.reserve(1 + MOST_PAGES)
    game.append(log, [1] * (PAGE_WORDS - 1))
    game.append(log, words)
    logged = np.array(game.take(log)[PAGE_WORDS - 1 :], np.uint32)
    ends = np.array([0, MOST_WORDS], np.int64)
    columns = unpack_targets(logged, ends, np.array([0, 8192], np.int64))
    assert columns["full"].sum() == columns["full"][8191] == 1
    assert columns["target_action"].tolist() == [action for action, _ in reversed(moves)]


def test_a_search_of_a_ply_that_was_not_played_is_a_fault() -> None:
    words = np.array(pack(3, (7, True, 9, [])), np.uint32)
    ends = np.array([0, 3], np.int64)
    with pytest.raises(AssertionError, match="does not have"):
        unpack_targets(words, ends, ends)
