"""The network's evaluations of positions, kept for when they come up again: one cache a process.

Several threads probe and insert at the same time, from kernels without the GIL. None of them
waits: a bucket that another thread holds counts as a miss, and an insertion into it is left out. An
evaluation is a function of key and check alone, so answers do not depend on hits.

An entry has the priors of a position's moves in the order of generation, not the moves: those are
always the board's own, so that no entry can make a search play a move that is not legal.
A position goes to one bucket of two entries, 256 bytes, whose entry used longer ago is replaced.
Hits and insertions are uses. Positions with more than ``MOST_MOVES`` moves are not kept.
"""

from typing import Annotated, Any

import numpy as np

from vecchess.chess.bitboards.bits import load_u16
from vecchess.errors import ConfigError
from vecchess.jit import inline, part
from vecchess.machine_limits import MEGABYTE, machine_limits, memory_text
from vecchess.memory_layout import I32, U8, U16, U32, U64, Array, HoldsAddresses, Record
from vecchess.search.kernels.atomic import (
    load_shared,
    prefetch,
    store_shared,
    try_lock,
    unlock,
)
from vecchess.search.tree_memory import aligned_zeros

MOST_MOVES = 51
"""Legal moves that fit an entry."""
_WAYS = 2
"""Entries of a bucket."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U, _I = np.uint64, np.int64


class CacheEntryRecord(Record, nbytes=128):
    """An evaluation in the cache."""

    key: U64
    """xor the cache's salt"""
    check: U32
    """the upper bits of the position's"""
    lock: I32
    """of the bucket; in its first entry"""
    last_used: Annotated[I32, "lock"]
    """number of the bucket's entry that was used last; in its second entry"""
    value: I32
    draw: I32
    num_moves: U8
    """legal moves; 0: an empty entry"""
    num_steps: U8
    priors: Annotated[Array[U16], MOST_MOVES]
    """of the moves in the order of generation"""


class CacheRecord(Record):
    """Where the entries are."""

    entries: Array[CacheEntryRecord]
    num_buckets: U64
    salt: U64


_LOCK_OFFSET = CacheEntryRecord.fields["lock"].offset
_BUCKET_LINES = tuple(range(0, _WAYS * CacheEntryRecord.dtype.itemsize, 64))
"""Where the cache lines of a bucket begin, in bytes."""


class EvaluationCache(HoldsAddresses):
    """The storage of one cache, committed by the system as it fills; kernels get ``address``."""

    def __init__(self, megabytes: int) -> None:
        """An empty cache of ``megabytes`` * 2**20 bytes; ``ConfigError`` if there is no room."""
        if megabytes < 1:
            raise ConfigError("an evaluation cache needs at least 1 MB")
        if megabytes * MEGABYTE > machine_limits().memory.amount:
            raise ConfigError(
                f"an evaluation cache of {megabytes:,} MB does not fit the memory, "
                f"{memory_text()}: choose a smaller one"
            )
        self._storage = aligned_zeros(megabytes * MEGABYTE, "an evaluation cache")
        self._header = np.zeros((), CacheRecord.dtype)
        self._header["entries"] = self._storage.ctypes.data
        self._header["num_buckets"] = self.nbytes // (_WAYS * CacheEntryRecord.dtype.itemsize)

    @property
    def address(self) -> int:
        """Address of the ``CacheRecord``, for kernels; valid as long as this object lives."""
        return int(self._header.ctypes.data)

    @property
    def nbytes(self) -> int:
        """Bytes of the storage."""
        return self._storage.nbytes

    def clear(self) -> None:
        """Forget everything, because the network changes; takes no time, kernels may be running.

        The keys get another salt, so no old entry is found any more. The caller makes sure that
        no answer of the old network is inserted later.
        """
        self._header["salt"] += np.uint64(1)


@inline
def prefetch_evaluation(cache: Any, key: Any) -> None:
    """Load the bucket of the position with ``key``, for a probe soon."""
    _, bucket = find_bucket(cache, key)
    for offset in _BUCKET_LINES:
        prefetch(bucket.address + offset)


@part
def probe_evaluation(cache, key, check, actions, num_moves, evaluation):  # type: ignore[no-untyped-def]
    """Whether the evaluation of a position is known; then it is written to ``evaluation``.

    cache: address of a ``CacheRecord``. key, check: see ``evaluation_key``. actions: address of the
    position's legal actions, ``uint16[num_moves]``, in the order of generation.
    """
    salted, bucket = find_bucket(cache, key)
    if load_shared(bucket.address) != salted and load_shared(bucket[1].address) != salted:
        return False
    if not try_lock(bucket.address + _LOCK_OFFSET):
        return False
    way = _find_way(bucket, salted)  # again: another thread may have been here
    is_known = False
    if way >= 0:
        entry = bucket[way]
        is_known = entry.num_moves == num_moves and _U(entry.check) == check >> _U(32)
    if is_known:
        _read_entry(bucket[way], actions, evaluation)
        bucket[1].last_used = way
    unlock(bucket.address + _LOCK_OFFSET)
    return is_known


@part
def insert_evaluation(cache, key, check, evaluation):  # type: ignore[no-untyped-def]
    """Keep ``evaluation`` for the position with ``key`` and ``check``.

    Left out if it has more than ``MOST_MOVES`` moves, or another thread is at the same bucket.
    """
    salted, bucket = find_bucket(cache, key)
    if evaluation.num_moves > MOST_MOVES or not try_lock(bucket.address + _LOCK_OFFSET):
        return
    way = _find_way(bucket, salted)
    if way < 0:
        way = _I(1) - bucket[1].last_used
    store_shared(bucket[way].address, salted)
    bucket[way].check = check >> _U(32)
    _write_entry(evaluation, bucket[way])
    bucket[1].last_used = way
    unlock(bucket.address + _LOCK_OFFSET)


@inline
def find_bucket(cache: Any, key: Any) -> Any:
    """The key with the cache's salt, and the first entry of its bucket."""
    header: Any = CacheRecord(cache)
    salted = _U(key) ^ (header.salt * _GOLDEN)
    place = ((salted * _GOLDEN) >> _U(32)) * header.num_buckets >> _U(32)
    return salted, header.entries[_I(place) * _WAYS]


@inline
def _find_way(bucket: Any, salted: Any) -> Any:
    """Number of the entry that has the key, or -1. Key 0 finds an empty entry, with 0 moves."""
    if load_shared(bucket.address) == salted:
        return _I(0)
    return _I(1) if load_shared(bucket[1].address) == salted else _I(-1)


@inline
def _read_entry(entry: Any, actions: Any, evaluation: Any) -> None:
    """Write an entry to an evaluation, its priors with the actions that they belong to."""
    evaluation.value = entry.value
    evaluation.draw = entry.draw
    evaluation.num_steps = entry.num_steps
    evaluation.num_moves = entry.num_moves
    for index in range(entry.num_moves):
        evaluation.moves[index] = entry.priors[index] << 16 | load_u16(actions, index)


@inline
def _write_entry(evaluation: Any, entry: Any) -> None:
    entry.value = evaluation.value
    entry.draw = evaluation.draw
    entry.num_steps = evaluation.num_steps
    entry.num_moves = evaluation.num_moves
    for index in range(evaluation.num_moves):
        entry.priors[index] = evaluation.moves[index] >> 16
