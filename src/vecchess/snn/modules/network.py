"""The spiking residual tower as a torch module (MS-ResNet: only spikes enter a convolution).

Two phases. A new module trains with ghost batch norm. ``fold()`` freezes the statistics into
weights and biases; from then on the forward uses weights int8 * 2^-k and biases on 2^-weight_bits
(straight-through gradients), so what is trained is, to the bit, what is deployed. No neuron sees
another time step than through its membrane, so the layers run one by one, each over all steps.

A training loop calls, after each optimiser step, ``absorb_statistics`` in the first phase and
``settle_grid`` in the second.
"""

from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vecchess.chess.move_inputs import NUM_CODES, SIZES
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.kernels.surrogate import DEFAULT_SURROGATE, surrogate_named
from vecchess.snn.modules.exact_sums import sum_picked
from vecchess.snn.modules.ghost_norm import MOMENTUM, GhostNorm
from vecchess.snn.modules.layers import LayerSpec, SynapseLayer
from vecchess.snn.modules.neuron import LifFunction, Spikes, lif
from vecchess.snn.modules.neuron_dispatch import NeuronLayers, fastest_lif
from vecchess.snn.modules.sparse_convolution import read_moves
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import (
    MOVES,
    NUM_TAPS,
    hidden_layers,
    input_bits,
    layer_key,
    layer_shapes,
    membrane_layers,
    neuron_layers,
    reads_activations,
    stem_planes,
)

FIRST_BIAS = -0.6
"""Where batch norm centres the current of a new neuron: with spread 1 it fires at about 10 %."""


class NetOutput(NamedTuple):
    """Results of T steps. Accumulators are real numbers here, integers times 2^-F if folded.

    policy: float32[T, B, 4672], or [T, B, L] of the legal moves alone, and wdl: float32[T, B, 3]
    after each step; membranes: one per layer that has them, to go on from; rates: float32[] per
    neuron layer, spikes per neuron and step (of clipped ReLUs: share of active neurons).
    """

    policy: Tensor
    wdl: Tensor
    membranes: list[Tensor]
    rates: list[Tensor]


class SpikingNet(nn.Module):
    """planes float32[B, 8, 8, planes] of 0 and 1 -> policy and win/draw/loss accumulators.

    Planes are float32[T, B, 8, 8, planes] where the network is rate-coded; see ``rate_coding``.
    Input words, int64[B, P] or [T, B, P], do as well; inputs of moves are there alone.
    """

    compiled: bool = True
    """Layers run by the fastest kernels for their device; False: by torch's plain operators. Both
    give the same bits once folded, and differ by rounding before."""
    lif: LifFunction | None = None
    """The function that computes LIF neurons; None follows from ``compiled`` and the device."""

    def __init__(self, config: NetConfig, surrogate: str = DEFAULT_SURROGATE) -> None:
        """Unfolded, with torch's current random generator; ``surrogate`` is a name of SURROGATES.

        Raises ``ConfigError`` for an unknown surrogate.
        """
        super().__init__()
        self.config = config
        self.surrogate = surrogate_named(surrogate)
        self._hidden = hidden_layers(config)
        self.layers = nn.ModuleDict(
            {
                layer_key(name): SynapseLayer(
                    inputs, outputs, config.weight_bits, _first_norm(config, name),
                    _layer_spec(config, name),
                )
                for name, (outputs, inputs) in layer_shapes(config).items()
            }
        )  # fmt: skip
        self._reads_moves = MOVES in layer_shapes(config)
        if self._reads_moves:
            nn.init.zeros_(self.layer(MOVES).weight)
        self.policy_gain = nn.Parameter(torch.tensor(1.0))
        self.value_gain = nn.Parameter(torch.tensor(1.0))

    def layer(self, name: str) -> SynapseLayer:
        """The layer called ``name`` in ``integer_net``."""
        module = self.layers[layer_key(name)]
        assert isinstance(module, SynapseLayer)
        return module

    def _every_layer(self) -> Iterable[SynapseLayer]:
        return (self.layer(name) for name in layer_shapes(self.config))

    @property
    def folded(self) -> bool:
        """True when the forward is the deployed one."""
        return self.layer("stem").folded

    @property
    def learns_as_it_plays(self) -> bool:
        """True when training computes what a server computes."""
        return self.folded

    @property
    def neuron_names(self) -> tuple[str, ...]:
        """Layers of neurons, in the order of ``NetOutput.rates``."""
        return tuple(neuron_layers(self.config))

    def is_graded(self, name: str) -> bool:
        """Whether a layer of neurons gives activations, not spikes."""
        return reads_activations(self.config, name)

    def fold(self) -> None:
        """Enter the second phase: batch norm folded and frozen, weights quantised.

        A folded state loads only into a folded module: fold first, whatever its weights are.
        """
        for layer in self._every_layer():
            layer.fold()

    def absorb_statistics(
        self, sum_over_ranks: Callable[[list[Tensor]], None], momentum: float = MOMENTUM
    ) -> None:
        """Move the running statistics towards those of the forwards since the last call.

        Called once per optimiser step, on every rank: ``sum_over_ranks`` gets the sums of this
        rank, float64, and adds those of the other ranks in place. ``momentum``: weight of the new
        statistics.
        """
        norms = self._norms()
        if norms:
            sum_over_ranks([norm.pending for norm in norms])
        for norm in norms:
            norm.absorb(momentum)

    def forget_statistics(self) -> None:
        """Discard the statistics since ``absorb_statistics``: their step is repeated."""
        for norm in self._norms():
            norm.forget()

    def _norms(self) -> list[GhostNorm]:
        return [layer.norm for layer in self._every_layer() if layer.norm is not None]

    def settle_grid(self) -> None:
        """Keep a folded network exportable while its weights grow; called once per optimiser step.

        Where a row's weights no longer fit int8 at their 2^-shift, or its sums int16, the shift is
        lowered by as much as is needed; it never rises. Before folding there is no grid.
        """
        if self.folded:
            for layer in self._every_layer():
                layer.settle_grid()

    def forward(
        self, planes: Tensor, num_steps: int | None = None, legal: Tensor | None = None
    ) -> NetOutput:
        """``num_steps`` (T by default) steps from rest; ``legal`` as for ``advance``.

        A network that reads inputs of moves answers for ``legal`` alone, in the order of
        generation, and is given input words.
        """
        steps = self.config.time_steps if num_steps is None else num_steps
        current = self.input_current(planes)
        resting = [one.expand(current.shape[-4], -1, -1, -1) for one in self.resting_membranes(1)]
        output = self.advance(current, resting, steps, legal)
        if not self._reads_moves or legal is None:
            return output
        times = torch.arange(1, steps + 1, device=current.device)[:, None, None]
        added = times * self.move_currents(planes, legal.shape[1])
        return output._replace(policy=output.policy + added)

    def move_currents(self, words: Tensor, num_moves: int) -> Tensor:
        """float32[B, num_moves]: what inputs of the first legal moves add to their policy at each
        step. words: int64[B, P]."""
        shifts = torch.arange(0, 64, 16, device=words.device)
        codes = words[:, stem_planes(self.config) :, None] >> shifts & 0xFFFF
        rest = codes.flatten(1)[:, :num_moves].clamp(max=NUM_CODES - 1)
        places = []
        for size, first in zip(SIZES, accumulate(SIZES, initial=0), strict=False):
            places.append(rest % size + first)
            rest = rest // size
        weight, bias = self.layer(MOVES).current_weights()
        assert bias is not None
        # the bias is the same for all moves, so that nothing is learnt from its gradient
        return sum_picked(weight[0], torch.stack(places, -1)) + bias.detach()

    def input_current(self, planes: Tensor) -> Tensor:
        """x0: float32[B, 8, 8, C], the same at every step, or [T, B, 8, 8, C] if rate-coded."""
        if not planes.is_floating_point():
            planes = unpack_bitboards(planes[..., : stem_planes(self.config)])
        return self._currents("stem", planes)

    def _currents(self, name: str, inputs: Tensor) -> Tensor:
        return self.layer(name)(inputs, self.compiled)  # type: ignore[no-any-return]

    def resting_membranes(self, num_boards: int) -> list[Tensor]:
        """Membranes of B boards before the first step, one per layer of spiking neurons."""
        device = self.policy_gain.device
        sizes = membrane_layers(self.config).values()
        return [torch.zeros(num_boards, 8, 8, size // NUM_SQUARES, device=device) for size in sizes]

    def advance(
        self,
        input_current: Tensor,
        membranes: list[Tensor],
        num_steps: int,
        legal: Tensor | None = None,
    ) -> NetOutput:
        """``num_steps`` more steps of B boards, from ``membranes``; accumulators start at 0.

        legal: int64[B, L], actions whose policy is wanted; all of them where it is None.
        """
        lif_function = self.lif or (fastest_lif(input_current.device) if self.compiled else lif)
        fuses = self.folded or self.training
        neurons = NeuronLayers(self.config, membranes, self.surrogate, lif_function, fuses)
        stream = input_current[:num_steps] if self.config.is_rate_coded else input_current[None]
        is_plain, is_graded = self.config.kind == "plain", self.config.readout == "graded"
        spikes = neurons.fire(stream, num_steps, packed=bool(self._hidden) or not is_plain)
        for layer in self._hidden:
            is_last, module = layer == self._hidden[-1], self.layer(layer.name)
            if is_last and is_graded:
                spikes = neurons.grade_behind(module, spikes, stream, self.compiled)
                break
            shortcut, packed = stream if layer.adds else None, not (is_last and is_plain)
            current, spikes = neurons.fire_behind(module, spikes, shortcut, self.compiled, packed)
            stream = current if layer.adds else stream
        heads = self._pooled_heads if is_plain else self._heads
        policy, wdl = heads(spikes, neurons, legal)
        return NetOutput(policy, wdl.cumsum(0), neurons.after, neurons.rates)

    def _pooled_heads(
        self, spikes: Spikes, neurons: NeuronLayers, legal: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Policy and currents of win/draw/loss, as ``_heads``, from the mean over the board."""
        pooled = spikes.values.mean((2, 3))
        policy = _select(self._currents("policy", pooled), legal)
        return policy.cumsum(0), self._currents("value.outcome", pooled)

    def _heads(
        self, spikes: Spikes, neurons: NeuronLayers, legal: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Policy [T, B, 4672 or L] added up, and currents of win/draw/loss [T, B, 3] at each step.

        On the processor the sums of moves that are not legal are never made.
        """
        if neurons.fuses and legal is not None:
            head = self.layer("policy")
            weight, bias = head.current_weights()
            assert bias is not None
            policy, spikes = read_moves(spikes, weight, bias, legal, head.rounding)
        else:
            policy = self._layer_current("policy", spikes)
            policy = _select(policy.permute(0, 1, 4, 2, 3).flatten(2), legal).cumsum(0)
        squeezed = self._layer_current("value.squeeze", spikes)
        fired = neurons.fire(squeezed, len(squeezed), packed=False).values
        return policy, self._currents("value.outcome", fired.flatten(2))

    def _layer_current(self, name: str, spikes: Spikes) -> Tensor:
        if spikes.masks is None:
            return self._currents(name, spikes.values)
        return self.layer(name).forward_packed(spikes)


def _first_norm(config: NetConfig, name: str) -> tuple[float, float] | None:
    """First gain and bias of a layer's batch norm; None for the outputs, which have none."""
    if name in ("policy", "value.outcome", MOVES):
        return None
    if name.endswith(".second"):
        return config.blocks**-0.5, 0.0
    return 1.0, FIRST_BIAS if config.neuron == "lif" else 0.0


def _layer_spec(config: NetConfig, name: str) -> LayerSpec:
    heads = ("policy", "value.squeeze", "value.outcome", MOVES)
    inexact = config.grid_bits if input_bits(config, name) else None
    return LayerSpec(1 if name in heads else NUM_TAPS, inexact is None, inexact)


def _select(policy: Tensor, legal: Tensor | None) -> Tensor:
    """The columns ``legal: int64[B, L]`` of ``policy: [T, B, 4672]``; all without it."""
    return policy if legal is None else policy.gather(2, legal.expand(len(policy), -1, -1))


def unpack_bitboards(words: Tensor) -> Tensor:
    """int64[..., P] (or uint64) -> float32[..., 8, 8, P] of 0 and 1, on the same device."""
    squares = torch.arange(NUM_SQUARES, device=words.device)[:, None]
    bits: Tensor = (words.view(torch.int64)[..., None, :] >> squares) & 1
    return torch.unflatten(bits.float(), -2, (8, 8))
