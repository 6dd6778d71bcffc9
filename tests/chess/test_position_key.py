"""Keys of positions that differ little: as many share one as of random numbers.

Windows of a key's bits show by millions of positions what all 64 would show by billions.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.chess.fen import from_fens
from vecchess.chess.position import board_hash, position_key, position_keys
from vecchess.jit import kernel

RANKS = {f"rank {1 + rank}": [8 * rank + file for file in range(8)] for rank in range(8)}
FILES = {f"file {'abcdefgh'[file]}": [8 * rank + file for rank in range(8)] for file in range(8)}
LINES = RANKS | FILES
OWN, PAWNS, KNIGHTS, DIAGONAL, ORTHOGONAL = range(5)
MEN = [[PAWNS], [KNIGHTS], [DIAGONAL], [ORTHOGONAL], [DIAGONAL, ORTHOGONAL]]
CONTENTS = [[], *MEN, *([OWN, *words] for words in MEN)]
"""Words that have the bit of a square: it is empty, or has a man of either side, but no king."""

Words = NDArray[np.uint64]


def fillings(squares: list[int]) -> Words:
    """The first five words of all fillings of some squares, uint64[11 ** len(squares), 5]."""
    words = np.zeros((1, 5), np.uint64)
    for square in squares:
        added = np.zeros((len(CONTENTS), 5), np.uint64)
        for row, listed in zip(added, CONTENTS, strict=True):
            row[listed] = np.uint64(1) << np.uint64(square)
        words = (words[:, None] | added[None]).reshape(-1, 5)
    return words


@kernel
def _keys(base, low, high, keys, checks, position):  # type: ignore[no-untyped-def]
    for i in range(len(high)):
        for j in range(len(low)):
            for word in range(8):
                position[word] = base[word]
            for word in range(5):
                position[word] |= low[j, word] | high[i, word]
            keys[i * len(low) + j] = position_key(position.ctypes.data)
            if len(checks) > 0:
                checks[i * len(low) + j] = board_hash(position.ctypes.data)[1]


def hashes(squares: list[int], with_checks: bool = False) -> tuple[Words, Words]:
    """Keys of all fillings of the squares, and their check words if those are wanted."""
    kings = [square for square in (20, 43, 6, 49) if square not in squares][:2]
    base = np.zeros(8, np.uint64)
    base[0] = 1 << kings[0]
    base[5] = 1 << kings[0] | 1 << kings[1]
    low, high = fillings(squares[: len(squares) // 2]), fillings(squares[len(squares) // 2 :])
    keys = np.zeros(len(low) * len(high), np.uint64)
    checks = np.zeros(len(keys) if with_checks else 0, np.uint64)
    _keys(base, low, high, keys, checks, np.zeros(8, np.uint64))
    return keys, checks


def num_shared(keys: Words) -> int:
    """How many keys are not the first of their number. Sorts them."""
    keys.sort()
    return int((keys[1:] == keys[:-1]).sum())


def window(words: Words, first: int, bits: int) -> Words:
    return words >> np.uint64(first) & np.uint64(2**bits - 1)


def assert_as_random(words: Words, bits: int) -> None:
    """As many numbers of so many bits are shared as of random ones, six deviations at most off."""
    expected = len(words) - 2.0**bits * -math.expm1(len(words) * math.log1p(-(2.0**-bits)))
    assert abs(num_shared(words) - expected) < 6 * math.sqrt(expected)


@pytest.mark.parametrize("line", [*LINES][::5])
def test_fillings_of_a_line(line: str) -> None:
    """Six of its squares: 1.8 million positions."""
    keys, checks = hashes(LINES[line][2:], with_checks=True)
    assert len(keys) == 11**6
    for first in (0, 8, 16, 24, 32):
        assert_as_random(window(keys, first, 32), 32)
    assert_as_random(window(checks, 32, 32), 32)
    assert_as_random(window(keys, 48, 16) << np.uint64(16) | window(checks, 48, 16), 32)
    assert num_shared(keys) == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("line", LINES)
def test_all_fillings_of_a_line(line: str) -> None:
    """214 million positions each: among all 3.4 billion 0.02 pairs are expected to share a key."""
    keys, _ = hashes(LINES[line])
    assert len(keys) == 11**8
    for first in (0, 24):
        assert_as_random(window(keys, first, 40), 40)
    assert num_shared(keys) == 0


@pytest.mark.parametrize("word", range(7))
def test_words_with_few_bits(word: int) -> None:
    """One word alone: keys differ for certain, whatever the others are."""
    bits = [
        sum(1 << square for square in some) for n in range(4) for some in combinations(range(64), n)
    ]
    positions = np.random.default_rng(5).integers(0, 2**64, (1, 8), np.uint64)
    positions = np.repeat(positions, len(bits), axis=0)
    positions[:, word] = bits
    keys = position_keys(positions)
    for first in (0, 16, 32):
        assert_as_random(window(keys, first, 32), 32)
    assert num_shared(keys) == 0


def test_pairs_that_shared_a_key() -> None:
    """When a product came first, which carries a difference of the upper squares nowhere."""
    for one, other in (("NbkqbqRq", "RN1rnknb"),):
        fens = [f"{rank}/8/8/8/8/8/PP6/4K3 w - - 0 1" for rank in (one, other)]
        assert num_shared(position_keys(from_fens(fens))) == 0
