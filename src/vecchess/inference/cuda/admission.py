"""Triton kernel that admits questions: their moves, and the stem, whose current x0 lasts.

The definition is ``snn/integer/integer_net.py``; numbers are int32 in units of 2^-F.
"""

# mypy: disable-error-code="no-untyped-def,misc"

import triton
import triton.language as tl

from vecchess.inference.cuda.tower import SQUARES, TAPS, is_on_board, step_of_tap, to_current

PLANES_AT_ONCE = tl.constexpr(32)
"""Input planes a matrix product takes; the planes are padded to a multiple of it."""
MAX_ACTION = tl.constexpr(73 * 64 - 1)


@triton.jit
def copy_actions(source, target, MAX_MOVES: tl.constexpr):
    """target: int16[MAX_MOVES] <- source; a number beyond the last action becomes that one."""
    moves = tl.arange(0, 256)
    actions = tl.load(source + moves, mask=moves < MAX_MOVES, other=0)
    actions = tl.minimum(actions, MAX_ACTION).to(tl.int16)
    tl.store(target + moves, actions, mask=moves < MAX_MOVES)


@triton.jit
def admit_requests(
    staged_words, staged_shorts, staged_ints, busy, steps, legal, num_legal, input_current,
    weight, shift, bias,
    NUM_PLANES: tl.constexpr, MAX_MOVES: tl.constexpr, RECORD: tl.constexpr,
    CHANNELS: tl.constexpr, OUTPUTS: tl.constexpr,
):  # fmt: skip
    """Put one admitted question into its slot; grid: (K, C / OUTPUTS).

    The three staged pointers are one buffer of K records of RECORD 64-bit words, see ``staging``.
    Writes x0 into input_current int[S, 64, C], and marks the slot busy at step 0 with its moves.
    weight: int8[9, C, padded planes]; shift, bias: int32[C].
    """
    record = tl.program_id(0).to(tl.int64)
    LEGAL_WORDS: tl.constexpr = (MAX_MOVES + 3) // 4
    head = staged_ints + record * RECORD * 2 + (NUM_PLANES + LEGAL_WORDS) * 2
    slot = tl.load(head).to(tl.int64)
    if tl.program_id(1) == 0:
        tl.store(busy + slot, 1)
        tl.store(steps + slot, 0)
        tl.store(num_legal + slot, tl.load(head + 1))
        actions = staged_shorts + record * RECORD * 4 + NUM_PLANES * 4
        copy_actions(actions, legal + slot * MAX_MOVES, MAX_MOVES)
    square = tl.arange(0, SQUARES)
    planes = tl.arange(0, PLANES_AT_ONCE)
    outputs = tl.program_id(1) * OUTPUTS + tl.arange(0, OUTPUTS)
    PIECES: tl.constexpr = (NUM_PLANES + PLANES_AT_ONCE - 1) // PLANES_AT_ONCE
    total = tl.zeros((SQUARES, OUTPUTS), tl.int32)
    for piece in range(TAPS * PIECES):
        tap = piece // PIECES
        first = (piece - tap * PIECES) * PLANES_AT_ONCE
        up, right = step_of_tap(tap)
        words = tl.load(
            staged_words + record * RECORD + first + planes,
            mask=first + planes < NUM_PLANES,
            other=0,
        )
        there = ((square + up * 8 + right) & 63).to(tl.int64)
        seen = is_on_board(square, up, right)[:, None]
        bits = tl.where(seen, (words[None, :] >> there[:, None]) & 1, 0).to(tl.int8)
        rows = weight + (tap * CHANNELS + outputs) * PIECES * PLANES_AT_ONCE + first
        total = tl.dot(bits, tl.load(rows[None, :] + planes[:, None]), total, out_dtype=tl.int32)
    current = to_current(
        total, tl.load(shift + outputs)[None, :], tl.load(bias + outputs)[None, :], False
    )
    here = (slot * SQUARES + square)[:, None] * CHANNELS + outputs[None, :]
    tl.store(input_current + here, current)
