"""Triton kernels of the residual tower: stem at admission, then one time step of all its layers.

The definition is ``snn/integer/integer_net.py`` and ``snn/modules/neuron.py``; numbers are int32 in
units of 2^-F. A program takes a tile of boards through every layer, so a time step is one launch:
spikes and stream of a tile stay in the caches of the multiprocessor that made them, and only
membranes and x0 come from memory. A convolution is an implicit GEMM: rows are squares, columns
output channels, and K runs over (tap, input channel) in pieces of the size of the matrix units.

    slot       index of a question for all its time steps: membranes, x0
    position   index of its slot in the list of busy slots, in this step: spikes, stream

Decision 114.
"""

# mypy: disable-error-code="no-untyped-def,misc"

import triton
import triton.language as tl

SQUARES = tl.constexpr(64)
TAPS = tl.constexpr(9)
PLANES_AT_ONCE = tl.constexpr(32)
"""Input planes a matrix product takes; the planes are padded to a multiple of it."""
MAX_ACTION = tl.constexpr(73 * 64 - 1)
RELU_BITS = tl.constexpr(6)
"""An activation is an int8 in units of 2^-6."""


@triton.jit
def lif(pointers, mask, fresh, current, GRID_BITS: tl.constexpr, relu):
    """Outputs of neurons: spikes 0 or 1, membranes updated in place; or, where ``relu``, int8
    activations.

    pointers: of the membranes; fresh: neurons of a new question, whose membrane counts as 0
    whatever is stored; relu: a constant, or a number that is known when the kernel runs.
    """
    if relu:
        fired = tl.minimum(tl.maximum(current >> (GRID_BITS - RELU_BITS), 0), 127)
    else:
        threshold: tl.constexpr = 1 << GRID_BITS
        old = tl.load(pointers, mask=mask & (fresh == 0), other=0).to(tl.int32)
        charged = (old >> 1) + current
        spikes = charged > tl.where(old > threshold, 2 * threshold, threshold)
        tl.store(pointers, tl.where(spikes, charged - threshold, charged), mask=mask)
        fired = spikes.to(tl.int32)
    return fired


@triton.jit
def to_current(total, shift, bias, FROM_ACTIVATIONS: tl.constexpr):
    """The current of a weighted sum: scale 2^(F - k), bias, units 2^-F."""
    scaled = total << shift
    if FROM_ACTIVATIONS:
        scaled = scaled >> RELU_BITS
    return scaled + bias


@triton.jit
def step_of_tap(tap):
    """(rank step, file step) of a tap, each -1, 0 or 1."""
    return tap // 3 - 1, tap % 3 - 1


@triton.jit
def is_on_board(square, up, right):
    """True where the square ``up`` ranks and ``right`` files from ``square`` exists."""
    rank, file = square // 8 + up, square % 8 + right
    return (rank >= 0) & (rank < 8) & (file >= 0) & (file < 8)


@triton.jit
def convolve(
    source, lane, square, occupied, weight, outputs,
    CHANNELS: tl.constexpr, INPUTS: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    """int32[rows, outputs]: 3x3 sums over ``source`` int8[rows, C]; a row is a square of a board.

    weight: one layer, int8[9, C, C], output-major, so that K lies contiguous for both operands,
    as 8-bit matrix units want it.
    """
    inputs = tl.arange(0, INPUTS)
    PIECES: tl.constexpr = CHANNELS // INPUTS
    total = tl.zeros((lane.shape[0], outputs.shape[0]), tl.int32)
    for piece in range(TAPS * PIECES):
        tap = piece // PIECES
        first = (piece - tap * PIECES) * INPUTS
        up, right = step_of_tap(tap)
        seen = (occupied & is_on_board(square, up, right))[:, None]
        at = (lane + up * 8 + right) * CHANNELS + first
        # nine taps read the same spikes: 8 bytes at a time they come by way of the
        # multiprocessor's own cache (cp.async.ca), 16 at a time pass it by (cp.async.cg)
        rows = source + at[:, None] + tl.max_contiguous(inputs, BYTES)[None, :]
        fired = tl.load(rows, mask=seen, other=0, cache_modifier=".ca")
        columns = weight + (tap * CHANNELS + outputs) * CHANNELS + first
        synapses = tl.load(columns[None, :] + inputs[:, None])
        total = tl.dot(fired, synapses, total, out_dtype=tl.int32)
    return total


@triton.jit
def lif_epilogue(
    total, first, target, stream, membrane, shift, bias, lane, occupied, fresh,
    RESIDUAL: tl.constexpr, CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr,
    FROM_ACTIVATIONS: tl.constexpr, SLICE: tl.constexpr, relu,
):  # fmt: skip
    """target = LIF(current of ``total``), or with RESIDUAL of the stream that it is added to.

    Works on SLICE output channels at a time: a thread then holds few membranes and addresses
    besides its sums, and none of them leave its registers.
    """
    WIDTH: tl.constexpr = total.shape[1]
    if WIDTH > SLICE:
        halves = tl.permute(tl.reshape(total, (total.shape[0], 2, WIDTH // 2)), (0, 2, 1))
        left, right = tl.split(halves)
        lif_epilogue(
            left, first, target, stream, membrane, shift, bias, lane, occupied, fresh,
            RESIDUAL, CHANNELS, GRID_BITS, FROM_ACTIVATIONS, SLICE, relu,
        )  # fmt: skip
        lif_epilogue(
            right, first + WIDTH // 2, target, stream, membrane, shift, bias, lane, occupied, fresh,
            RESIDUAL, CHANNELS, GRID_BITS, FROM_ACTIVATIONS, SLICE, relu,
        )  # fmt: skip
    else:
        mask = occupied[:, None]
        columns = first + tl.arange(0, WIDTH)
        shifts, biases = tl.load(shift + columns)[None, :], tl.load(bias + columns)[None, :]
        current = to_current(total, shifts, biases, FROM_ACTIVATIONS)
        here = lane[:, None] * CHANNELS + columns[None, :]
        if RESIDUAL:
            current += tl.load(stream + here, mask=mask, other=0).to(tl.int32)
            tl.store(stream + here, current, mask=mask)
        neurons = membrane[:, None] + columns[None, :]
        fired = lif(neurons, mask, fresh[:, None], current, GRID_BITS, relu)
        tl.store(target + here, fired.to(tl.int8), mask=mask)


@triton.jit
def half_block(
    layer, source, target, stream, membrane, weight, shift, bias, lane, square, occupied, fresh,
    RESIDUAL: tl.constexpr, CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr,
    FROM_ACTIVATIONS: tl.constexpr, OUTPUTS: tl.constexpr, INPUTS: tl.constexpr,
    SLICE: tl.constexpr, BYTES: tl.constexpr, relu,
):  # fmt: skip
    """A 3x3 convolution of ``source`` and the neurons behind it; see ``lif_epilogue``."""
    layer_weight = weight + layer * TAPS * CHANNELS * CHANNELS
    for first in range(0, CHANNELS, OUTPUTS):
        outputs = first + tl.arange(0, OUTPUTS)
        total = convolve(
            source, lane, square, occupied, layer_weight, outputs, CHANNELS, INPUTS, BYTES
        )
        lif_epilogue(
            total, first, target, stream, membrane,
            shift + layer * CHANNELS, bias + layer * CHANNELS, lane, occupied, fresh,
            RESIDUAL, CHANNELS, GRID_BITS, FROM_ACTIVATIONS, SLICE, relu,
        )  # fmt: skip
    tl.debug_barrier()  # the next layer reads what other threads of this program have written


@triton.jit
def input_neurons(
    input_current, stream, spikes, membrane, lane, occupied, fresh,
    CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr, RELU: tl.constexpr, SLICE: tl.constexpr,
):  # fmt: skip
    """stream = x0, spikes = LIF(x0), SLICE channels at a time; input_current: x0 by row."""
    mask = occupied[:, None]
    for first in range(0, CHANNELS, SLICE):
        outputs = first + tl.arange(0, SLICE)[None, :]
        current = tl.load(input_current[:, None] + outputs, mask=mask, other=0).to(tl.int32)
        here = lane[:, None] * CHANNELS + outputs
        tl.store(stream + here, current, mask=mask)
        neurons = membrane[:, None] + outputs
        fired = lif(neurons, mask, fresh[:, None], current, GRID_BITS, RELU)
        tl.store(spikes + here, fired.to(tl.int8), mask=mask)
    tl.debug_barrier()


@triton.jit
def advance_tower(
    active, num_active, steps, input_current, membranes, weight, shift, bias,
    stream, spikes, spikes_inside,
    BLOCKS: tl.constexpr, CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr,
    RELU: tl.constexpr, GRADED: tl.constexpr, BOARDS: tl.constexpr, OUTPUTS: tl.constexpr,
    INPUTS: tl.constexpr, SLICE: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    """One time step of the tower for a tile of BOARDS busy slots; grid: positions / BOARDS.

    active: int32[S] busy slots, num_active: int32[1], steps: int32[S] taken so far (0: membranes
    count as silent), input_current: int[S, 64, C] (x0), membranes: int[S, 2 * blocks + 1, 64, C],
    one less where the result is graded, weight: int8[2 * blocks, 9, C, C], shift, bias:
    int32[2 * blocks, C]. By position: stream int[S, 64, C], spikes_inside int8[S, 64, C] and, the
    result, spikes int8[S, 64, C].
    """
    count = tl.load(num_active)
    tile = tl.program_id(0) * BOARDS
    if tile >= count:
        return
    lane = tl.arange(0, BOARDS * SQUARES)
    position, square = tile + lane // SQUARES, lane % SQUARES
    occupied = position < count
    slot = tl.load(active + position, mask=occupied, other=0).to(tl.int64)
    fresh = tl.load(steps + slot, mask=occupied, other=0) == 0
    LAYERS: tl.constexpr = 2 * BLOCKS + (0 if GRADED else 1)
    BOARD: tl.constexpr = SQUARES * CHANNELS
    membrane = membranes + slot * LAYERS * BOARD + square * CHANNELS
    first_board = tile.to(tl.int64) * BOARD
    stream += first_board
    spikes += first_board
    spikes_inside += first_board
    input_neurons(
        input_current + slot * BOARD + square * CHANNELS, stream, spikes, membrane,
        lane, occupied, fresh, CHANNELS, GRID_BITS, RELU, SLICE,
    )  # fmt: skip
    for block in range(BLOCKS):
        half_block(
            2 * block, spikes, spikes_inside, stream, membrane + (2 * block + 1) * BOARD,
            weight, shift, bias, lane, square, occupied, fresh,
            False, CHANNELS, GRID_BITS, RELU, OUTPUTS, INPUTS, SLICE, BYTES, RELU,
        )  # fmt: skip
        half_block(
            2 * block + 1, spikes_inside, spikes, stream, membrane + (2 * block + 2) * BOARD,
            weight, shift, bias, lane, square, occupied, fresh,
            True, CHANNELS, GRID_BITS, RELU, OUTPUTS, INPUTS, SLICE, BYTES,
            block == BLOCKS - 1 if GRADED else RELU,
        )  # fmt: skip


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
