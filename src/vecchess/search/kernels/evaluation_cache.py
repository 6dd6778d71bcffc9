"""The network's evaluations of positions, kept for when they come up again: one cache a process.

Several threads probe and insert at the same time, from kernels without the GIL. None of them
waits: a bucket that another thread holds counts as a miss, and an insertion into it is left out. An
evaluation is a function of the key alone, so answers do not depend on hits.

A position goes to one bucket of two entries, 512 bytes, whose entry used longer ago is replaced.
Hits and insertions are uses. Positions with more than ``MOST_MOVES`` moves are not kept.
"""

from typing import Annotated, Any

import numpy as np

from vecchess.errors import ConfigError
from vecchess.jit import inline, part
from vecchess.memory_layout import I32, U8, U32, U64, Array, Record
from vecchess.search.kernels.atomic import load_shared, store_shared, try_lock, unlock
from vecchess.search.tree_memory import MEGABYTE, aligned_zeros, machine_bytes

MOST_MOVES = 58
"""Legal moves that fit an entry."""
_WAYS = 2
"""Entries of a bucket."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U, _I = np.uint64, np.int64


class CacheEntryRecord(Record, nbytes=256):
    """An evaluation in the cache."""

    key: U64
    """xor the cache's salt"""
    lock: I32
    """of the bucket; in its first entry"""
    last_used: Annotated[I32, "lock"]
    """number of the bucket's entry that was used last; in its second entry"""
    num_moves: U8
    """legal moves; 0: an empty entry"""
    num_steps: U8
    value: I32
    draw: I32
    moves: Annotated[Array[U32], MOST_MOVES]
    """prior << 16 | action"""


class CacheRecord(Record):
    """Where the entries are."""

    entries: Array[CacheEntryRecord]
    num_buckets: U64
    salt: U64


_LOCK_OFFSET = CacheEntryRecord.fields["lock"].offset


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
        self._header = np.zeros((), CacheRecord.dtype)
        self._header["entries"] = self._storage.ctypes.data
        self._header["num_buckets"] = self.nbytes // (_WAYS * CacheEntryRecord.dtype.itemsize)

    @property
    def address(self) -> int:
        """Of the ``CacheRecord``, for kernels; valid as long as this object lives."""
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


@part
def probe_evaluation(cache, key, evaluation):  # type: ignore[no-untyped-def]
    """Number of legal moves of the position with ``key`` (uint64), or 0: not known.

    cache: address of a ``CacheRecord``. A known evaluation is written to ``evaluation``.
    """
    salted, bucket = find_bucket(cache, key)
    if load_shared(bucket.address) != salted and load_shared(bucket[1].address) != salted:
        return _I(0)
    if not try_lock(bucket.address + _LOCK_OFFSET):
        return _I(0)
    count = _I(0)
    way = _find_way(bucket, salted)  # again: another thread may have been here
    if way >= 0:
        _copy_evaluation(bucket[way], evaluation)
        count = evaluation.num_moves
        bucket[1].last_used = way
    unlock(bucket.address + _LOCK_OFFSET)
    return count


@part
def insert_evaluation(cache, key, evaluation):  # type: ignore[no-untyped-def]
    """Keep ``evaluation`` for the position with ``key``.

    Left out if it has more than ``MOST_MOVES`` moves, or another thread is at the same bucket.
    """
    salted, bucket = find_bucket(cache, key)
    if evaluation.num_moves > MOST_MOVES or not try_lock(bucket.address + _LOCK_OFFSET):
        return
    way = _find_way(bucket, salted)
    if way < 0:
        way = _I(1) - bucket[1].last_used
    store_shared(bucket[way].address, salted)
    _copy_evaluation(evaluation, bucket[way])
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
def _copy_evaluation(source: Any, target: Any) -> None:
    """Copy the fields that an entry and an evaluation have in common."""
    count = source.num_moves
    target.value = source.value
    target.draw = source.draw
    target.num_steps = source.num_steps
    target.num_moves = count
    for index in range(count):
        target.moves[index] = source.moves[index]
