"""Writing a bitboard of target squares as a list of moves.

A move is ``from | to << 6``, so ``to * 64 + from`` for the targets of one man, and
``to * 65 - step`` for pawns that all go the same ``step``. With AVX-512 VBMI2 one instruction
compresses the square numbers of a whole bitboard; elsewhere they are taken four at a time,
writing past the end of the list rather than branching on each (decision 5).
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from vecchess.chess.bitboards.bits import U64, popcount, store16, tz
from vecchess.jit import cpu_has, inline
from vecchess.llvm import I1, I8, I16, I32, I64, call, constant, splat, vector

EMIT_SLACK = 16
"""Items that may be written past the end of the list, without meaning."""


@inline
def _emit_in_fours(cursor: Any, targets: Any, scale: Any, offset: Any) -> Any:
    num_targets = popcount(targets)
    item = np.uint64(0)
    while targets != np.uint64(0):
        for lane in range(4):
            square = np.uint64(tz(targets))
            store16(cursor, item + np.uint64(lane), square * scale + offset)
            targets &= targets - np.uint64(1)
        item += np.uint64(4)
    return cursor + np.uint64(2) * num_targets


def _emit_compressed(builder: Any, args: Any, width: int) -> Any:
    cursor, targets, scale, offset = args
    bytes64, words = vector(I8, 64), vector(I16, width)
    mask = builder.bitcast(targets, vector(I1, 64))
    squares = [constant(I8, range(64)), constant(I8, 0, 64), mask]
    packed = call(builder, "llvm.x86.avx512.mask.compress.v64i8", bytes64, squares)
    head = builder.shuffle_vector(packed, bytes64(ir.Undefined), constant(I32, range(width)))
    factor, first = (splat(builder, builder.trunc(word, I16), width) for word in (scale, offset))
    moves = builder.add(builder.mul(builder.zext(head, words), factor), first)
    builder.store(moves, builder.inttoptr(cursor, words.as_pointer()), align=2)
    return builder.add(cursor, builder.shl(builder.ctpop(targets), I64(1)))


def _emitter(width: int) -> Any:
    def typer(typing: Any, cursor: Any, targets: Any, scale: Any, offset: Any) -> Any:
        signature = U64(U64, U64, U64, U64)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if cpu_has("avx512vbmi2"):
                return _emit_compressed(builder, args, width)
            return context.compile_internal(builder, _emit_in_fours.py_func, signature, args)

        return signature, codegen

    return intrinsic(typer)


emit16 = _emitter(16)
"""``emit16(cursor, targets, scale, offset) -> cursor``: write ``to * scale + offset`` for each of
at most 16 targets at the address ``cursor`` and return the address behind the last."""
emit8 = _emitter(8)
"""``emit16`` for at most 8 targets."""
