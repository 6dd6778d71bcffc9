"""The weights of a layer: float with ghost batch norm, or folded and quantised."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from vecchess.snn.integer.bounds import INT16_LIMIT
from vecchess.snn.modules.bf16_products import asks_for_bf16, bf16_linear, multiplies_exactly
from vecchess.snn.modules.convolution import convolve, convolve_planes, gathered
from vecchess.snn.modules.fused_layer import FusedJob, FusedOutput, fuse
from vecchess.snn.modules.ghost_norm import GhostNorm
from vecchess.snn.modules.neuron import LifOutput, Spikes, floor_on_grid, quantise
from vecchess.snn.modules.sparse_convolution import linear_spikes
from vecchess.snn.presets import WEIGHT_LIMIT

NormLif = Callable[[Tensor, tuple[Tensor, Tensor], Tensor | None, Tensor, FusedJob], FusedOutput]
"""From currents, weight and bias of a ghost norm in training, a shortcut, membranes and the job."""
BIAS_LIMIT = 2.0**24
"""Largest bias in units of 2^-weight_bits; int32 holds it."""


class LayerSpec(NamedTuple):
    """The kind of a layer.

    taps: 9 for a 3x3 convolution over boards [..., 8, 8, I], 1 for a linear map of the last axis;
    spike_inputs: inputs are 0 or 1; floor_bits: the grid currents are rounded down to where they
    are not, None otherwise.
    """

    taps: int
    spike_inputs: bool
    floor_bits: int | None


class SynapseLayer(nn.Module):
    """A linear map of K inputs to O currents."""

    def __init__(
        self,
        num_inputs: int,
        num_outputs: int,
        weight_bits: int,
        norm: tuple[float, float] | None,
        spec: LayerSpec,
    ) -> None:
        """``norm``: first gain and bias of the batch norm, None for a plain bias."""
        super().__init__()
        self.weight_bits = weight_bits
        self.spec = spec
        self.folded = False
        self.weight = nn.Parameter(torch.randn(num_outputs, num_inputs) / num_inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(num_outputs))
        self.norm = None if norm is None else GhostNorm(num_outputs, *norm)
        self.shift: Tensor
        self.register_buffer("shift", torch.zeros(num_outputs))

    def forward(
        self, inputs: Tensor, compiled: bool = True, shortcut: Tensor | None = None
    ) -> Tensor:
        """Currents of ``inputs``; exact when folded, because autocast and Winograd are avoided.

        shortcut: currents that are added.

        compiled: by the fastest kernels for this device, else by torch's plain operators. Folded,
        both give the same bits.
        """
        if self.folded:
            rounds = asks_for_bf16(inputs.device.type)
            with torch.autocast(inputs.device.type, enabled=False):
                weight, bias = self.quantised()
                if self.rounding is None:
                    sums = self._exact_sums(inputs, weight, bias, compiled, rounds)
                else:
                    sums = self._exact_sums(inputs, weight, None, compiled, rounds)
                    sums = floor_on_grid(sums, self.rounding) + bias
                return sums if shortcut is None else shortcut + sums
        sums = self._sums(inputs, *self.current_weights(), compiled)
        return self.normalise(sums, compiled, shortcut)

    def forward_packed(self, spikes: Spikes) -> Tensor:
        """``forward`` for packed spikes, of a linear map."""
        return self.normalise(linear_spikes(spikes, *self.current_weights()), True, None)

    def fire(
        self, spikes: Spikes, shortcut: Tensor | None, before: Tensor | None, job: FusedJob
    ) -> tuple[Tensor, LifOutput]:
        """``forward`` of a 3x3 convolution for packed spikes, on the processor, and what neurons
        with membranes ``before`` (None: no neurons) make of its currents; those are kept where
        there is a shortcut."""
        weights, norm = self.current_weights(), self.norm
        job = job._replace(keeps_currents=shortcut is not None)
        if norm is None:
            fused = fuse(spikes, weights, shortcut, None, before, job)
        else:
            job = job._replace(group=norm.group)
            fused = fuse(spikes, weights, shortcut, (norm.weight, norm.bias), before, job)
            norm.note(fused.mean, fused.variance, spikes.values.shape[1])
        return fused.currents, fused.fired

    @property
    def learns_a_norm(self) -> bool:
        """Whether currents are normalised by their own statistics."""
        return self.norm is not None and self.training

    def fire_normed(
        self,
        norm_lif: NormLif,
        inputs: Tensor,
        shortcut: Tensor | None,
        before: Tensor,
        job: FusedJob,
    ) -> tuple[Tensor, LifOutput]:
        """``forward`` of a layer that learns a norm, and its neurons, by ``norm_lif``; currents are
        kept where there is a shortcut."""
        norm = self.norm
        assert norm is not None
        sums = self._sums(inputs, self.weight, None, compiled=True)
        job = job._replace(group=norm.group)
        fused = norm_lif(sums, (norm.weight, norm.bias), shortcut, before, job)
        norm.note(fused.mean, fused.variance, sums.shape[1])
        return fused.currents, fused.fired

    @property
    def rounding(self) -> int | None:
        """The grid that sums are rounded down to now, where they are."""
        return self.spec.floor_bits if self.folded else None

    def current_weights(self) -> tuple[Tensor, Tensor | None]:
        """Weight [O, K] and bias [O] to compute with; no bias where a norm follows."""
        if self.folded:
            return self.quantised()
        return self.weight, self.bias if self.norm is None else None

    def normalise(self, currents: Tensor, compiled: bool, shortcut: Tensor | None) -> Tensor:
        """``currents`` through the norm, as long as there is one, and ``shortcut`` added."""
        if self.norm is None:
            return currents if shortcut is None else shortcut + currents
        if currents.dim() == 4:  # no time steps
            return self.norm(currents[None], compiled)[0]  # type: ignore[no-any-return]
        return self.norm(currents, compiled, shortcut)  # type: ignore[no-any-return]

    def _exact_sums(
        self, inputs: Tensor, weight: Tensor, bias: Tensor | None, compiled: bool, rounds: bool
    ) -> Tensor:
        """``rounds``: gradients on a GPU may be products of bfloat16."""
        if compiled and multiplies_exactly(inputs.device):
            return bf16_linear(inputs, weight, bias, self.spec.taps, rounds)
        return self._sums(inputs.float(), weight, bias, compiled)

    def _sums(self, inputs: Tensor, weight: Tensor, bias: Tensor | None, compiled: bool) -> Tensor:
        is_linear = self.spec.taps == 1
        if inputs.device.type != "cpu":
            dense = gathered if self.folded else convolve
            return (functional.linear if is_linear else dense)(inputs, weight, bias)
        with torch.autocast("cpu", enabled=False):  # 16 bits are no faster here, and would round
            if is_linear:
                return functional.linear(inputs.float(), weight, bias)
            if not (compiled and torch.backends.mkldnn.is_available()):
                return gathered(inputs.float(), weight, bias)
            convolution = convolve_planes if self.spec.spike_inputs else convolve
            return convolution(inputs.float(), weight, bias)

    def quantised(self) -> tuple[Tensor, Tensor]:
        """The deployed weight [O, K] and bias [O], still attached to their parameters."""
        weight = quantise(self.weight, torch.exp2(self.shift)[:, None], WEIGHT_LIMIT)
        return weight, quantise(self.bias, 2.0**self.weight_bits, BIAS_LIMIT)

    @torch.no_grad()
    def fold(self) -> None:
        """Fold the batch norm's running statistics into weight and bias, and choose the grid."""
        if self.folded:
            return
        if self.norm is not None:
            gain, bias = self.norm.as_affine()
            self.weight.mul_(gain[:, None])
            self.bias.copy_(bias)
        self.shift.copy_(self._finest_shift())
        self._mark_folded()

    @torch.no_grad()
    def adopt(self, weight: Tensor, bias: Tensor, shift: Tensor) -> None:
        """Become a folded layer with these values, which are on the grid."""
        self.weight.copy_(weight)
        self.bias.copy_(bias)
        self.shift.copy_(shift)
        self._mark_folded()

    def _mark_folded(self) -> None:
        """Compute with quantised weights from now on."""
        self.norm = None
        self.folded = True

    @torch.no_grad()
    def settle_grid(self) -> None:
        """Coarsen the grid of rows that have outgrown it, and clamp what no grid holds."""
        self.shift.copy_(torch.minimum(self.shift, self._finest_shift()))
        self.weight.clamp_(-WEIGHT_LIMIT, WEIGHT_LIMIT)  # int8 at the coarsest grid, a shift of 0

    def _finest_shift(self) -> Tensor:
        """[O]: the largest k for which int8 holds the weights of a row and int16 its sums."""
        largest = self.weight.abs().amax(dim=1, keepdim=True)
        sides = torch.maximum(self.weight.relu().sum(1), (-self.weight).relu().sum(1))[:, None]
        powers = 2.0 ** torch.arange(1, self.weight_bits + 1, device=largest.device)
        room = INT16_LIMIT - self.weight.shape[1] / 2  # rounding may add half a unit a weight
        fits = (largest * powers <= WEIGHT_LIMIT) & (sides * powers < room)
        return fits.sum(dim=1)
