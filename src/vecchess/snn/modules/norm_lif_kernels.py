"""Triton kernels of ``norm_lif_triton``: statistics, forward, and the two parts of the backward.

A program takes SQUARES squares of a board, ROWS at a time, and LANES channels, a power of two. Its
sums are one number for each channel.
"""

# mypy: disable-error-code="no-untyped-def,misc"

import triton
import triton.language as tl

from vecchess.snn.modules.lif_triton import charge, derivative, discharge


@triton.jit
def moments(
    currents, means, squares, step, num_channels,
    STEPS: tl.constexpr, SQUARES: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Mean of each channel over a part, and squared distances from it; grid: parts.

    currents: [T, parts * SQUARES, C], ``step`` numbers apart; means, squares: float32[parts, C].
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    is_channel = lanes < num_channels
    begin = currents + part * SQUARES * num_channels + lanes[None, :]
    begin += tl.arange(0, ROWS)[:, None] * num_channels
    mask = is_channel[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    total = tl.zeros((ROWS, LANES), tl.float32)
    for tile in range(SQUARES // ROWS):
        source = begin + tile * ROWS * num_channels
        for _ in tl.static_range(STEPS):
            total += tl.load(source, mask=mask, other=0.0).to(tl.float32)
            source += step
    mean = tl.sum(total, axis=0) / (STEPS * SQUARES)
    total = tl.zeros((ROWS, LANES), tl.float32)
    for tile in range(SQUARES // ROWS):
        source = begin + tile * ROWS * num_channels
        for _ in tl.static_range(STEPS):
            apart = tl.load(source, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
            total += apart * apart
            source += step
    tl.store(means + part * num_channels + lanes, mean, mask=is_channel)
    tl.store(squares + part * num_channels + lanes, tl.sum(total, axis=0), mask=is_channel)


@triton.jit
def norm_lif_forward(
    currents, shortcut, gain, bias, before, summed, spikes, after, counts,
    step, step_of_shortcut, num, num_channels, parts_of_group,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr, SQUARES: tl.constexpr, ROWS: tl.constexpr,
    LANES: tl.constexpr,
):  # fmt: skip
    """Normed currents, with a shortcut, through LIF neurons over T steps; grid: parts.

    In: currents [T, num], ``step`` numbers apart; shortcut float32[T, num] or None; gain, bias:
    float32[groups, C]; before: float32[num]. Out: summed float32[T, num], what the neurons got,
    where there is a shortcut; spikes [T, num]; after float32[num]; counts int32[parts].
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    of_channel = part // parts_of_group * num_channels + lanes
    gains = tl.load(gain + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    biases = tl.load(bias + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    mask = (lanes < num_channels)[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    count = tl.zeros((ROWS, LANES), tl.int32)
    for tile in range(SQUARES // ROWS):
        rows = part * SQUARES + tile * ROWS + tl.arange(0, ROWS)
        at = rows[:, None] * num_channels + lanes[None, :]
        source, target, added, written = currents + at, spikes + at, shortcut, summed
        if shortcut is not None:
            added += at
            written += at
        membrane = tl.load(before + at, mask=mask, other=0.0)
        for _ in tl.static_range(STEPS):
            current = tl.load(source, mask=mask, other=0.0).to(tl.float32) * gains + biases
            if shortcut is not None:
                current = tl.load(added, mask=mask, other=0.0) + current
                tl.store(written, current, mask=mask)
                added += step_of_shortcut
                written += num
            charged, excess = charge(membrane, current, GRID_BITS)
            fired = (excess > 0.0) & mask
            tl.store(target, fired.to(tl.float32).to(spikes.dtype.element_ty), mask=mask)
            count += fired.to(tl.int32)
            membrane = discharge(charged, excess)
            source += step
            target += num
        tl.store(after + at, membrane, mask=mask)
    tl.store(counts + part, tl.sum(tl.sum(count, axis=0), axis=0))


@triton.jit
def charged_anew(
    currents, shortcut, before, at, mask, gains, biases, step, step_of_shortcut,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr,
):  # fmt: skip
    """What of T steps' membranes was above the threshold, of the neurons ``at``."""
    membrane = tl.load(before + at, mask=mask, other=0.0)
    excesses = ()
    for _ in tl.static_range(STEPS):
        current = tl.load(currents + at, mask=mask, other=0.0).to(tl.float32) * gains + biases
        currents += step
        if shortcut is not None:
            current = tl.load(shortcut + at, mask=mask, other=0.0) + current
            shortcut += step_of_shortcut
        charged, excess = charge(membrane, current, GRID_BITS)
        excesses = excesses + (excess,)  # type: ignore[assignment]  # noqa: RUF005
        membrane = discharge(charged, excess)
    return excesses


@triton.jit
def gone_back(
    excesses, carried, currents, middle, of_spikes, share, of_summed, of_sums, at, mask,
    step, step_of_spikes, step_of_summed, num,
    STEPS: tl.constexpr, KIND: tl.constexpr, SLOPE: tl.constexpr,
):  # fmt: skip
    """Gradients of T steps into of_sums; returns, of the neurons ``at``, their sum over the steps,
    that of them times the currents' distance from the mean, and what membranes before get."""
    total, product = tl.zeros_like(carried), tl.zeros_like(carried)
    last = tl.full((), STEPS - 1, tl.int64)
    for back in tl.static_range(STEPS):
        now = last - back
        gradient = tl.zeros_like(carried)
        if of_spikes is not None:
            upstream = of_spikes + now * step_of_spikes + at
            gradient += tl.load(upstream, mask=mask, other=0.0).to(tl.float32)
        if share is not None:
            gradient += tl.load(share)
        gradient = gradient * derivative(excesses[STEPS - 1 - back], KIND, SLOPE) + carried
        carried = gradient * 0.5
        if of_summed is not None:
            gradient += tl.load(of_summed + now * step_of_summed + at, mask=mask, other=0.0)
        gradient = tl.where(mask, gradient, 0.0)
        tl.store(of_sums + now * num + at, gradient, mask=mask)
        current = tl.load(currents + now * step + at, mask=mask, other=0.0).to(tl.float32)
        total += gradient
        product += gradient * (current - middle)
    return total, product, carried


@triton.jit
def norm_lif_backward(
    currents, shortcut, gain, bias, mean, before, of_spikes, share, of_after, of_summed,
    of_sums, of_bias, of_gain, of_before,
    step, step_of_shortcut, step_of_spikes, step_of_summed, num, num_channels, parts_of_group,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr, KIND: tl.constexpr, SLOPE: tl.constexpr,
    SQUARES: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Gradients of what the neurons got, back through time, and their sums; grid: parts.

    In: as the forward, mean float32[groups, C], and as ``lif_backward``; of_summed [T, num], of the
    result. Out: of_sums float32[T, num]; for each part and channel of_bias, the sum of these, and
    of_gain, that of them times the currents' distance from the mean; of_before float32[num].
    Pointers of what is not there are None.
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    is_channel = lanes < num_channels
    of_channel = part // parts_of_group * num_channels + lanes
    gains = tl.load(gain + of_channel, mask=is_channel, other=0.0)[None, :]
    biases = tl.load(bias + of_channel, mask=is_channel, other=0.0)[None, :]
    middle = tl.load(mean + of_channel, mask=is_channel, other=0.0)[None, :]
    mask = is_channel[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    total = tl.zeros((ROWS, LANES), tl.float32)
    product = tl.zeros((ROWS, LANES), tl.float32)
    for tile in range(SQUARES // ROWS):
        rows = part * SQUARES + tile * ROWS + tl.arange(0, ROWS)
        at = rows[:, None] * num_channels + lanes[None, :]
        excesses = charged_anew(
            currents, shortcut, before, at, mask, gains, biases, step, step_of_shortcut,
            STEPS, GRID_BITS,
        )  # fmt: skip
        carried = tl.zeros((ROWS, LANES), tl.float32)
        if of_after is not None:
            carried += tl.load(of_after + at, mask=mask, other=0.0)
        added, multiplied, carried = gone_back(
            excesses, carried, currents, middle, of_spikes, share, of_summed, of_sums, at, mask,
            step, step_of_spikes, step_of_summed, num, STEPS, KIND, SLOPE,
        )  # fmt: skip
        total, product = total + added, product + multiplied
        if of_before is not None:
            tl.store(of_before + at, carried, mask=mask)
    at = part * num_channels + lanes
    tl.store(of_bias + at, tl.sum(total, axis=0), mask=is_channel)
    tl.store(of_gain + at, tl.sum(product, axis=0), mask=is_channel)


@triton.jit
def norm_backward(
    currents, of_sums, gain, slope, offset, of_currents, step, num, num_channels, parts_of_group,
    STEPS: tl.constexpr, SQUARES: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """of_currents [T, num] = of_sums * gain + currents * slope + offset; grid: parts.

    gain, slope, offset: float32[groups, C]; of_currents is of the currents' type.
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    of_channel = part // parts_of_group * num_channels + lanes
    gains = tl.load(gain + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    slopes = tl.load(slope + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    offsets = tl.load(offset + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    mask = (lanes < num_channels)[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    for tile in range(SQUARES // ROWS):
        rows = part * SQUARES + tile * ROWS + tl.arange(0, ROWS)
        at = rows[:, None] * num_channels + lanes[None, :]
        source, upstream, target = currents + at, of_sums + at, of_currents + at
        for _ in tl.static_range(STEPS):
            current = tl.load(source, mask=mask, other=0.0).to(tl.float32)
            gradient = tl.load(upstream, mask=mask, other=0.0)
            found = gradient * gains + current * slopes + offsets
            tl.store(target, found.to(of_currents.dtype.element_ty), mask=mask)
            source += step
            upstream += num
            target += num
