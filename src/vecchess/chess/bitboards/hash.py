"""The hash of position keys: computed from the words, so no state has to be updated with moves.

Each word is mixed by multiply, shift, multiply with its own constants, and the mixes are summed.
As one vector that takes 2 to 3 ns; a Zobrist update that has to find the men on its two squares
takes 5 to 6, needs a ninth word to keep the key in, and tables (decision 1).
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


@instruction(U64, types.int64, U64)
def hash_words(builder: Any, position: Any, last: Any) -> Any:
    """``(address of uint64[8], mask of the last word) -> uint64``."""
    words = builder.load(builder.inttoptr(position, vector(I64, 8).as_pointer()), align=8)
    keep = builder.insert_element(constant(I64, 2**64 - 1, 8), last, I64(7))
    mixed = builder.add(builder.and_(words, keep), constant(I64, _SECOND))
    mixed = builder.mul(mixed, constant(I64, _FIRST))
    mixed = builder.xor(mixed, builder.lshr(mixed, constant(I64, 32, 8)))
    mixed = builder.mul(mixed, constant(I64, _SECOND))
    total = call(builder, "llvm.vector.reduce.add.v8i64", I64, [mixed])
    return builder.xor(total, builder.lshr(total, I64(32)))
