"""Computes the neuron layers of a forward by the fastest kernels for their device.

On the processor that is ``lif_compiled``, on an NVIDIA GPU ``lif_triton``, elsewhere ``lif``
itself. All give the same bits. Behind a norm that learns a GPU takes both by ``norm_lif_triton``.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.kernels.lif_cpu import activate_back, activate_boards
from vecchess.snn.kernels.parallel_for import parallel_for
from vecchess.snn.kernels.surrogate import Surrogate
from vecchess.snn.kernels.triton_support import obstacle_to_triton
from vecchess.snn.modules.fused_layer import GROUP, FusedJob, fire, lif_compiled
from vecchess.snn.modules.layers import NormLif, SynapseLayer
from vecchess.snn.modules.neuron import LifFunction, LifOutput, Spikes, clipped_relu, lif
from vecchess.snn.presets import NetConfig


@cache
def fastest_lif(device: torch.device) -> LifFunction:
    """The LIF function for ``device``."""
    if device.type == "cpu":
        return lif_compiled
    if obstacle_to_neurons(device):
        return lif
    from vecchess.snn.modules.lif_triton import lif_triton

    return lif_triton


def obstacle_to_neurons(device: torch.device) -> str:
    """Why neurons on ``device`` are computed by torch's plain operators, for people; "" if not."""
    if device.type == "cpu":
        return ""
    if device.type != "cuda":
        return f"there are no kernels for {device.type} devices"
    return obstacle_to_triton(str(device))


def norm_lif_beside(lif_function: LifFunction) -> NormLif | None:
    """The kernel that takes norm and shortcut along, where neurons are computed by Triton."""
    if lif_function in (lif, lif_compiled):
        return None
    from vecchess.snn.modules import norm_lif_triton

    return norm_lif_triton.norm_lif_triton


class NeuronLayers:
    """The neuron layers of one forward, in order, with their membranes before and after."""

    def __init__(
        self,
        config: NetConfig,
        membranes: list[Tensor],
        surrogate: Surrogate,
        lif_function: LifFunction,
        fuses: bool,
    ) -> None:
        """``fuses``: on the processor, with the layer before them, and packed spikes."""
        self._config = config
        self._before = membranes
        self._surrogate = surrogate
        self._lif = lif_function
        self.fuses = fuses and lif_function is lif_compiled and config.neuron == "lif"
        self._norm_lif = norm_lif_beside(lif_function) if config.neuron == "lif" else None
        self.after: list[Tensor] = []
        self.rates: list[Tensor] = []

    def fire(self, current: Tensor, num_steps: int, packed: bool = True) -> Spikes:
        """Spikes (or the twin's activations) [T, B, ...] of the next layer.

        current: [T, B, ...], or [1, B, ...], the same at every step; packed: in the form that the
        processor's kernels read, where those are used.
        """
        if self.fuses:
            return self._noted(fire(current, self._next, self._job(num_steps, packed)))
        current = current.expand(num_steps, *current.shape[1:])
        if self._config.neuron == "relu":
            return self.grade(current)
        given = current, self._next, self._config.grid_bits, self._surrogate
        return self._noted(self._lif(*given))

    def fire_behind(
        self,
        layer: SynapseLayer,
        spikes: Spikes,
        shortcut: Tensor | None,
        compiled: bool,
        packed: bool = True,
    ) -> tuple[Tensor, Spikes]:
        """Currents of ``layer``, with ``shortcut`` if there is one, and spikes of the neurons that
        get them. Currents may be empty where there is no shortcut; compiled: see ``layer``."""
        num_steps = len(spikes.values)
        job = self._job(num_steps, packed)
        if spikes.masks is not None:
            current, fired = layer.fire(spikes, shortcut, self._next, job)
            return current, self._noted(fired)
        if self._norm_lif is not None and compiled and layer.learns_a_norm:
            current, fired = layer.fire_normed(
                self._norm_lif, spikes.values, shortcut, self._next, job
            )
            return current, self._noted(fired)
        current = layer(spikes.values, compiled, shortcut)
        return current, self.fire(current, num_steps, packed)

    def grade_behind(
        self, layer: SynapseLayer, spikes: Spikes, shortcut: Tensor, compiled: bool
    ) -> Spikes:
        """Activations of clipped ReLUs behind ``layer`` and ``shortcut``."""
        if spikes.masks is None:
            return self.grade(layer(spikes.values, compiled, shortcut))
        job = self._job(len(spikes.values), packed=False)
        return self.grade(layer.fire(spikes, shortcut, None, job)[0])

    def grade(self, current: Tensor) -> Spikes:
        """Activations [T, B, ...] of clipped ReLUs, which have no membranes; their rate is the
        share that is active."""
        if self.fuses:
            activations, rate = activate(current)
        else:
            activations = clipped_relu(current)
            rate = torch.count_nonzero(activations) / activations.numel()
        self.rates.append(rate)
        return Spikes(activations)

    def _job(self, num_steps: int, packed: bool) -> FusedJob:
        neuron = self._config.grid_bits, self._surrogate
        return FusedJob(num_steps, GROUP, *neuron, packed)

    @property
    def _next(self) -> Tensor:
        """The membranes of the next layer."""
        return self._before[len(self.after)]

    def _noted(self, fired: LifOutput) -> Spikes:
        self.after.append(fired.membrane)
        self.rates.append(fired.rate)
        return fired.spikes


def activate(currents: Tensor) -> tuple[Tensor, Tensor]:
    """``clipped_relu`` of currents [T, B, ...], float32; and float32[], the share that is not 0."""
    return _Activate.apply(currents)  # type: ignore[no-untyped-call, no-any-return]


class _Activate(Function):
    @staticmethod
    def forward(ctx: Any, currents: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(currents)
        activations = torch.empty_like(currents, memory_format=torch.contiguous_format)
        counts = torch.empty(len(currents) * currents.shape[1], dtype=torch.int64)
        read, out, counted = _rows(currents), _rows(activations), counts.numpy()
        parallel_for(lambda *part: activate_boards(read, *part, out, counted), len(out))
        share = counts.sum() / activations.numel()
        ctx.mark_non_differentiable(share)
        return activations, share

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (currents,) = ctx.saved_tensors
        gradient = torch.empty_like(currents, memory_format=torch.contiguous_format)
        read, upstream, out = _rows(currents), _rows(gradients[0]), _rows(gradient)
        parallel_for(lambda *part: activate_back(read, upstream, *part, out), len(out))
        return gradient


def _rows(boards: Tensor) -> Any:
    """float32[T * B, N] of boards [T, B, ...]: the same memory if it is contiguous."""
    return boards.detach().contiguous().flatten(0, 1).flatten(1).numpy()
