"""The hash of position keys: computed from the words, so no state has to be updated with moves.

Each word is mixed with its own constants, by steps that can be undone, and the mixes are summed.
So positions that differ in one word have different keys, and of others as many share a key as of
random numbers. That needs the shift before the first product: a product carries differences up
only, and without it those of the upper squares reached 40 bits of a mix (decision 216).
"""

from typing import Any

from numba import types

from vecchess.chess.bitboards.bits import U64
from vecchess.llvm import I64, call, constant, instruction, vector

# digits of the fraction of pi, made odd
_FIRST = (
    0x243F6A8885A308D3, 0x13198A2E03707345, 0xA4093822299F31D1, 0x082EFA98EC4E6C89,
    0x452821E638D01377, 0xBE5466CF34E90C6D, 0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917,
)  # fmt: skip
_SECOND = (
    0x9216D5D98979FB1B, 0xD1310BA698DFB5AD, 0x2FFD72DBD01ADFB7, 0xB8E1AFED6A267E97,
    0xBA7C9045F12C7F99, 0x24A19947B3916CF7, 0x0801F2E2858EFC17, 0x636920D871574E69,
)  # fmt: skip


@instruction(types.UniTuple(U64, 2), types.int64, U64)
def hash_words(builder: Any, position: Any, last: Any) -> Any:
    """``(address of uint64[8], mask of the last word) -> (key, check)``, both ``uint64``.

    The upper bits of ``check`` tell positions apart whose keys are equal by chance.
    """
    words = builder.load(builder.inttoptr(position, vector(I64, 8).as_pointer()), align=8)
    keep = builder.insert_element(constant(I64, 2**64 - 1, 8), last, I64(7))
    mixed = builder.add(builder.and_(words, keep), constant(I64, _SECOND))
    mixed = builder.mul(_fold(builder, mixed), constant(I64, _FIRST))
    mixed = _fold(builder, mixed)
    key, check = (_weighted_sum(builder, mixed, weights) for weights in (_SECOND, _FIRST))
    return [builder.xor(key, builder.lshr(key, I64(32))), check]


def _fold(builder: Any, words: Any) -> Any:
    """The lower half of each word xor its upper half."""
    return builder.xor(words, builder.lshr(words, constant(I64, 32, 8)))


def _weighted_sum(builder: Any, words: Any, weights: tuple[int, ...]) -> Any:
    products = builder.mul(words, constant(I64, weights))
    return call(builder, "llvm.vector.reduce.add.v8i64", I64, [products])
