"""Triton kernels around the tower: admission, the list of busy slots, answers and exit rule.

An admitted question brings its moves and the stem, whose current x0 lasts.

The exit rule is that of ``inference/exit_rule.py``, comparison by comparison.

Numbers and short vectors are held by every warp of a program, but stored by one of them. So where
such a value is read, changed and written back, a barrier keeps a fast warp from writing before a
slow one has read; the interpreter would not show that it is missing.
"""

# mypy: disable-error-code="no-untyped-def,misc"

import triton
import triton.language as tl

from vecchess.inference.cuda.tower import (
    SQUARES,
    TAPS,
    activation,
    is_on_board,
    lif,
    step_of_tap,
    to_current,
)

PLANES_AT_ONCE = tl.constexpr(32)
"""Input planes a matrix product takes; the planes are padded to a multiple of it."""
MAX_ACTION = tl.constexpr(73 * 64 - 1)


@triton.jit
def copy_moves(source, target, MAX_MOVES: tl.constexpr, LAST: tl.constexpr):
    """target: int16[MAX_MOVES] <- source; a number beyond LAST becomes LAST."""
    moves = tl.arange(0, 256)
    numbers = tl.load(source + moves, mask=moves < MAX_MOVES, other=0)
    numbers = tl.minimum(numbers, LAST).to(tl.int16)
    tl.store(target + moves, numbers, mask=moves < MAX_MOVES)


@triton.jit
def admit_requests(
    staged_words, staged_shorts, staged_ints, busy, steps, legal, codes, num_legal, input_current,
    weight, shift, bias,
    NUM_WORDS: tl.constexpr, NUM_PLANES: tl.constexpr, NUM_CODES: tl.constexpr,
    MAX_MOVES: tl.constexpr, RECORD: tl.constexpr, CHANNELS: tl.constexpr, OUTPUTS: tl.constexpr,
):  # fmt: skip
    """Put one admitted question into its slot; grid: (K, C / OUTPUTS).

    The three staged pointers are one buffer of K records of RECORD 64-bit words, see ``staging``.
    Writes x0 into input_current int[S, 64, C], and marks the slot busy at step 0 with its moves,
    and their inputs where NUM_WORDS, the input words, are more than the planes.
    weight: int8[9, C, padded planes]; shift, bias: int32[C].
    """
    record = tl.program_id(0).to(tl.int64)
    LEGAL_WORDS: tl.constexpr = (MAX_MOVES + 3) // 4
    head = staged_ints + record * RECORD * 2 + (NUM_WORDS + LEGAL_WORDS) * 2
    slot = tl.load(head).to(tl.int64)
    if tl.program_id(1) == 0:
        tl.store(busy + slot, 1)
        tl.store(steps + slot, 0)
        tl.store(num_legal + slot, tl.load(head + 1))
        shorts = staged_shorts + record * RECORD * 4
        copy_moves(shorts + NUM_WORDS * 4, legal + slot * MAX_MOVES, MAX_MOVES, MAX_ACTION)
        if NUM_WORDS > NUM_PLANES:
            inputs = shorts + NUM_PLANES * 4
            copy_moves(inputs, codes + slot * MAX_MOVES, MAX_MOVES, NUM_CODES - 1)
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


OUTCOMES = tl.constexpr(3)
MOVES_AT_ONCE = tl.constexpr(32)
NO_SECOND = tl.constexpr(-(2**31))
NO_BEST = tl.constexpr(-1)


@triton.jit
def list_active(busy, active, num_active, tick, num_slots, BLOCK: tl.constexpr):
    """active: int32[S] <- the busy slots, ascending; num_active: int32[1]; tick: int64[1] += 1.

    Each program lists BLOCK slots and counts those before them itself: no order of programs
    matters. Only listed slots take part in the step, so an empty slot costs nothing.
    """
    program = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    before, block = 0, 0
    while block < program:
        before += tl.sum(tl.load(busy + block * BLOCK + lane))
        block += 1
    slots = program * BLOCK + lane
    takes_part = tl.load(busy + slots, mask=slots < num_slots, other=0)
    places = before + tl.cumsum(takes_part, axis=0) - takes_part
    tl.store(active + places, slots, mask=takes_part != 0)
    if program == tl.num_programs(0) - 1:
        tl.store(num_active, before + tl.sum(takes_part))
        tl.store(tick, tl.load(tick) + 1)


@triton.jit
def add_policy(
    fired, policy, legal, codes, num_legal, weight, shift, bias, of_moves, fresh,
    CHANNELS: tl.constexpr, INPUTS: tl.constexpr, FROM_ACTIVATIONS: tl.constexpr,
    READS_MOVES: tl.constexpr,
):  # fmt: skip
    """Add one step's currents of the legal actions; returns (best move, its score, the second).

    fired: int8[64, C] of one board; policy, legal, codes: its rows [L]; of_moves: int32[codes];
    ties go to the lowest index.
    """
    inputs = tl.arange(0, INPUTS)[None, :]
    top, best, second, first = 0, NO_SECOND, NO_SECOND, 0
    while num_legal > first:  # constants stand on the right, for the interpreter of Triton 3.7
        move = tl.arange(0, MOVES_AT_ONCE) + first
        valid = move < num_legal
        action = tl.load(legal + move, mask=valid, other=0).to(tl.int32)
        plane, square = action // SQUARES, action % SQUARES
        total = tl.zeros((MOVES_AT_ONCE,), tl.int32)
        for channel in range(0, CHANNELS, INPUTS):
            spikes = tl.load(fired + square[:, None] * CHANNELS + channel + inputs)
            synapses = tl.load(weight + plane[:, None] * CHANNELS + channel + inputs)
            total += tl.sum(spikes.to(tl.int32) * synapses.to(tl.int32), axis=1)
        shifts, biases = tl.load(shift + plane), tl.load(bias + plane)
        current = to_current(total, shifts, biases, FROM_ACTIVATIONS)
        if READS_MOVES:
            code = tl.load(codes + move, mask=valid, other=0).to(tl.int32)
            current += tl.load(of_moves + code)
        score = current + tl.load(policy + move, mask=valid & (fresh == 0), other=0)
        tl.debug_barrier()
        tl.store(policy + move, score, mask=valid)
        score = tl.where(valid, score, NO_SECOND)
        highest, index = tl.max(score, axis=0), tl.argmax(score, axis=0, tie_break_left=True)
        runner_up = tl.max(tl.where(move == index + first, NO_SECOND, score), axis=0)
        second = tl.maximum(tl.minimum(best, highest), tl.maximum(second, runner_up))
        top = tl.where(highest > best, index + first, top)
        best = tl.maximum(best, highest)
        first += MOVES_AT_ONCE
    return top, best, second


@triton.jit
def squeeze(
    fired, membrane, weight, shift, bias, fresh,
    CHANNELS: tl.constexpr, INPUTS: tl.constexpr, VALUES: tl.constexpr,
    GRID_BITS: tl.constexpr, FROM_ACTIVATIONS: tl.constexpr, RELU: tl.constexpr,
):  # fmt: skip
    """int32[64, VALUES]: outputs of the neurons in front of win/draw/loss, for one board."""
    square = tl.arange(0, SQUARES)[:, None]
    value = tl.arange(0, VALUES)
    inputs = tl.arange(0, INPUTS)
    total = tl.zeros((SQUARES, VALUES), tl.int32)
    for first in range(0, CHANNELS, INPUTS):
        spikes = tl.load(fired + square * CHANNELS + first + inputs[None, :])
        synapses = tl.load(weight + value[None, :] * CHANNELS + first + inputs[:, None])
        total = tl.dot(spikes, synapses, total, out_dtype=tl.int32)
    shifts, biases = tl.load(shift + value)[None, :], tl.load(bias + value)[None, :]
    current = to_current(total, shifts, biases, FROM_ACTIVATIONS)
    if RELU:
        outputs = activation(current, GRID_BITS)
    else:
        cells = membrane + square * VALUES + value[None, :]
        held = tl.load(cells, mask=(square >= 0) & (fresh == 0), other=0).to(tl.int32)
        outputs, held = lif(held, current, GRID_BITS)
        tl.store(cells, held)
    return outputs


@triton.jit
def add_outcomes(
    fired, wdl, weight, shift, bias, fresh, t, VALUES: tl.constexpr, RELU: tl.constexpr
):
    """Add one step's current to wdl: int32[3]; returns the largest |w_t (t-1) - w_(t-1) t|."""
    square = tl.arange(0, SQUARES)[:, None]
    value = tl.arange(0, VALUES)[None, :]
    drift = t * 0
    for outcome in tl.static_range(OUTCOMES):
        synapses = tl.load(weight + (outcome * SQUARES + square) * VALUES + value)
        total = tl.sum(tl.sum(fired * synapses.to(tl.int32), axis=1), axis=0)
        current = to_current(total, tl.load(shift + outcome), tl.load(bias + outcome), RELU)
        before = tl.load(wdl + outcome, mask=fresh == 0, other=0)
        after = before + current
        tl.debug_barrier()
        tl.store(wdl + outcome, after)
        moved = after.to(tl.int64) * (t - 1) - before.to(tl.int64) * t
        drift = tl.maximum(drift, tl.abs(moved))
    return drift


@triton.jit
def may_leave(rule, t, num_legal, margin, unchanged, drift):
    """The exit rule before T; rule: int64[4] as ``ExitRule.as_integers``."""
    sure = margin >= tl.load(rule + 1) * t
    calm = unchanged | (tl.load(rule + 2) == 0)
    limit = tl.load(rule + 3)
    steady = (limit < 0) | ((t > 1) & (drift <= limit * t * (t - 1)))
    return (t >= tl.load(rule)) & ((num_legal == 1) | (sure & calm & steady))


@triton.jit
def settle_slot(
    slot, busy, scores, outcomes, count, taken, tick,
    answered_policy, answered_wdl, answered_steps, settled_at, MAX_MOVES: tl.constexpr,
):  # fmt: skip
    """End the question of ``slot``: its answer goes to the host's memory, answered_* [S, ...]."""
    tl.debug_barrier()  # scores and outcomes were stored by other threads of this program
    tl.store(busy + slot, 0)
    move = tl.arange(0, 256)
    score = tl.load(scores + move, mask=move < count, other=0)
    tl.store(answered_policy + slot * MAX_MOVES + move, score, mask=move < count)
    for outcome in tl.static_range(OUTCOMES):
        tl.store(answered_wdl + slot * OUTCOMES + outcome, tl.load(outcomes + outcome))
    tl.store(answered_steps + slot, taken)
    tl.store(settled_at + slot, tl.load(tick))


@triton.jit
def judge_step(
    fired, slot, taken, count, legal, codes, policy, wdl, best_move, value_membranes,
    policy_layer, squeeze_layer, outcome_layer, of_moves, rule,
    MAX_MOVES: tl.constexpr, CHANNELS: tl.constexpr, INPUTS: tl.constexpr, VALUES: tl.constexpr,
    GRID_BITS: tl.constexpr, RELU: tl.constexpr, FROM_ACTIVATIONS: tl.constexpr,
    READS_MOVES: tl.constexpr,
):  # fmt: skip
    """Heads of ``slot`` in its time step after ``taken``; returns whether the rule lets it leave.

    fired: int8[64, C]; count: legal moves; a layer: (weight, shift, bias); the rest as ``answer``.
    """
    fresh, t = taken == 0, (taken + 1).to(tl.int64)
    weight, shift, bias = policy_layer
    top, best, second = add_policy(
        fired, policy + slot * MAX_MOVES, legal + slot * MAX_MOVES, codes + slot * MAX_MOVES, count,
        weight, shift, bias, of_moves, fresh, CHANNELS, INPUTS, FROM_ACTIVATIONS, READS_MOVES,
    )  # fmt: skip
    weight, shift, bias = squeeze_layer
    inner = squeeze(
        fired, value_membranes + slot * SQUARES * VALUES, weight, shift, bias,
        fresh, CHANNELS, INPUTS, VALUES, GRID_BITS, FROM_ACTIVATIONS, RELU,
    )  # fmt: skip
    weight, shift, bias = outcome_layer
    drift = add_outcomes(inner, wdl + slot * OUTCOMES, weight, shift, bias, fresh, t, VALUES, RELU)
    before = tl.load(best_move + slot, mask=fresh == 0, other=NO_BEST)
    margin = best.to(tl.int64) - second.to(tl.int64)
    leaves = may_leave(rule, t, count, margin, before == top, drift)
    tl.debug_barrier()
    tl.store(best_move + slot, top)
    return leaves


@triton.jit
def answer(
    active, num_active, tick, busy, steps, legal, codes, num_legal, policy, wdl, best_move,
    spikes, value_membranes,
    policy_weight, policy_shift, policy_bias,
    squeeze_weight, squeeze_shift, squeeze_bias,
    outcome_weight, outcome_shift, outcome_bias,
    of_moves, rule, answered_policy, answered_wdl, answered_steps, settled_at,
    TIME_STEPS: tl.constexpr, MAX_MOVES: tl.constexpr,
    CHANNELS: tl.constexpr, INPUTS: tl.constexpr, VALUES: tl.constexpr,
    GRID_BITS: tl.constexpr, RELU: tl.constexpr, GRADED: tl.constexpr, STEPS: tl.constexpr,
    READS_MOVES: tl.constexpr,
):  # fmt: skip
    """Heads and exit rule of one busy slot, for STEPS time steps in turn; grid: positions.

    By slot: busy, steps, num_legal, best_move int32[S], legal and codes int16[S, L] (no codes
    unless the network READS_MOVES, by the table of_moves int32[codes]), policy int32[S, L],
    wdl int32[S, 3], value_membranes int[S, 64, VALUES], answered_* [S, ...], settled_at int64[S],
    the launch in which it settled. By position: spikes int8[S, STEPS, 64, C], or activations.
    What comes after the step at which a slot settles is not looked at.
    """
    position = tl.program_id(0)
    if position >= tl.load(num_active):
        return
    slot = tl.load(active + position).to(tl.int64)
    taken, count = tl.load(steps + slot), tl.load(num_legal + slot)
    fired = spikes + position.to(tl.int64) * STEPS * SQUARES * CHANNELS
    last = taken + STEPS
    while taken < last:
        leaves = judge_step(
            fired, slot, taken, count, legal, codes, policy, wdl, best_move, value_membranes,
            (policy_weight, policy_shift, policy_bias),
            (squeeze_weight, squeeze_shift, squeeze_bias),
            (outcome_weight, outcome_shift, outcome_bias),
            of_moves, rule, MAX_MOVES, CHANNELS, INPUTS, VALUES, GRID_BITS, RELU, RELU or GRADED,
            READS_MOVES,
        )  # fmt: skip
        taken += 1
        fired += SQUARES * CHANNELS
        tl.store(steps + slot, taken)
        if leaves | (taken >= TIME_STEPS):
            settle_slot(
                slot, busy, policy + slot * MAX_MOVES, wdl + slot * OUTCOMES, count, taken, tick,
                answered_policy, answered_wdl, answered_steps, settled_at, MAX_MOVES,
            )  # fmt: skip
            last = taken
        tl.debug_barrier()  # the next step reads what other threads of this program have stored
