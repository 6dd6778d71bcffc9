"""The neuron's Triton kernels against ``lif``: compiled on a GPU, otherwise interpreted."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.snn.initialise import new_network
from vecchess.snn.kernels import triton_support
from vecchess.snn.kernels.surrogate import SURROGATES
from vecchess.snn.modules import neuron_dispatch as firing
from vecchess.snn.modules.fused_layer import lif_compiled
from vecchess.snn.modules.lif_triton import lif_triton
from vecchess.snn.modules.network import NetOutput, SpikingNet, unpack_bitboards
from vecchess.snn.modules.neuron import LifFunction, LifOutput, lif
from vecchess.snn.modules.neuron_dispatch import fastest_lif
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import from_integers

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ATAN = SURROGATES["atan"]
SHAPE = (3, 5, 7, 11)
"""Of the neurons: two programs and a bit, and no multiple of anything."""
Loss = Callable[[LifOutput], Tensor]


def _random(*shape: int, seed: int = 1) -> Tensor:
    """Normal numbers on no grid: what currents are before the weights are quantised."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def _every_output(steps: int, kind: torch.dtype = torch.float32) -> Loss:
    """A loss of spikes, membrane and rate; gradients of spikes are numbers of ``kind``."""
    of_spikes = _random(steps, *SHAPE, seed=2).to(kind).float()
    of_membrane = _random(*SHAPE, seed=3)

    def loss(fired: LifOutput) -> Tensor:
        used = (fired.spikes.values * of_spikes).sum() + (fired.membrane * of_membrane).sum()
        return used + 999 * fired.rate.square()

    return loss


def _gradients(
    way: LifFunction, loss: Loss, currents: Tensor, membrane: Tensor, *more: object
) -> tuple[Tensor, ...]:
    """Spikes, membrane, rate, and the gradients of currents and first membrane."""
    leaves = currents.detach().clone().requires_grad_(), membrane.clone().requires_grad_()
    fired = way(*leaves, *(more or (13, ATAN)))
    loss(fired).backward()
    found = [leaf.grad for leaf in leaves]
    assert all(gradient is not None for gradient in found)
    return fired.spikes.values, fired.membrane, fired.rate, *found


def _assert_same(found: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


@pytest.mark.parametrize("steps", [1, 4, 8])
@pytest.mark.parametrize("name", SURROGATES)
def test_same_bits_for_every_surrogate(name: str, steps: int) -> None:
    neurons = 1.5 * _random(steps, *SHAPE), 1.2 * _random(*SHAPE), 13, SURROGATES[name]
    expected = _gradients(lif, _every_output(steps), *neurons)
    found = _gradients(lif_triton, _every_output(steps), *neurons)
    exact = 5 if name != "sigmoid" else 3  # exp differs in its last place between libraries
    _assert_same(found[:exact], expected[:exact])
    for one, other in zip(found[exact:], expected[exact:], strict=True):
        assert torch.allclose(one, other, rtol=1e-6, atol=1e-6)
    assert 0.1 < found[2] < 0.9


@pytest.mark.thorough
@pytest.mark.parametrize(("steps", "grid_bits"), [(3, 1), (3, 20), (33, 13)])
def test_same_bits_on_any_grid_for_any_number_of_steps(steps: int, grid_bits: int) -> None:
    neurons = _random(steps, *SHAPE), _random(*SHAPE), grid_bits, ATAN
    expected = _gradients(lif, _every_output(steps), *neurons)
    _assert_same(_gradients(lif_triton, _every_output(steps), *neurons), expected)


def test_reset_threshold_and_floor_are_those_of_the_definition() -> None:
    """Membranes left above the threshold, at it, and below 0 off the grid of the leak."""
    currents = torch.tensor([[3.0, 1.0, 0.875, -1.0], [0.5, 0.5, 0.875, 0.0]], device=DEVICE)
    membrane = torch.tensor([0.0, 0.0, 0.0, -(2.0**-13)], device=DEVICE)
    fired = lif_triton(currents, membrane, 13, ATAN)
    assert fired.spikes.values.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    assert fired.membrane.tolist() == [1.5, 1.0, 0.3125, -0.5 - 2.0**-13]
    assert fired.rate == 0.25


@pytest.mark.parametrize("used", ["spikes", "membrane", "rate"])
def test_unused_outputs_have_no_part_in_the_gradients(used: str) -> None:
    losses: dict[str, Loss] = {
        "spikes": lambda fired: fired.spikes.values.square().sum(),
        "membrane": lambda fired: fired.membrane.square().sum(),
        "rate": lambda fired: fired.rate.square(),
    }
    neurons = _random(4, *SHAPE), _random(*SHAPE)
    expected = _gradients(lif, losses[used], *neurons)
    _assert_same(_gradients(lif_triton, losses[used], *neurons), expected)


def test_currents_that_are_the_same_at_every_step_are_stored_once() -> None:
    """x0 coding: axis 0 of the currents has stride 0, and they stay where they are."""
    found = []
    for way in (lif, lif_triton):
        inflow = _random(*SHAPE).requires_grad_()
        fired = way(inflow.expand(5, *SHAPE), torch.zeros(SHAPE, device=DEVICE), 13, ATAN)
        if way is lif_triton:
            (kept, _) = fired.membrane.grad_fn.saved_tensors
            assert kept.data_ptr() == inflow.data_ptr()
        _every_output(5)(fired).backward()
        found.append((fired.spikes.values, fired.membrane, inflow.grad))
    _assert_same(found[0], found[1])


@pytest.mark.parametrize("kind", ["permuted", "every other", "expanded and permuted"])
def test_any_layout(kind: str) -> None:
    layouts: dict[str, Callable[[Tensor], Tensor]] = {
        "permuted": lambda x: x.permute(2, 0, 1),
        "every other": lambda x: x[:, ::2],
        "expanded and permuted": lambda x: x[:1].transpose(1, 2).expand(3, -1, -1),
    }
    found = []
    for way in (lif, lif_triton):
        start = _random(4, 6, 10).requires_grad_()
        currents = layouts[kind](start)
        membrane = _random(*currents.shape[:0:-1]).permute(1, 0)
        fired = way(currents, membrane, 13, ATAN)
        of_spikes = layouts[kind](_random(4, 6, 10, seed=2))
        (fired.spikes.values * of_spikes).sum().backward()
        found.append((fired.spikes.values, fired.membrane, start.grad))
    _assert_same(found[0], found[1])


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_currents_of_16_bits_under_autocast(kind: torch.dtype) -> None:
    neurons = _random(4, *SHAPE).to(kind), _random(*SHAPE)
    loss = _every_output(4, kind)
    expected = _gradients(lif, loss, *neurons)
    with torch.autocast(DEVICE, kind):
        found = _gradients(lif_triton, loss, *neurons)
    assert found[0].dtype == (kind if kind == torch.bfloat16 else torch.float32)
    _assert_same((found[0].float(), *found[1:]), expected)
    assert found[3].dtype == kind


CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=3, value_channels=3)
PLAIN = NetConfig(num_planes=NUM_PLANES, kind="plain", widths=(32, 32), time_steps=2)


def _learn(module: SpikingNet, planes: Tensor) -> NetOutput:
    """A forward and the gradients of a loss of everything that it says."""
    module.zero_grad()
    output = module(planes)
    told = [output.policy, output.wdl, *output.membranes, torch.stack(output.rates)]
    torch.stack([part.square().mean() for part in told]).sum().backward()
    return output


def _assert_network_is_the_same(config: NetConfig, device: str) -> None:
    """With our neurons on ``device``, and by plain operators on the processor; quantised."""
    net = new_network(config, 5, random_positions(16, 1)[0])
    planes = unpack_bitboards(torch.from_numpy(random_positions(3, 1)[0]))
    plain, ours = from_integers(net).train(), from_integers(net).to(device).train()
    plain.compiled, ours.lif = False, lif_triton
    expected, found = _learn(plain, planes), _learn(ours, planes.to(device))
    pairs = [(found.policy, expected.policy), (found.wdl, expected.wdl)]
    pairs += zip(found.membranes, expected.membranes, strict=True)
    pairs += zip(found.rates, expected.rates, strict=True)
    assert all(torch.equal(one.cpu(), other) for one, other in pairs)
    assert max(found.rates) > 0.01
    gradients = dict(plain.named_parameters())
    for name, parameter in ours.named_parameters():
        if (wanted := gradients[name].grad) is not None:
            assert parameter.grad is not None, name
            assert (parameter.grad.cpu() - wanted).norm() <= 1e-4 * wanted.norm() + 1e-7, name


@pytest.mark.parametrize("config", [CONFIG, PLAIN])
def test_whole_network(config: NetConfig) -> None:
    _assert_network_is_the_same(config, "cpu" if DEVICE == "cpu" else "cuda")


@pytest.mark.parametrize("config", [CONFIG, PLAIN])
def test_spikes_of_16_bits_change_no_bit_of_a_quantised_network(config: NetConfig) -> None:
    net = new_network(config, 5, random_positions(16, 1)[0])
    planes = unpack_bitboards(torch.from_numpy(random_positions(3, 1)[0])).to(DEVICE)
    ours = from_integers(net).to(DEVICE).train()
    ours.lif = lif_triton
    expected = ours(planes)
    with torch.autocast(DEVICE, torch.bfloat16):
        found = ours(planes)
    assert torch.equal(found.policy, expected.policy)
    assert torch.equal(found.wdl, expected.wdl)


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device")
def test_a_gpu_learns_by_these_kernels_what_the_processor_does() -> None:
    assert fastest_lif(torch.device("cuda")) is lif_triton
    for channels in (32, 64):
        wide = CONFIG.model_copy(update={"channels": channels, "blocks": 3, "time_steps": 4})
        _assert_network_is_the_same(wide, "cuda")


def test_each_device_gets_the_fastest_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    gpu, processor = torch.device("cuda:7"), torch.device("cpu")
    fastest_lif.cache_clear()
    assert fastest_lif(processor) is lif_compiled
    assert fastest_lif(gpu) is lif_triton
    assert firing.obstacle_to_neurons(gpu) == firing.obstacle_to_neurons(processor) == ""
    assert "mps" in firing.obstacle_to_neurons(torch.device("mps"))
    monkeypatch.setattr(triton_support, "find_spec", lambda name: None)
    assert firing.obstacle_to_neurons(gpu) == "Triton is not installed"
    fastest_lif.cache_clear()
    assert fastest_lif(gpu) is lif
    fastest_lif.cache_clear()


@pytest.mark.thorough
def test_kernels_compile_for_hopper_and_round_as_torch_does() -> None:
    """What the interpreter cannot tell: types, and what the compiler makes of sums of products."""
    program = Path(__file__).with_name("compile_lif.py")
    here = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    here["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, str(program)], env=here, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
