"""Ghost norm, shortcut and neurons in one Triton kernel, compiled on a GPU, else interpreted."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from tests.snn.modules.test_lif_triton import CONFIG
from tests.snn.positions import random_positions
from vecchess.snn.kernels.surrogate import SURROGATES
from vecchess.snn.modules.fused_layer import EPSILON, FusedJob
from vecchess.snn.modules.ghost_norm import GhostNorm
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.modules.neuron import lif

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
JOB = FusedJob(num_steps=3, group=2, grid_bits=13, surrogate=SURROGATES["atan"], packed=False)
STEPS, BOARDS, CHANNELS = 3, 5, 6
"""Three groups, the last one of a board; no power of two channels."""


class Layer(NamedTuple):
    """What goes into a layer's norm and neurons."""

    currents: Tensor
    weight: Tensor
    bias: Tensor
    shortcut: Tensor | None
    membrane: Tensor


def _layer(seed: int, kind: torch.dtype, shortcut_steps: int = 0) -> Layer:
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(DEVICE)

    board = (BOARDS, 8, 8, CHANNELS)
    currents = (2 * random(STEPS, *board) + random(CHANNELS)).to(kind)
    shortcut = random(shortcut_steps, *board) if shortcut_steps else None
    leaves = currents, 1 + 0.1 * random(CHANNELS), random(CHANNELS), shortcut, random(*board)
    return Layer(*(None if leaf is None else leaf.requires_grad_() for leaf in leaves))


def _ours(layer: Layer) -> tuple[Tensor, ...]:
    """Result, spikes, membranes, rate, and mean and variance of the groups."""
    from vecchess.snn.modules.norm_lif_triton import norm_lif_triton

    currents, weight, bias, shortcut, membrane = layer
    done = norm_lif_triton(currents, (weight, bias), shortcut, membrane, JOB)
    fired = done.fired
    return done.currents, fired.spikes.values, fired.membrane, fired.rate, done.mean, done.variance


def _in_torch(layer: Layer) -> tuple[Tensor, ...]:
    """The same by the norm's operators in float64, and the neuron's definition."""
    currents, weight, bias, shortcut, membrane = layer
    norm = GhostNorm(CHANNELS, 1.0, 0.0, JOB.group).to(DEVICE).double().train()
    noted: list[tuple[Tensor, Tensor]] = []
    norm.note = lambda mean, variance, _: noted.append((mean, variance))  # type: ignore[method-assign]
    del norm.weight, norm.bias
    norm.weight, norm.bias = weight.double(), bias.double()
    parts = currents.double().split([BOARDS - 1, 1], dim=1)
    normed = torch.cat([norm._normalise_equal(part) for part in parts], dim=1)
    summed = normed if shortcut is None else shortcut + normed
    fired = lif(summed, membrane, JOB.grid_bits, JOB.surrogate)
    mean, variance = (torch.cat(part) for part in zip(*noted, strict=True))
    result = summed[:0] if shortcut is None else summed
    return result, fired.spikes.values, fired.membrane, fired.rate, mean, variance


def _loss(found: tuple[Tensor, ...], seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    result, spikes, membrane, rate = found[:4]
    total = 99 * rate.square()
    for part in (result, spikes, membrane):
        total = total + (part * torch.randn(part.shape, generator=generator).to(DEVICE)).sum()
    return total


KINDS = pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
SHORTCUTS = pytest.mark.parametrize("shortcut_steps", [0, 1, STEPS])


@pytest.mark.thorough
@KINDS
@SHORTCUTS
def test_a_layer_is_norm_shortcut_and_neurons(kind: torch.dtype, shortcut_steps: int) -> None:
    layers = [_layer(1, kind, shortcut_steps) for _ in range(2)]
    found, expected = _ours(layers[0]), _in_torch(layers[1])
    assert torch.equal(found[1], expected[1].float())
    assert 0.1 < found[3] < 0.9
    for ours, theirs in zip(found, expected, strict=True):
        apart = (ours.double() - theirs.double()).norm()
        assert apart <= 1e-4 * theirs.double().norm()  # a leak may be rounded down to another step
    _loss(found, 5).backward()
    _loss(expected, 5).backward()
    rounding = 1e-5 if kind == torch.float32 else 6e-3  # the gradient of bfloat16 is bfloat16
    for one, other in zip(*layers, strict=True):
        if one is not None:
            assert one.grad.dtype == one.dtype
            assert (one.grad - other.grad).norm() <= rounding * other.grad.norm()


def test_the_neurons_are_those_of_the_kernel_without_norm() -> None:
    """Bit for bit, from the norm's gain and bias on."""
    from vecchess.snn.modules.lif_triton import lif_triton

    layer = _layer(2, torch.float32, STEPS)
    summed, spikes, after, rate, mean, variance = _ours(layer)
    gain = (layer.weight * torch.rsqrt(variance + EPSILON)).float()
    offset = (layer.bias - mean * gain).float()
    group = torch.arange(BOARDS, device=DEVICE) // JOB.group
    gain, offset = (row[group][:, None, None] for row in (gain, offset))
    assert layer.shortcut is not None
    expected = layer.shortcut + (layer.currents * gain + offset)
    fired = lif_triton(expected, layer.membrane, JOB.grid_bits, JOB.surrogate)
    assert torch.equal(summed, expected)
    assert torch.equal(spikes, fired.spikes.values)
    assert torch.equal(after, fired.membrane)
    assert torch.equal(rate, fired.rate)


@pytest.mark.thorough
@pytest.mark.parametrize("used", ["result", "spikes", "membrane", "rate"])
def test_unused_results_have_no_part_in_the_gradients(used: str) -> None:
    layers = [_layer(3, torch.float32, STEPS) for _ in range(2)]
    index = ("result", "spikes", "membrane", "rate").index(used)
    for layer, way in zip(layers, (_ours, _in_torch), strict=True):
        way(layer)[index].square().mean().backward()
    for one, other in zip(*layers, strict=True):
        assert one is not None
        assert other is not None
        if other.grad is not None:
            wanted = other.grad
            assert (one.grad - wanted).norm() <= 1e-5 * wanted.norm() + 1e-9


@pytest.mark.thorough
def test_a_network_in_training_takes_this_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its statistics and gradients are those of torch's operators."""
    from vecchess.snn.modules import norm_lif_triton
    from vecchess.snn.modules.lif_triton import lif_triton

    calls: list[object] = []
    kernel = norm_lif_triton.norm_lif_triton
    monkeypatch.setattr(
        norm_lif_triton, "norm_lif_triton", lambda *given: calls.append(1) or kernel(*given)
    )
    planes = unpack_bitboards(torch.from_numpy(random_positions(BOARDS, 1)[0])).to(DEVICE)
    networks = [SpikingNet(CONFIG).to(DEVICE).train() for _ in range(2)]
    networks[1].load_state_dict(networks[0].state_dict())
    networks[0].compiled, networks[1].lif = False, lif_triton
    told = []
    for network in networks:
        for norm in network.modules():
            if isinstance(norm, GhostNorm):
                norm.group = JOB.group
        output = network(planes)
        parts = [output.policy, output.wdl, *output.membranes, torch.stack(output.rates)]
        torch.stack([part.square().mean() for part in parts]).sum().backward()
        network.absorb_statistics(lambda sums: None)
        of_stem, of_last = (network.layer(name).weight.grad for name in ("stem", "policy"))
        told.append([output.policy, of_stem, of_last, *network.buffers()])
    assert len(calls) == 2 * CONFIG.blocks
    for ours, theirs in zip(*reversed(told), strict=True):
        assert (ours - theirs).norm() <= 1e-3 * theirs.norm() + 1e-6
