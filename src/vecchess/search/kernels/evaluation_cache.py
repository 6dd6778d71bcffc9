"""What the network said of positions, kept for when they come up again: one cache a process.

Several threads probe and insert at the same time, from kernels without the GIL. Nobody waits: a
bucket that another thread holds counts as a miss, and an insertion into it is left out. What is
kept is a function of the key alone, so answers do not depend on hits.

A bucket is 512 bytes, two entries; an entry 64 words of 32 bits:

     0 ..  1  key, xor the cache's salt
           2  entry 0: lock of the bucket        entry 1: the entry used last, 0 or 1
           3  legal moves (bit 0 .. 7, 0: an empty entry), time steps (bit 8 .. 15)
           4  value        5  draw
     6 .. 63  prior << 16 | action of up to 58 moves; positions with more are not kept

A position goes to one bucket, whose entry used longer ago gives way. Hits and insertions are uses.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import load, load_i32, store, store_i32
from vecchess.errors import ConfigError
from vecchess.jit import inline, kernel, part, paste
from vecchess.search.kernels.atomic import load_shared, store_shared, try_lock, unlock
from vecchess.search.tree_memory import MEGABYTE, aligned_zeros, machine_bytes
from vecchess.shapes import MAX_MOVES

ENTRY_VALUE, ENTRY_DRAW, ENTRY_STEPS, ENTRY_MOVES, ENTRY_WORDS = range(5)
"""Places in the ``int32[4 + L]`` that callers exchange with the cache."""
EXCHANGE_WORDS = ENTRY_WORDS + MAX_MOVES
MOST_MOVES = 58
"""Legal moves that fit an entry."""

_STORAGE, _NUM_BUCKETS, _SALT = range(3)  # words of the descriptor
_ENTRY_BYTES, _BUCKET_BYTES = 256, 512
_LOCK, _LAST, _FACTS, _VALUE, _DRAW = 2, 2, 3, 4, 5
_MOVES = 3  # the word of 64 bits where the moves begin, in the entry;
_MOVES_OUTSIDE = 2  # and in the array of the caller
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U, _I = np.uint64, np.int64


class EvaluationCache:
    """The storage of one cache, committed by the system as it fills; kernels get ``address``."""

    def __init__(self, megabytes: int) -> None:
        """An empty cache of ``megabytes`` * 2**20 bytes; ``ConfigError`` if there is no room."""
        if megabytes < 1:
            raise ConfigError("an evaluation cache needs at least 1 MB")
        memory = machine_bytes()
        if memory is not None and megabytes * MEGABYTE > memory:
            raise ConfigError(
                f"an evaluation cache of {megabytes} MB does not fit this machine's "
                f"{memory // MEGABYTE} MB of memory: choose a smaller one"
            )
        self._storage = aligned_zeros(megabytes * MEGABYTE, "an evaluation cache")
        buckets = self._storage.nbytes // _BUCKET_BYTES
        self._descriptor = np.array([self._storage.ctypes.data, buckets, 0], np.int64)

    @property
    def address(self) -> int:
        """What kernels take as ``cache``; valid as long as this object lives."""
        return int(self._descriptor.ctypes.data)

    @property
    def nbytes(self) -> int:
        """Bytes of the storage."""
        return self._storage.nbytes

    def clear(self) -> None:
        """Forget everything, because the network changes; takes no time, kernels may be running.

        The keys get another salt, so no old entry is found any more. The caller sees to it that
        no answer of the old network is inserted later.
        """
        self._descriptor[_SALT] += 1

    def probe(self, key: int) -> NDArray[np.int32] | None:
        """``probe_evaluation`` from Python: int32[4 + count], or None."""
        entry = np.zeros(EXCHANGE_WORDS, np.int32)
        count = _probe(self.address, _U(key), entry.ctypes.data)
        return entry[: ENTRY_WORDS + count] if count else None

    def insert(self, key: int, entry: NDArray[np.int32]) -> None:
        """``insert_evaluation`` from Python; entry: int32[4 + count]."""
        room = np.zeros(EXCHANGE_WORDS, np.int32)
        room[: len(entry)] = entry
        _insert(self.address, _U(key), room.ctypes.data)


@part
def probe_evaluation(cache: Any, key: Any, entry: Any) -> Any:
    """Number of legal moves of the position with ``key`` (uint64), or 0: not known.

    If known, its words are written to ``entry``, address of an int32[4 + L] on 8 bytes: value,
    draw, time steps, number of moves, and for each move prior << 16 | action.
    """
    salted, bucket = _find(cache, key)
    first, second = load_shared(bucket), load_shared(bucket + _I(_ENTRY_BYTES))
    if (first != salted and second != salted) or not try_lock(bucket + _I(4 * _LOCK)):
        return _I(0)
    count = _I(0)
    way = _way(bucket, salted)  # again: another thread may have been here
    if way >= 0:
        count = _copy_out(bucket + way * _I(_ENTRY_BYTES), entry)
        _mark_used(bucket, way)
    unlock(bucket + _I(4 * _LOCK))
    return count


@part
def insert_evaluation(cache: Any, key: Any, entry: Any) -> None:
    """Keep ``entry``, laid out as by ``probe_evaluation``, for the position with ``key``.

    Left out if it has more than ``MOST_MOVES`` moves, or another thread is at the same bucket.
    """
    count = load_i32(entry, ENTRY_MOVES)
    salted, bucket = _find(cache, key)
    if count > MOST_MOVES or not try_lock(bucket + _I(4 * _LOCK)):
        return
    way = _way(bucket, salted)
    if way < 0:
        way = _I(1) - load_i32(bucket + _I(_ENTRY_BYTES), _LAST)
    _copy_in(bucket + way * _I(_ENTRY_BYTES), salted, entry, count)
    _mark_used(bucket, way)
    unlock(bucket + _I(4 * _LOCK))


@inline
def _find(cache: Any, key: Any) -> Any:
    """The key with the cache's salt, and the address of its bucket, int64."""
    salted = _U(key) ^ (load(cache, _SALT) * _GOLDEN)
    place = ((salted * _GOLDEN) >> _U(32)) * load(cache, _NUM_BUCKETS) >> _U(32)
    return salted, _I(load(cache, _STORAGE) + place * _U(_BUCKET_BYTES))


@inline
def _way(bucket: Any, salted: Any) -> Any:
    """Which entry has the key, or -1. An empty one is found by key 0 and says 0 moves."""
    if load_shared(bucket) == salted:
        return _I(0)
    return _I(1) if load_shared(bucket + _I(_ENTRY_BYTES)) == salted else _I(-1)


@inline
def _mark_used(bucket: Any, way: Any) -> None:
    store_i32(bucket + _I(_ENTRY_BYTES), _LAST, way)


@paste
def _copy_out(place: Any, entry: Any) -> Any:
    facts = load_i32(place, _FACTS)
    count = facts & _I(0xFF)
    store_i32(entry, ENTRY_VALUE, load_i32(place, _VALUE))
    store_i32(entry, ENTRY_DRAW, load_i32(place, _DRAW))
    store_i32(entry, ENTRY_STEPS, facts >> _I(8))
    store_i32(entry, ENTRY_MOVES, count)
    for pair in range((count + 1) >> 1):
        store(entry, _MOVES_OUTSIDE + pair, load(place, _MOVES + pair))
    return count


@paste
def _copy_in(place: Any, salted: Any, entry: Any, count: Any) -> None:
    store_shared(place, salted)
    store_i32(place, _FACTS, count | load_i32(entry, ENTRY_STEPS) << _I(8))
    store_i32(place, _VALUE, load_i32(entry, ENTRY_VALUE))
    store_i32(place, _DRAW, load_i32(entry, ENTRY_DRAW))
    for pair in range((count + 1) >> 1):
        store(place, _MOVES + pair, load(entry, _MOVES_OUTSIDE + pair))


@kernel
def _probe(cache, key, entry):  # type: ignore[no-untyped-def]
    return probe_evaluation(cache, key, entry)


@kernel
def _insert(cache, key, entry):  # type: ignore[no-untyped-def]
    insert_evaluation(cache, key, entry)
