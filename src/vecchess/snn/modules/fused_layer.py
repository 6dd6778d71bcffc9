"""A layer in one pass on the processor: sums over spikes, ghost norm, shortcut and LIF neurons.

A group of boards goes through the whole layer while it is in the cache; see
``kernels/layer_cpu.py``.

Decision 231.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.kernels.layer_cpu import (
    BOARDS,
    Gradients,
    Neurons,
    Norm,
    Results,
    SynapseGradients,
    Synapses,
    Upstream,
    fire_groups,
    fire_groups_backward,
)
from vecchess.snn.kernels.parallel_for import by_board, distinct_steps, parallel_for
from vecchess.snn.kernels.sparse_sums import GRADIENT_WIDTH, TOGETHER
from vecchess.snn.kernels.surrogate import DEFAULT_SURROGATE, SURROGATES, Surrogate
from vecchess.snn.kernels.winograd import HAS_PAIRS
from vecchess.snn.modules.bf16_products import asks_for_bf16
from vecchess.snn.modules.convolution import by_input, by_tap, transformed, winograd_blocks
from vecchess.snn.modules.neuron import LifOutput, Spikes
from vecchess.snn.topology import NUM_TAPS

EPSILON = 1e-5
"""Added to a variance."""
GROUP = 32
"""Boards whose statistics normalise each other, and that go through a layer together."""
ROW = 1024
"""The longest stretch of a board that goes through everything before the next one does."""
_NO_BOARDS, _NO_ROWS = np.empty((0, 0, 0), np.float32), np.empty((0, 0), np.float32)
_NO_MASKS, _NO_WEIGHT = np.empty((0, 0, 0), np.uint32), np.empty(0, np.float32)


class FusedJob(NamedTuple):
    """What a layer does: T steps of ``group`` boards at a time; its neurons; whether their spikes
    are packed, and whether its currents are a result."""

    num_steps: int
    group: int = GROUP
    grid_bits: int = 1
    surrogate: Surrogate = SURROGATES[DEFAULT_SURROGATE]
    packed: bool = True
    keeps_currents: bool = False


class FusedOutput(NamedTuple):
    """currents: [T, B, ..., C], or [0, ...] if not wanted; fired: of the neurons; mean, variance:
    float64[groups, C], without gradients."""

    currents: Tensor
    fired: LifOutput
    mean: Tensor
    variance: Tensor


class _FusedLayer(Function):
    """Spikes and a weight, or currents [S, B, ..., C], S = T or 1 for the same at every step ->
    currents, spikes, membrane, rate, masks, mean and variance.

    Gradients are written over currents that were kept, so they can be asked for once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        masks: Tensor | None,
        weight: Tensor | None,
        bias: Tensor | None,
        shortcut: Tensor | None,
        gain: Tensor | None,
        offset: Tensor | None,
        before: Tensor | None,
        job: FusedJob,
    ) -> tuple[Tensor, ...]:
        if weight is None:
            values = inputs.contiguous()
        else:
            values = torch.empty(*inputs.shape[:-1], len(weight))
        board, fires = values.shape[1:], job.num_steps if before is not None else 0
        currents = torch.empty(job.num_steps if job.keeps_currents else 0, *board)
        spikes = torch.empty(0 if job.packed else fires, *board)
        fired = torch.empty(fires, board[0], board[1:].numel() // 32, dtype=torch.int32)
        after = torch.empty(board if fires else (0, 0))
        norm = _norm(gain, offset, -(-board[0] // job.group))
        counts = np.empty(len(norm.mean), np.int64)
        bits = fired.numpy().view("u4"), after.flatten(1).numpy(), counts
        results = Results(_boards(currents), _boards(spikes), *bits)
        read = norm, _neurons(before, job), by_board(values), _boards(shortcut), job.group

        def work(begin: int, end: int) -> None:
            rows = torch.empty(6, _row(board)).numpy()
            fire_groups(_synapses(masks, weight, bias), *read, begin, end, rows, results)

        parallel_for(work, len(counts))
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(values, masks, weight, bias, shortcut, currents, before)
        in_pairs = HAS_PAIRS and asks_for_bf16("cpu")
        ctx.norm, ctx.job, ctx.is_spent, ctx.in_pairs = norm, job, False, in_pairs
        out = torch.zeros(()).expand(fires, *board) if job.packed else spikes
        rate = torch.tensor(counts.sum() / max(1, out.numel()), dtype=torch.float32)
        statistics = torch.from_numpy(norm.mean), torch.from_numpy(norm.variance)
        ctx.mark_non_differentiable(fired, *statistics)
        return currents, out, after, rate, fired, *statistics

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        values, masks, weight, bias, shortcut, currents, before = ctx.saved_tensors
        if ctx.is_spent:
            raise RuntimeError("the gradients of this layer have been computed already")
        ctx.is_spent = True
        norm, job, board = ctx.norm, ctx.job, values.shape[1:]
        of_before, upstream = _upstream(gradients, ctx.needs_input_grad[7], board, job)
        of_shortcut = _shortcut_gradient(shortcut, currents, before, gradients[0])
        to_shortcut = None if before is None else of_shortcut
        channels = board[-1] if weight is None else weight.shape[1] // NUM_TAPS
        of_inputs = torch.empty(*values.shape[:-1], channels)
        of_weight = _zero_sums(len(norm.mean), weight)
        of_affine = np.empty((2, len(norm.mean), board[-1]))
        kernel = None if weight is None else transformed(weight, ctx.in_pairs)
        read = norm, _neurons(before, job), by_board(values), _boards(currents), upstream

        def work(begin: int, end: int) -> None:
            rows = torch.empty(7, _row(board)).numpy()
            grads = torch.empty(job.num_steps, rows.shape[1]).numpy()
            found = by_board(of_inputs)
            if weight is not None:
                found = torch.empty(len(values), job.group, board[1:].numel()).numpy()
            written = Gradients(of_affine[0], of_affine[1], _boards(to_shortcut), found)
            synapses = _synapse_gradients(masks, kernel, of_weight, of_inputs)
            fire_groups_backward(*read, job.group, begin, end, rows, grads, written, synapses)

        parallel_for(work, len(norm.mean))
        of_gain, of_offset = (torch.from_numpy(part.sum(0)).float() for part in of_affine)
        is_normed = len(norm.gain) > 0
        return (
            of_inputs, None, None if weight is None else by_input(of_weight.sum(0)),
            None if bias is None else of_offset, of_shortcut, of_gain if is_normed else None,
            of_offset if is_normed else None, of_before, None,
        )  # fmt: skip


def fuse(
    spikes: Spikes,
    weights: tuple[Tensor, Tensor | None],
    shortcut: Tensor | None,
    affine: tuple[Tensor, Tensor] | None,
    before: Tensor | None,
    job: FusedJob,
) -> FusedOutput:
    """A layer: packed spikes [T, B, 8, 8, I], weight [O, 9 * I] and bias [O], shortcut [T or 1, B,
    8, 8, O], gain and bias of the norm [O], membranes [B, 8, 8, O] where there are neurons."""
    return _output(job, *spikes, *weights, shortcut, *(affine or (None, None)), before)


def fire(currents: Tensor, before: Tensor, job: FusedJob) -> LifOutput:
    """Neurons alone: currents [T or 1, B, ..., C], membranes [B, ..., C]."""
    return _output(job, currents.float(), *[None] * 6, before).fired


def normalise(
    currents: Tensor, shortcut: Tensor | None, gain: Tensor, bias: Tensor, group: int
) -> FusedOutput:
    """A norm alone: currents [T, B, ..., C], normalised, ``shortcut`` [T or 1, ...] added."""
    job = FusedJob(len(currents), group, keeps_currents=True)
    given = None if shortcut is None else distinct_steps(shortcut.float())
    return _output(job, currents.float(), None, None, None, given, gain, bias, None)


def lif_compiled(
    currents: Tensor, membrane: Tensor, grid_bits: int, surrogate: Surrogate
) -> LifOutput:
    """``lif`` on the processor by a numba kernel: the same bits. C is a multiple of 32."""
    return fire(currents, membrane, FusedJob(len(currents), GROUP, grid_bits, surrogate, False))


def _output(job: FusedJob, *given: Tensor | None) -> FusedOutput:
    applied = _FusedLayer.apply(*given, job)  # type: ignore[no-untyped-call]
    currents, values, after, rate, masks, mean, variance = applied
    spikes = Spikes(values, masks if job.packed else None)
    return FusedOutput(currents, LifOutput(spikes, after, rate), mean, variance)


def _upstream(
    gradients: tuple[Tensor | None, ...], is_wanted: bool, board: torch.Size, job: FusedJob
) -> tuple[Tensor | None, Upstream]:
    """The memory of the gradient of the membranes before, and what the kernel reads."""
    of_currents, of_spikes, of_after, of_rate = gradients[:4]
    carried = None
    if of_after is not None:
        carried = of_after.clone(memory_format=torch.contiguous_format)
    elif is_wanted:
        carried = torch.zeros(board)
    share = 0.0 if of_rate is None else of_rate.item() / (job.num_steps * board.numel())
    rows = _NO_ROWS if carried is None else carried.flatten(1).numpy()
    upstream = Upstream(_boards(of_spikes), _boards(of_currents), np.float32(share), rows)
    return carried if is_wanted else None, upstream


def _shortcut_gradient(
    shortcut: Tensor | None, currents: Tensor, before: Tensor | None, upstream: Tensor | None
) -> Tensor | None:
    """Memory for the gradient of the shortcut; without neurons the gradient itself."""
    if shortcut is None:
        return None
    is_same = len(shortcut) == len(currents)
    if before is None:
        return upstream if is_same or upstream is None else upstream.sum(0, keepdim=True)
    return currents if is_same else torch.empty(shortcut.shape)


def _boards(boards: Tensor | None) -> Any:
    return by_board(boards) if boards is not None and len(boards) else _NO_BOARDS


def _row(board: torch.Size) -> int:
    """Numbers of a board [B, ..., C] in a row of the kernels: whole squares, and whole masks."""
    channels = board[-1]
    squares = board[1:].numel() // channels
    while squares * channels > ROW and squares // 2 * channels % 32 == 0:
        squares //= 2
    return squares * channels


def _norm(gain: Tensor | None, bias: Tensor | None, num_groups: int) -> Norm:
    none = np.empty(0)
    affine = [none if row is None else row.detach().double().numpy() for row in (gain, bias)]
    mean, variance = np.empty((2, num_groups, len(affine[0])))
    return Norm(affine[0], affine[1], mean, variance, EPSILON)


def _neurons(before: Tensor | None, job: FusedJob) -> Neurons:
    rows = _NO_ROWS
    if before is not None:
        rows = distinct_steps(before.detach()).contiguous().flatten(1).numpy()
    surrogate = job.surrogate.number, np.float32(job.surrogate.slope)
    return Neurons(rows, np.float32(2.0 ** (job.grid_bits - 1)), surrogate)


def _synapses(masks: Tensor | None, weight: Tensor | None, bias: Tensor | None) -> Synapses:
    starts = np.empty(74, np.int64)
    if masks is None or weight is None:
        return Synapses(_NO_MASKS, _NO_WEIGHT, _NO_WEIGHT, np.empty(0, np.int32), starts)
    rows = np.empty(64 * weight.shape[1] // NUM_TAPS, np.int32)
    return Synapses(masks.numpy().view("u4"), *by_tap(weight, bias, NUM_TAPS), rows, starts)


def _zero_sums(num_groups: int, weight: Tensor | None) -> Tensor:
    outputs, inputs = (0, 0) if weight is None else (len(weight), weight.shape[1] // NUM_TAPS)
    return torch.zeros(num_groups, outputs // GRADIENT_WIDTH, inputs, NUM_TAPS, GRADIENT_WIDTH)


def _synapse_gradients(
    masks: Tensor | None, kernel: Any, of_weight: Tensor, of_inputs: Tensor
) -> SynapseGradients:
    padded = torch.zeros(1, TOGETHER, 100 * GRADIENT_WIDTH).numpy()
    words = np.empty((1, TOGETHER), np.uint64)
    work = np.empty((BOARDS, of_weight.shape[2]), np.uint64), padded, words
    sums = of_weight.numpy()
    if masks is None:
        return SynapseGradients(_NO_MASKS, _NO_BOARDS, sums, _NO_BOARDS, *work, _NO_ROWS, _NO_ROWS)
    out = by_board(of_inputs)
    spikes = masks.numpy().view("u4")
    return SynapseGradients(spikes, kernel, sums, out, *work, *winograd_blocks(kernel))
