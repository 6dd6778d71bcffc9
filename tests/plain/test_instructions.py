"""The intrinsics of ``bits``, ``rays``, ``hash``, ``move_lists``: compiled as interpreted."""

from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from tests.plain import instructions
from vecchess.chess.bitboards import bits, rays, tables
from vecchess.chess.bitboards import hash as hashing
from vecchess.chess.bitboards.move_lists import EMIT_SLACK, _emit_in_fours, emit8, emit16
from vecchess.jit import cpu_has

RNG = np.random.default_rng(20)
_U = np.uint64
RANDOM = RNG.integers(0, 2**64, (3, 150), dtype=np.uint64)
SINGLE = _U(1) << np.arange(64, dtype=_U)
# dense words, sparse ones, single bits, and the ends
WORDS = np.concatenate(
    [RANDOM[0], RANDOM[0] & RANDOM[1] & RANDOM[2], SINGLE, [_U(2**64 - 1), _U(0)]]
)
INTEGERS = {
    "load": "u8", "load16": "u2", "load_i32": "i4", "load_u16": "u2",
    "load_u8": "u1", "store": "u8", "store16": "u2", "store_i32": "i4",
}  # fmt: skip
REALS = {"load_f32": "f4"}
ITEMS = INTEGERS | REALS


def test_words_are_counted_and_turned_alike() -> None:
    @numba.njit
    def compiled(given: Any, masks: Any, out: Any) -> None:
        for i in range(len(given)):
            out[i, 0], out[i, 1] = bits.tz(given[i]), bits.popcount(given[i])
            out[i, 2], out[i, 3] = bits.bswap(given[i]), bits.msb(given[i] | _U(1))
            out[i, 4] = bits.pext(given[i], masks[i]) if bits.has_bmi2() else _U(0)

    masks, out = WORDS[::-1].copy(), np.zeros((len(WORDS), 5), _U)
    compiled(WORDS, masks, out)
    for word, mask, row in zip(WORDS, masks, out.tolist(), strict=True):
        packed = instructions.pext(word, mask) if cpu_has("bmi2") else 0
        assert row == [
            instructions.trailing_zeros(word), instructions.popcount(word),
            instructions.bswap(word), instructions.msb(word | _U(1)), packed,
        ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in ITEMS if name.startswith("load")])
def test_items_are_read_alike(name: str) -> None:
    """By a narrow index without a sign, whose last values look negative."""
    function, plain = getattr(bits, name), instructions.BITS[name]
    items = WORDS.view(ITEMS[name])[:255] if name in INTEGERS else RNG.normal(size=255)
    items = items.astype(ITEMS[name])

    @numba.njit
    def compiled(address: Any, out: Any) -> None:
        for index in range(len(out)):
            out[index] = function(address, np.uint8(index))

    out = np.zeros(len(items), type(plain(items.ctypes.data, 0)))
    compiled(items.ctypes.data, out)
    assert out.tolist() == items.tolist()
    assert [plain(items.ctypes.data, index) for index in range(len(items))] == items.tolist()


@pytest.mark.parametrize("name", [name for name in ITEMS if name.startswith("store")])
def test_items_are_written_alike(name: str) -> None:
    """By a narrow index with a sign, from behind the first item on."""
    function, plain = getattr(bits, name), instructions.BITS[name]
    given = WORDS[-120:] if name in INTEGERS else RNG.normal(size=120)
    expected = given.astype(ITEMS[name])

    @numba.njit
    def compiled(address: Any, given: Any) -> None:
        for index in range(len(given)):
            function(address, np.int8(index - 1), given[index])

    one, other = np.zeros_like(expected), np.zeros_like(expected)
    compiled(one.ctypes.data + one.itemsize, given)
    for index, value in enumerate(given):
        plain(other.ctypes.data, index, value)
    assert one.tobytes() == other.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", [*ITEMS, "hash_words"])
def test_an_address_that_is_no_integer_does_not_compile(name: str) -> None:
    """uint64 + int64 is a float64 to numba."""
    function = getattr(hashing if name == "hash_words" else bits, name)

    @numba.njit
    def read(address: Any, index: Any) -> Any:
        return function(address, index)

    @numba.njit
    def write(address: Any, index: Any) -> Any:
        function(address, index, _U(1))

    compiled = write if name.startswith("store") else read
    places = [(1.0, 0)] if name == "hash_words" else [(1.0, 0), (1, 0.0)]
    for place in places:
        with pytest.raises(TypingError):
            compiled(*place)


def test_rays_are_followed_alike() -> None:
    @numba.njit
    def compiled(block: Any, boards: Any, attacks: Any, found: Any) -> None:
        for i in range(len(boards)):
            occupied, own, straight, slant = boards[i]
            attacks[i] = rays.slider_attacks(straight, slant, ~occupied)
            address = block + _U((tables.RAYS + 8 * (i % 64)) * 8)
            checkers, check_rays, pins, slant_pins = rays.king_rays(
                address, occupied, own, straight & ~own, slant & ~own
            )
            found[i, 0], found[i, 1], found[i, 2], found[i, 3] = (
                checkers,
                check_rays,
                pins,
                slant_pins,
            )

    draws = RNG.integers(0, 2**64, (5, 1500), dtype=np.uint64)
    occupied = draws[0] & draws[1]
    boards = np.stack([occupied, *(occupied & draw for draw in draws[2:])], axis=1)
    attacks, found = np.zeros(len(boards), _U), np.zeros((len(boards), 4), _U)
    compiled(_U(tables.address()), boards, attacks, found)
    for i, (men, own, straight, slant) in enumerate(boards):
        assert attacks[i] == instructions.slider_attacks(straight, slant, ~men)
        address = tables.address() + (tables.RAYS + 8 * (i % 64)) * 8
        expected = instructions.king_rays(address, men, own, straight & ~own, slant & ~own)
        assert found[i].tolist() == list(expected)
    assert (found != 0).any(axis=0).all()


def test_hashes_are_alike() -> None:
    @numba.njit
    def compiled(address: Any, last: Any) -> Any:
        return hashing.hash_words(address, last)

    plain = instructions.hash_words(hashing._FIRST, hashing._SECOND)
    boards = RNG.integers(0, 2**64, (30, 8), dtype=np.uint64)
    for row in boards:
        for last in (0, 1 << 63, 2**64 - 1):
            assert compiled(row.ctypes.data, _U(last)) == plain(row.ctypes.data, last)


def test_the_constants_of_the_hash_are_digits_of_pi() -> None:
    """Of its fraction, made odd, so that a multiplication by them loses nothing."""
    unit = 1 << 1100
    pi = 4 * (4 * _arctan_of_inverse(5, unit) - _arctan_of_inverse(239, unit))  # Machin 1706
    fraction = pi - 3 * unit
    digits = [fraction >> (1100 - 64 * (n + 1)) & 2**64 - 1 for n in range(16)]
    assert [*hashing._FIRST, *hashing._SECOND] == [word | 1 for word in digits]


def _arctan_of_inverse(x: int, unit: int) -> int:
    total, power, n = 0, unit // x, 1
    while power:
        total += power // n if n % 4 == 1 else -(power // n)
        power, n = power // (x * x), n + 2
    return total


def test_moves_are_written_alike() -> None:
    """What is written behind the list is not compared, and the list is followed by nothing else."""

    @numba.njit
    def compiled(word: Any, scale: Any, offset: Any, rooms: Any, ends: Any) -> None:
        ends[0] = emit8(rooms[0], word, scale, offset)
        ends[1] = emit16(rooms[1], word, scale, offset)
        ends[2] = _emit_in_fours(rooms[2], word, scale, offset)

    for count in range(17):
        squares = np.sort(RNG.choice(64, count, replace=False)).astype(_U)
        word = np.bitwise_or.reduce(_U(1) << squares, initial=_U(0))
        for scale, offset in ((64, 5), (65, 0xFFF8), (65, 4096 * 4 - 9)):
            rooms, ends = np.zeros((3, 16 + EMIT_SLACK + 1), np.uint16), np.zeros(3, _U)
            firsts = np.array([row.ctypes.data for row in rooms], _U)
            compiled(word, _U(scale), _U(offset), firsts, ends)
            expected = (squares * _U(scale) + _U(offset)).astype(np.uint16)
            for row in range(count > 8, 3):  # emit8 takes no more than 8
                assert ends[row] - firsts[row] == 2 * count
                assert (rooms[row, :count] == expected).all()
                assert not rooms[row, count + EMIT_SLACK :].any()
