import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from mmap import PAGESIZE
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import load_u16
from vecchess.errors import ConfigError
from vecchess.jit import inline, kernel
from vecchess.rng import random_u64, random_word
from vecchess.search.kernels.evaluation_cache import (
    MOST_MOVES,
    CacheEntryRecord,
    EvaluationCache,
    find_bucket,
    insert_evaluation,
    probe_evaluation,
)
from vecchess.search.tree.layout import EvaluationRecord

RNG = np.random.default_rng(11)
STATM = Path("/proc/self/statm")
HEAD_WORDS = EvaluationRecord.fields["moves"].offset // 4
ACTIONS = RNG.permutation(4672)[:218].astype(np.uint16)
"""Of every position here that has so many moves."""
CHECK = 0xFEDCBA9876543210


def made_up(count: int) -> NDArray[np.int32]:
    """An evaluation with ``count`` moves, int32[4 + count]."""
    evaluation = np.zeros((), EvaluationRecord.dtype)
    evaluation["value"] = RNG.integers(-(2**24), 2**24 + 1)
    evaluation["draw"] = RNG.integers(0, 2**24 + 1)
    evaluation["num_steps"] = RNG.integers(0, 256)
    evaluation["num_moves"] = count
    evaluation["moves"][:count] = RNG.integers(0, 2**16, count) << 16 | ACTIONS[:count]
    return evaluation.reshape(1).view(np.int32)[: HEAD_WORDS + count]


@kernel
def _probe(cache, key, check, actions, count, evaluation):  # type: ignore[no-untyped-def]
    return probe_evaluation(cache, key, check, actions, count, EvaluationRecord(evaluation))


@kernel
def _insert(cache, key, check, evaluation):  # type: ignore[no-untyped-def]
    insert_evaluation(cache, key, check, EvaluationRecord(evaluation))


def probe(
    cache: EvaluationCache,
    key: int,
    count: int,
    check: int = CHECK,
    actions: NDArray[np.uint16] = ACTIONS,
) -> NDArray[np.int32] | None:
    """The evaluation of a position with ``count`` moves, int32[4 + count], or None."""
    room = np.zeros(EvaluationRecord.dtype.itemsize // 4, np.int32)
    words, places = (np.uint64(key), np.uint64(check)), (actions.ctypes.data, room.ctypes.data)
    is_known = _probe(cache.address, *words, places[0], count, places[1])
    return room[: HEAD_WORDS + count] if is_known else None


def insert(cache: EvaluationCache, key: int, evaluation: NDArray[np.int32]) -> None:
    room = np.zeros(EvaluationRecord.dtype.itemsize // 4, np.int32)
    room[: len(evaluation)] = evaluation
    _insert(cache.address, np.uint64(key), np.uint64(CHECK), room.ctypes.data)


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * PAGESIZE


@kernel
def _buckets(cache, keys, out):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        out[i] = find_bucket(cache, keys[i])[1].address


def colliding(cache: EvaluationCache, count: int) -> NDArray[np.uint64]:
    """Keys that go to the same bucket."""
    keys = RNG.integers(0, 2**64, 40_000, dtype=np.uint64)
    buckets = np.zeros(len(keys), np.int64)
    _buckets(cache.address, keys, buckets)
    values, sizes = np.unique(buckets, return_counts=True)
    found = keys[buckets == values[sizes >= count][0]]
    return found[:count]


def test_a_hit_is_what_was_inserted() -> None:
    cache = EvaluationCache(1)
    for count in [*range(1, MOST_MOVES + 1)] * 3:
        key, entry = int(RNG.integers(0, 2**64, dtype=np.uint64)), made_up(count)
        assert probe(cache, key, count) is None
        insert(cache, key, entry)
        assert np.array_equal(probe(cache, key, count), entry)


def test_another_position_with_the_same_key_is_a_miss() -> None:
    cache = EvaluationCache(1)
    insert(cache, 7, made_up(20))
    assert probe(cache, 7, 19) is None
    assert probe(cache, 7, 21) is None
    assert probe(cache, 7, 20, CHECK ^ 1 << 32) is None
    assert probe(cache, 7, 20) is not None


def test_whatever_an_entry_says_its_moves_are_the_positions() -> None:
    cache, entry, actions = EvaluationCache(1), made_up(20), ACTIONS[::-1].copy()
    insert(cache, 7, entry)
    found = probe(cache, 7, 20, actions=actions)
    assert found is not None
    assert np.array_equal(found[HEAD_WORDS:] & 0xFFFF, actions[:20])
    assert np.array_equal(found[HEAD_WORDS:] >> 16, entry[HEAD_WORDS:] >> 16)


@pytest.mark.parametrize("key", [0, 1, 2**63, 2**64 - 1])
def test_any_number_is_a_key(key: int) -> None:
    cache, entry = EvaluationCache(1), made_up(20)
    assert probe(cache, key, 20) is None
    insert(cache, key, entry)
    assert np.array_equal(probe(cache, key, 20), entry)


def test_positions_with_too_many_moves_are_left_out() -> None:
    cache = EvaluationCache(1)
    for count in (MOST_MOVES + 1, 218):
        insert(cache, 7, made_up(count))
        assert probe(cache, 7, count) is None


def test_inserting_again_replaces() -> None:
    cache, later = EvaluationCache(1), made_up(3)
    other, key, third = colliding(cache, 3).tolist()
    insert(cache, other, made_up(9))
    insert(cache, key, made_up(50))
    insert(cache, key, later)
    assert np.array_equal(probe(cache, key, 3), later)
    assert probe(cache, other, 9) is not None
    assert probe(cache, third, 50) is None


def test_of_a_bucket_the_entry_used_longer_ago_gives_way() -> None:
    cache = EvaluationCache(1)
    first, second, third, fourth = colliding(cache, 4).tolist()
    for key in (first, second):
        insert(cache, key, made_up(10))
    assert probe(cache, first, 10) is not None
    insert(cache, third, made_up(10))
    assert probe(cache, second, 10) is None
    insert(cache, fourth, made_up(10))
    assert [probe(cache, key, 10) is not None for key in (first, third, fourth)] == [
        False,
        True,
        True,
    ]


def test_size_is_bounded_and_mostly_used() -> None:
    cache = EvaluationCache(1)
    assert cache.nbytes == 2**20
    assert cache._storage.ctypes.data % 64 == 0
    entry, keys = made_up(1), [random_word(1, 2, i) for i in range(24_000)]
    for key in keys:
        insert(cache, key, entry)
    kept = sum(probe(cache, key, 1) is not None for key in keys)
    assert 0.9 * 2 * PAGESIZE < kept <= 8192


def test_clear_forgets_everything() -> None:
    cache, keys = EvaluationCache(1), [0, *range(1000, 1100)]
    for _ in range(3):
        for key in keys:
            insert(cache, key, made_up(5))
        assert any(probe(cache, key, 5) is not None for key in keys)
        cache.clear()
        assert all(probe(cache, key, 5) is None for key in keys)


@pytest.mark.skipif(not STATM.exists(), reason="needs Linux's /proc")
def test_memory_is_taken_as_it_fills() -> None:
    before = resident_bytes()
    cache = EvaluationCache(1024)
    insert(cache, 7, made_up(20))
    assert probe(cache, 7, 20) is not None
    assert resident_bytes() - before < cache.nbytes * 3 / 4


@pytest.mark.parametrize("megabytes", [0, -1, 1 << 40])
def test_sizes_that_cannot_be_are_refused(megabytes: int) -> None:
    with pytest.raises(ConfigError) as refused:
        EvaluationCache(megabytes)
    assert "\n" not in str(refused.value)


def test_a_bucket_in_use_is_a_miss_and_keeps_what_it_has() -> None:
    cache, entry = EvaluationCache(1), made_up(8)
    key, other = colliding(cache, 2).tolist()
    insert(cache, key, entry)
    bucket = np.zeros(1, np.int64)
    _buckets(cache.address, np.array([key], np.uint64), bucket)
    place = int(bucket[0]) - cache._storage.ctypes.data + CacheEntryRecord.fields["lock"].offset
    lock = cache._storage.view(np.int32)[place // 4 : place // 4 + 1]
    lock[0] = 1
    assert probe(cache, key, 8) is None
    insert(cache, key, made_up(9))
    insert(cache, other, made_up(9))
    lock[0] = 0
    assert np.array_equal(probe(cache, key, 8), entry)
    assert probe(cache, other, 9) is None


@inline
def _write(key, token, actions, evaluation):  # type: ignore[no-untyped-def]
    """An evaluation all of whose words follow from ``token`` and ``key``."""
    evaluation.value = token
    evaluation.draw = token ^ np.int64(key & np.uint64(0xFFFFFF))
    evaluation.num_steps = token & np.int64(0xFF)
    evaluation.num_moves = np.int64(1) + np.int64(key % np.uint64(MOST_MOVES))
    for i in range(evaluation.num_moves):
        prior = (token * np.int64(i + 3)) & np.int64(0xFFFF)
        evaluation.moves[i] = prior << 16 | load_u16(actions, i)


@kernel
def _hammer(cache, keys, thread, rounds, actions, evaluations):  # type: ignore[no-untyped-def]
    """Probe and insert ``keys``; returns hits and how many of those had a word out of place."""
    got, expected = EvaluationRecord(evaluations), EvaluationRecord(evaluations)[1]
    hits, broken = 0, 0
    for i in range(rounds):
        random = random_u64(3, thread, i)
        key = keys[np.int64(random % np.uint64(len(keys)))]
        count = np.int64(1) + np.int64(key % np.uint64(MOST_MOVES))
        is_known = probe_evaluation(cache, key, ~key, actions, count, got)
        if is_known:
            hits += 1
            _write(key, got.value, actions, expected)
            wrong = got.num_moves != expected.num_moves
            wrong = wrong or got.draw != expected.draw or got.num_steps != expected.num_steps
            for move in range(expected.num_moves):
                wrong = wrong or got.moves[move] != expected.moves[move]
            broken += np.int64(wrong)
        if not is_known or random >> np.uint64(62) == np.uint64(0):
            _write(key, np.int64((random >> np.uint64(20)) & np.uint64(0xFFFFFF)), actions, got)
            insert_evaluation(cache, key, ~key, got)
    return hits, broken


def test_threads_see_whole_entries_only() -> None:
    """Every word follows from the key and one number that each insertion draws anew."""
    cache = EvaluationCache(1)
    keys = np.concatenate([colliding(cache, 3), colliding(cache, 2)])

    def hammer(thread: int) -> tuple[int, int]:
        room = np.zeros(2, EvaluationRecord.dtype)
        places = (ACTIONS.ctypes.data, room.ctypes.data)
        return _hammer(cache.address, keys, thread, 1_000_000, *places)

    _hammer(cache.address, keys, 0, 0, 0, 0)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(hammer, range(4)))
    assert sum(broken for _, broken in results) == 0
    assert min(hits for hits, _ in results) > 1000


@pytest.mark.slow
def test_positions_that_share_keys_do_no_harm(tmp_path: Path) -> None:
    """All moves are legal, however wrong their evaluations; compiles kernels of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.search.shared_keys"],
        capture_output=True, text=True, check=False, timeout=280,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["searches"]["cache_hits"] > 10_000
    assert found["searches"]["illegal"] == 0
    assert found["selfplay"]["cache_hits"] > 10_000
