"""Random numbers by counter: a triple always gives the same number, in any order of calls.

Three rounds of the finaliser of splitmix64 (Steele, Lea, Flood 2014), each taking in one more
word. There is no state, so games depend neither on each other nor on the worker.

Decision 23.
"""

from typing import Any

import numpy as np

from vecchess.jit import inline, kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)


@inline
def _mix(word: Any) -> Any:
    word = (word ^ (word >> np.uint64(30))) * _M1
    word = (word ^ (word >> np.uint64(27))) * _M2
    return word ^ (word >> np.uint64(31))


@inline
def random_u64(seed: Any, number: Any, counter: Any) -> Any:
    """uint64, uniform; ``seed``, ``number`` of the game and ``counter`` are integers >= 0."""
    word = _mix(np.uint64(seed) + _GOLDEN)
    word = _mix(word + np.uint64(number) * _GOLDEN + _GOLDEN)
    return _mix(word + np.uint64(counter) * _GOLDEN + _GOLDEN)


@inline
def random_below(seed: Any, number: Any, counter: Any, end: Any) -> Any:
    """int64 in 0 .. end - 1, for ``end`` below 2**32 (bias below 2**-32)."""
    high = random_u64(seed, number, counter) >> np.uint64(32)
    return np.int64((high * np.uint64(end)) >> np.uint64(32))


@kernel
def _random_u64(seed, number, counter):  # type: ignore[no-untyped-def]
    return random_u64(seed, number, counter)


def random_word(seed: int, number: int, counter: int) -> int:
    """``random_u64`` from Python: an integer in 0 .. 2**64 - 1."""
    return int(_random_u64(np.uint64(seed), number, counter))
