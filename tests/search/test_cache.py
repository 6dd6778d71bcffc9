from concurrent.futures import ThreadPoolExecutor
from mmap import PAGESIZE
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import load_i32, store_i32
from vecchess.errors import ConfigError
from vecchess.jit import inline, kernel
from vecchess.rng import random_u64, random_word
from vecchess.search.kernels.evaluation_cache import (
    ENTRY_DRAW,
    ENTRY_MOVES,
    ENTRY_STEPS,
    ENTRY_VALUE,
    ENTRY_WORDS,
    EXCHANGE_WORDS,
    MOST_MOVES,
    EvaluationCache,
    _find,
    insert_evaluation,
    probe_evaluation,
)

RNG = np.random.default_rng(11)
STATM = Path("/proc/self/statm")


def made_up(count: int) -> NDArray[np.int32]:
    """An entry of ``count`` moves."""
    entry = RNG.integers(-(2**31), 2**31, ENTRY_WORDS + count).astype(np.int32)
    entry[ENTRY_VALUE] = RNG.integers(-(2**24), 2**24 + 1)
    entry[ENTRY_DRAW] = RNG.integers(0, 2**24 + 1)
    entry[ENTRY_STEPS] = RNG.integers(0, 256)
    entry[ENTRY_MOVES] = count
    return entry


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * PAGESIZE


@kernel
def _buckets(cache, keys, out):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        out[i] = _find(cache, keys[i])[1]


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
        assert cache.probe(key) is None
        cache.insert(key, entry)
        found = cache.probe(key)
        assert found is not None
        assert np.array_equal(found, entry)


@pytest.mark.parametrize("key", [0, 1, 2**63, 2**64 - 1])
def test_any_number_is_a_key(key: int) -> None:
    cache, entry = EvaluationCache(1), made_up(20)
    assert cache.probe(key) is None
    cache.insert(key, entry)
    assert np.array_equal(cache.probe(key), entry)


def test_positions_with_too_many_moves_are_left_out() -> None:
    cache = EvaluationCache(1)
    cache.insert(7, made_up(MOST_MOVES + 1))
    assert cache.probe(7) is None
    cache.insert(7, made_up(218))
    assert cache.probe(7) is None


def test_inserting_again_replaces() -> None:
    cache, later = EvaluationCache(1), made_up(3)
    other, key, third = colliding(cache, 3).tolist()
    cache.insert(other, made_up(9))
    cache.insert(key, made_up(50))
    cache.insert(key, later)
    assert np.array_equal(cache.probe(key), later)
    assert cache.probe(other) is not None
    assert cache.probe(third) is None


def test_of_a_bucket_the_entry_used_longer_ago_gives_way() -> None:
    cache = EvaluationCache(1)
    first, second, third, fourth = colliding(cache, 4).tolist()
    for key in (first, second):
        cache.insert(key, made_up(10))
    assert cache.probe(first) is not None
    cache.insert(third, made_up(10))
    assert cache.probe(second) is None
    cache.insert(fourth, made_up(10))
    assert [cache.probe(key) is not None for key in (first, third, fourth)] == [False, True, True]


def test_size_is_bounded_and_mostly_used() -> None:
    cache = EvaluationCache(1)
    assert cache.nbytes == 2**20
    assert cache._storage.ctypes.data % 64 == 0
    entry, keys = made_up(1), [random_word(1, 2, i) for i in range(12_000)]
    for key in keys:
        cache.insert(key, entry)
    kept = sum(cache.probe(key) is not None for key in keys)
    assert 0.9 * PAGESIZE < kept <= 4096


def test_clear_forgets_everything() -> None:
    cache, keys = EvaluationCache(1), [0, *range(1000, 1100)]
    for _ in range(3):
        for key in keys:
            cache.insert(key, made_up(5))
        assert any(cache.probe(key) is not None for key in keys)
        cache.clear()
        assert all(cache.probe(key) is None for key in keys)


@pytest.mark.skipif(not STATM.exists(), reason="needs Linux's /proc")
def test_memory_is_taken_as_it_fills() -> None:
    before = resident_bytes()
    cache = EvaluationCache(1024)
    cache.insert(7, made_up(20))
    assert cache.probe(7) is not None
    assert resident_bytes() - before < cache.nbytes * 3 / 4


@pytest.mark.parametrize("megabytes", [0, -1, 1 << 40])
def test_sizes_that_cannot_be_are_refused(megabytes: int) -> None:
    with pytest.raises(ConfigError) as refused:
        EvaluationCache(megabytes)
    assert "\n" not in str(refused.value)


def test_a_bucket_in_use_is_a_miss_and_keeps_what_it_has() -> None:
    cache, entry = EvaluationCache(1), made_up(8)
    key, other = colliding(cache, 2).tolist()
    cache.insert(key, entry)
    bucket = np.zeros(1, np.int64)
    _buckets(cache.address, np.array([key], np.uint64), bucket)
    lock = (int(bucket[0]) - cache._storage.ctypes.data) // 8 + 1
    cache._storage[lock] |= np.uint64(1)
    assert cache.probe(key) is None
    cache.insert(key, made_up(9))
    cache.insert(other, made_up(9))
    cache._storage[lock] ^= np.uint64(1)
    assert np.array_equal(cache.probe(key), entry)
    assert cache.probe(other) is None


@inline
def _write(key, token, entry):  # type: ignore[no-untyped-def]
    """An entry all of whose words follow from ``token`` and ``key``."""
    count = np.int64(1) + token % np.int64(MOST_MOVES)
    store_i32(entry, ENTRY_VALUE, token)
    store_i32(entry, ENTRY_DRAW, token ^ np.int64(key & np.uint64(0xFFFFFF)))
    store_i32(entry, ENTRY_STEPS, token & np.int64(0xFF))
    store_i32(entry, ENTRY_MOVES, count)
    for i in range(count):
        store_i32(entry, ENTRY_WORDS + i, (token * np.int64(i + 3)) & np.int64(0x7FFFFFFF))


@kernel
def _hammer(cache, keys, thread, rounds, expected, entry):  # type: ignore[no-untyped-def]
    """Probe and insert ``keys``; returns hits and how many of those had a word out of place."""
    hits, broken = 0, 0
    for i in range(rounds):
        random = random_u64(3, thread, i)
        key = keys[np.int64(random % np.uint64(len(keys)))]
        count = probe_evaluation(cache, key, entry)
        if count > 0:
            hits += 1
            _write(key, load_i32(entry, ENTRY_VALUE), expected)
            wrong = count != load_i32(expected, ENTRY_MOVES)
            for word in range(ENTRY_WORDS + load_i32(expected, ENTRY_MOVES)):
                wrong = wrong or load_i32(entry, word) != load_i32(expected, word)
            broken += np.int64(wrong)
        if count == 0 or random >> np.uint64(62) == np.uint64(0):
            _write(key, np.int64((random >> np.uint64(20)) & np.uint64(0xFFFFFF)), entry)
            insert_evaluation(cache, key, entry)
    return hits, broken


def test_threads_see_whole_entries_only() -> None:
    """Every word follows from the key and one number that each insertion draws anew."""
    cache = EvaluationCache(1)
    keys = np.concatenate([colliding(cache, 3), colliding(cache, 2)])

    def hammer(thread: int) -> tuple[int, int]:
        room = np.zeros((2, EXCHANGE_WORDS), np.int32)
        at = room.ctypes.data
        return _hammer(cache.address, keys, thread, 1_000_000, at, at + room.strides[0])

    _hammer(cache.address, keys, 0, 0, 0, 0)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(hammer, range(4)))
    assert sum(broken for _, broken in results) == 0
    assert min(hits for hits, _ in results) > 1000
