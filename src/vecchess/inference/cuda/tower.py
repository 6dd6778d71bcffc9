"""Triton kernel of the residual tower: time steps of all its layers.

The definition is ``snn/integer/integer_net.py`` and ``snn/modules/neuron.py``; numbers are int32 in
units of 2^-F. A program takes a tile of boards through every layer, so STEPS time steps are one
launch: spikes and stream of a tile stay in the caches of the multiprocessor that made them, and
only membranes and x0 come from memory. Layer by layer, a launch computes the sums of all its time
steps and then takes the neurons through these steps, membranes in registers. A convolution is an
implicit GEMM: rows are squares, columns output channels, and K runs over (tap, input channel) in
pieces of the size of the matrix units.

    slot       index of a question for all its time steps: membranes, x0
    position   index of its slot in the list of busy slots, in this launch: spikes, stream
    row        a square of a board of the tile, at one time step; the earlier steps come first

A matrix product leaves its sums in an order of its own: warp w holds rows 16 w to 16 w + 15, and a
thread two neighbouring columns of rows that are 8 apart. So that sums meet membranes in the
registers of one thread, rows and channels are dealt to the product in an order
(``product_rows``, ``product_columns``) in which, put back (``in_order``), a thread has what it
loads and stores: four neighbouring channels. Results do not depend on it, only the speed does.

Decisions 114 and 243.
"""

# mypy: disable-error-code="no-untyped-def,misc,assignment"

import triton
import triton.language as tl

SQUARES = tl.constexpr(64)
TAPS = tl.constexpr(9)
RELU_BITS = tl.constexpr(6)
"""An activation is an int8 in units of 2^-6."""
GROUP = tl.constexpr(16)
"""Output channels that four neighbouring threads hold together."""
CHANNELS_A_THREAD = tl.constexpr(4)
"""Neighbouring channels of one access: one value for all types, or sums would change threads."""


@triton.jit
def activation(current, GRID_BITS: tl.constexpr):
    """An int8 activation, as int32."""
    return tl.minimum(tl.maximum(current >> (GRID_BITS - RELU_BITS), 0), 127)


@triton.jit
def lif(membrane, current, GRID_BITS: tl.constexpr):
    """(spikes 0 or 1, membranes) after a time step of neurons."""
    threshold: tl.constexpr = 1 << GRID_BITS
    charged = (membrane >> 1) + current
    spikes = charged > tl.where(membrane > threshold, 2 * threshold, threshold)
    return spikes.to(tl.int32), tl.where(spikes, charged - threshold, charged)


@triton.jit
def neurons(membrane, current, GRID_BITS: tl.constexpr, relu):
    """(outputs, membranes): of ``lif``, or where ``relu`` int8 activations, which leave membranes.

    relu: a constant, or a number that is known when the kernel runs.
    """
    if relu:
        fired = activation(current, GRID_BITS)
    else:
        fired, membrane = lif(membrane, current, GRID_BITS)
    return fired, membrane


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
def product_rows(rows, WARPS: tl.constexpr):
    """``rows`` in the order in which a product of WARPS warps, one below the other, takes them."""
    NUM: tl.constexpr = rows.shape[0]
    dealt = tl.reshape(rows, (NUM // (16 * WARPS), 2, WARPS, 8))
    return tl.reshape(tl.permute(dealt, (0, 2, 1, 3)), (NUM,))


@triton.jit
def rows_of_tile(
    active, steps, tile, count,
    STEPS: tl.constexpr, TIME_STEPS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """(slot, square, ``tile_rows`` of ``lif_epilogue``) of the rows of one time step."""
    row = tl.arange(0, ROWS)
    board, square = row // SQUARES, row % SQUARES
    occupied = tile + board < count
    slot = tl.load(active + tile + board, mask=occupied, other=0).to(tl.int64)
    taken = tl.load(steps + slot, mask=occupied, other=0)
    reads, writes = occupied & (taken > 0), occupied & (taken + STEPS < TIME_STEPS)
    return slot, square, (board * STEPS * SQUARES + square, occupied, reads, writes)


@triton.jit
def rows_of_all_steps(tile, count, STEPS: tl.constexpr, ROWS: tl.constexpr, WARPS: tl.constexpr):
    """(index in memory, taps) of the rows of a product, as dealt; bit t of taps: tap t sees a
    square of the board, and the slot is busy."""
    row = product_rows(tl.arange(0, STEPS * ROWS), WARPS)
    step, board, square = row // ROWS, row % ROWS // SQUARES, row % SQUARES
    taps = tl.zeros_like(row)
    for tap in tl.static_range(TAPS):
        up, right = step_of_tap(tap)
        taps |= is_on_board(square, up, right).to(tl.int32) << tap
    return (board * STEPS + step) * SQUARES + square, tl.where(tile + board < count, taps, 0)


@triton.jit
def product_columns(columns):
    """Output channels in the order in which a product takes them."""
    NUM: tl.constexpr = columns.shape[0]
    dealt = tl.reshape(columns, (NUM // GROUP, 4, 2, 2))
    return tl.reshape(tl.permute(dealt, (0, 2, 1, 3)), (NUM,))


@triton.jit
def in_order(total, WARPS: tl.constexpr):
    """int32[N / 16, rows, 16] from the sums int32[rows, N] of dealt rows and columns."""
    ROWS: tl.constexpr = total.shape[0]
    GROUPS: tl.constexpr = total.shape[1] // GROUP
    dealt = tl.reshape(total, (ROWS // (16 * WARPS), WARPS, 2, 8, GROUPS, 2, 4, 2))
    return tl.reshape(tl.permute(dealt, (4, 0, 2, 1, 3, 6, 5, 7)), (GROUPS, ROWS, GROUP))


@triton.jit
def convolve(
    source, product, weight, outputs,
    CHANNELS: tl.constexpr, INPUTS: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    """int32[rows, outputs]: 3x3 sums over ``source`` int8[., C]; a row is a square of a board.

    product: see ``rows_of_all_steps``; weight: one layer, int8[9, C, C], output-major, so that K
    lies contiguous for both operands, as 8-bit matrix units want it.
    """
    place, taps = product
    inputs = tl.arange(0, INPUTS)
    from_source = place[:, None] * CHANNELS + inputs[None, :]
    from_weight = outputs[None, :] * CHANNELS + inputs[:, None]
    PIECES: tl.constexpr = CHANNELS // INPUTS
    total = tl.zeros((place.shape[0], outputs.shape[0]), tl.int32)
    # times 1, which the compiler does not know: it would unroll the loop and spill registers
    for piece in range(tl.num_programs(1) * (TAPS * PIECES)):
        tap = piece // PIECES
        first = (piece - tap * PIECES) * INPUTS
        up, right = step_of_tap(tap)
        seen = ((taps & (1 << tap)) != 0)[:, None]
        # nine taps read the same spikes: 8 bytes at a time they come by way of the
        # multiprocessor's own cache (cp.async.ca), 16 at a time pass it by (cp.async.cg)
        rows = source + ((up * 8 + right) * CHANNELS + first)
        rows = rows + tl.max_contiguous(from_source, [1, BYTES])
        fired = tl.load(rows, mask=seen, other=0, cache_modifier=".ca")
        columns = weight + (tap * CHANNELS * CHANNELS + first)
        synapses = tl.load(columns + from_weight)
        total = tl.dot(fired, synapses, total, out_dtype=tl.int32)
    return total


@triton.jit
def groups_of(total):
    """Tuple of int32[rows, 16], a group of channels each, from the sums int32[groups, rows, 16]."""
    GROUPS: tl.constexpr = total.shape[0]
    if GROUPS > 1:
        halves = tl.reshape(total, (2, GROUPS // 2, total.shape[1], GROUP))
        left, right = tl.split(tl.permute(halves, (1, 2, 3, 0)))
        groups = groups_of(left) + groups_of(right)
    else:
        groups = (tl.reshape(total, (total.shape[1], GROUP)),)
    return groups


@triton.jit
def cells_of(rows, columns):
    """[rows, 16]: where a group of channels lies; ``rows``: where each row begins."""
    return tl.max_contiguous(rows[:, None] + columns, [1, CHANNELS_A_THREAD])


@triton.jit
def take_steps(
    total, membrane, at, stream, target, shifts, biases, occupied,
    RESIDUAL: tl.constexpr, CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr,
    FROM_ACTIVATIONS: tl.constexpr, relu,
):  # fmt: skip
    """Membranes int32[rows, 16] after the time steps of ``total``, whose rows are so many times as
    many; ``at``: where the first step's outputs go in ``target``."""
    STEPS: tl.constexpr = total.shape[0] // membrane.shape[0]
    if STEPS > 1:
        halves = tl.reshape(total, (2, total.shape[0] // 2, GROUP))
        early, late = tl.split(tl.permute(halves, (1, 2, 0)))
        membrane = take_steps(
            early, membrane, at, stream, target, shifts, biases, occupied,
            RESIDUAL, CHANNELS, GRID_BITS, FROM_ACTIVATIONS, relu,
        )  # fmt: skip
        membrane = take_steps(
            late, membrane, at + STEPS // 2 * SQUARES * CHANNELS, stream, target, shifts, biases,
            occupied, RESIDUAL, CHANNELS, GRID_BITS, FROM_ACTIVATIONS, relu,
        )  # fmt: skip
    else:
        current = to_current(total, shifts, biases, FROM_ACTIVATIONS)
        if RESIDUAL:
            current += tl.load(stream + at, mask=occupied, other=0).to(tl.int32)
            tl.store(stream + at, current, mask=occupied)
        fired, membrane = neurons(membrane, current, GRID_BITS, relu)
        tl.store(target + at, fired.to(tl.int8), mask=occupied)
    return membrane


@triton.jit
def lif_epilogue(
    total, first, target, stream, membrane, shift, bias, tile_rows,
    RESIDUAL: tl.constexpr, CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr,
    FROM_ACTIVATIONS: tl.constexpr, SLICE: tl.constexpr, relu,
):  # fmt: skip
    """target = LIF(current of ``total``), or with RESIDUAL of the stream that it is added to.

    total: int32[groups, steps * rows, 16], see ``in_order``, of channels from ``first`` on;
    tile_rows: (index in ``target`` at the first step, whether there is such a row, whether its
    membranes are read, and written), of each row of one time step. Works on SLICE output channels
    at a time: a thread then holds few membranes and addresses besides its sums.
    """
    place, occupied, reads, writes = tile_rows
    lasting = relu == 0
    reads, writes = reads[:, None] & lasting, writes[:, None] & lasting
    columns = first + tl.arange(0, GROUP)[None, :]
    sums = groups_of(total)
    AT_ONCE: tl.constexpr = SLICE // GROUP
    for begin in tl.static_range(0, total.shape[0], AT_ONCE):
        held = ()
        for group in tl.static_range(AT_ONCE):  # all are on their way before one is waited for
            cells = cells_of(membrane, columns + (begin + group) * GROUP)
            held += (tl.load(cells, mask=reads, other=0).to(tl.int32),)
        for group in tl.static_range(AT_ONCE):
            here = columns + (begin + group) * GROUP
            after = take_steps(
                sums[begin + group], held[group], cells_of(place * CHANNELS, here), stream, target,
                tl.load(shift + here), tl.load(bias + here), occupied[:, None],
                RESIDUAL, CHANNELS, GRID_BITS, FROM_ACTIVATIONS, relu,
            )  # fmt: skip
            tl.store(cells_of(membrane, here), after, mask=writes)


@triton.jit
def half_block(
    layer, source, target, stream, membrane, weight, shift, bias, product, tile_rows,
    RESIDUAL: tl.constexpr, CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr,
    FROM_ACTIVATIONS: tl.constexpr, OUTPUTS: tl.constexpr, INPUTS: tl.constexpr,
    SLICE: tl.constexpr, BYTES: tl.constexpr, WARPS: tl.constexpr, relu,
):  # fmt: skip
    """A 3x3 convolution of ``source`` and the neurons behind it; see ``lif_epilogue``."""
    layer_weight = weight + layer * TAPS * CHANNELS * CHANNELS
    outputs = product_columns(tl.arange(0, OUTPUTS))
    # times 1, see ``convolve``: what the neurons need would be kept in registers meanwhile
    for first in range(0, tl.num_programs(1) * CHANNELS, OUTPUTS):
        total = convolve(source, product, layer_weight, first + outputs, CHANNELS, INPUTS, BYTES)
        lif_epilogue(
            in_order(total, WARPS), first, target, stream, membrane,
            shift + layer * CHANNELS, bias + layer * CHANNELS, tile_rows,
            RESIDUAL, CHANNELS, GRID_BITS, FROM_ACTIVATIONS, SLICE, relu,
        )  # fmt: skip
    tl.debug_barrier()  # the next layer reads what other threads of this program have written


@triton.jit
def input_neurons(
    input_current, stream, spikes, membrane, tile_rows,
    CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr, RELU: tl.constexpr, SLICE: tl.constexpr,
    STEPS: tl.constexpr,
):  # fmt: skip
    """stream = x0, spikes = LIF(x0), SLICE channels at a time; input_current: x0 by row."""
    place, occupied, reads, writes = tile_rows
    mask = occupied[:, None]
    for first in range(0, CHANNELS, SLICE):
        outputs = first + tl.arange(0, SLICE)[None, :]
        current = tl.load(input_current[:, None] + outputs, mask=mask, other=0).to(tl.int32)
        cells = tl.max_contiguous(membrane[:, None] + outputs, [1, CHANNELS_A_THREAD])
        held = tl.load(cells, mask=reads[:, None] & (RELU == 0), other=0).to(tl.int32)
        at = tl.max_contiguous(place[:, None] * CHANNELS + outputs, [1, CHANNELS_A_THREAD])
        for step in tl.static_range(STEPS):
            here = at + step * SQUARES * CHANNELS
            tl.store(stream + here, current, mask=mask)
            fired, held = neurons(held, current, GRID_BITS, RELU)
            tl.store(spikes + here, fired.to(tl.int8), mask=mask)
        tl.store(cells, held, mask=writes[:, None] & (RELU == 0))
    tl.debug_barrier()


@triton.jit
def advance_tower(
    active, num_active, steps, input_current, membranes, weight, shift, bias,
    stream, spikes, spikes_inside,
    BLOCKS: tl.constexpr, CHANNELS: tl.constexpr, GRID_BITS: tl.constexpr,
    RELU: tl.constexpr, GRADED: tl.constexpr, TIME_STEPS: tl.constexpr, BOARDS: tl.constexpr,
    OUTPUTS: tl.constexpr, INPUTS: tl.constexpr, SLICE: tl.constexpr, BYTES: tl.constexpr,
    STEPS: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """STEPS time steps of the tower for a tile of BOARDS busy slots; grid: positions / BOARDS.

    active: int32[S] busy slots, num_active: int32[1], steps: int32[S] taken so far (0: membranes
    count as silent), input_current: int[S, 64, C] (x0), membranes: int[S, 2 * blocks + 1, 64, C],
    one less where the result is graded, weight: int8[2 * blocks, 9, C, C], shift, bias:
    int32[2 * blocks, C]. By position and step: stream int[S, STEPS, 64, C], spikes_inside
    int8[S, STEPS, 64, C] and, the result, spikes int8[S, STEPS, 64, C]. Membranes of a slot that
    has no step left are not written. Of steps beyond TIME_STEPS the result means nothing.
    """
    count = tl.load(num_active)
    tile = tl.program_id(0) * BOARDS
    if tile >= count:
        return
    ROWS: tl.constexpr = BOARDS * SQUARES
    slot, square, tile_rows = rows_of_tile(active, steps, tile, count, STEPS, TIME_STEPS, ROWS)
    product = rows_of_all_steps(tile, count, STEPS, ROWS, WARPS)
    LAYERS: tl.constexpr = 2 * BLOCKS + (0 if GRADED else 1)
    BOARD: tl.constexpr = SQUARES * CHANNELS
    membrane = membranes + slot * LAYERS * BOARD + square * CHANNELS
    first_board = tile.to(tl.int64) * STEPS * BOARD
    stream += first_board
    spikes += first_board
    spikes_inside += first_board
    input_neurons(
        input_current + slot * BOARD + square * CHANNELS, stream, spikes, membrane, tile_rows,
        CHANNELS, GRID_BITS, RELU, SLICE, STEPS,
    )  # fmt: skip
    for block in range(BLOCKS):
        half_block(
            2 * block, spikes, spikes_inside, stream, membrane + (2 * block + 1) * BOARD,
            weight, shift, bias, product, tile_rows,
            False, CHANNELS, GRID_BITS, RELU, OUTPUTS, INPUTS, SLICE, BYTES, WARPS, RELU,
        )  # fmt: skip
        half_block(
            2 * block + 1, spikes_inside, spikes, stream, membrane + (2 * block + 2) * BOARD,
            weight, shift, bias, product, tile_rows,
            True, CHANNELS, GRID_BITS, RELU, OUTPUTS, INPUTS, SLICE, BYTES, WARPS,
            block == BLOCKS - 1 if GRADED else RELU,
        )  # fmt: skip
