"""A folded layer's products of bfloat16: on the processor the same numbers in float32."""

import pytest
import torch
from torch import Tensor

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.snn.initialise import new_network
from vecchess.snn.modules import bf16_products, layers
from vecchess.snn.modules.bf16_products import bf16_linear, multiplies_exactly, passes_trial
from vecchess.snn.modules.convolution import gathered
from vecchess.snn.modules.network import NetOutput, SpikingNet, unpack_bitboards
from vecchess.snn.modules.neuron import lif
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import from_integers

GPU = torch.device("cuda:7")
SIZES = {"num_planes": NUM_PLANES, "blocks": 1, "channels": 32, "time_steps": 3}
NETS = {
    "spikes": NetConfig.model_validate(SIZES),
    "graded readout": NetConfig.model_validate(SIZES | {"readout": "graded"}),
    "activations": NetConfig.model_validate(SIZES | {"neuron": "relu", "time_steps": 1}),
    "plain": NetConfig(num_planes=NUM_PLANES, kind="plain", widths=(32, 32), time_steps=2),
}


def _integers(low: int, high: int, *shape: int) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(len(shape)))


def _layer_of_every_weight(taps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Activations of 7 bits, weights of int8 with a shift a row, biases."""
    inputs = _integers(0, 128, 2, 3, 8, 8, 5).float() * 2.0**-6
    shifts = (torch.arange(16.0) % 6)[:, None]
    weight = _integers(-127, 128, 16, taps * 5).float() * torch.exp2(-shifts)
    return inputs, weight, _integers(-(2**12), 2**12, 16).float() * 2.0**-12


@pytest.mark.parametrize("taps", [1, 9])
@pytest.mark.parametrize("rounds", [False, True])
def test_sums_and_gradients_are_those_of_float32(taps: int, rounds: bool) -> None:
    """Upstream gradients are small integers here, so that every sum is exact."""
    inputs, weight, bias = _layer_of_every_weight(taps)
    upstream = _integers(-8, 9, 2, 3, 8, 8, 16).float()
    found = []
    for is_ours in (True, False):
        leaves = [tensor.clone().requires_grad_() for tensor in (inputs, weight, bias)]
        if is_ours:
            sums = bf16_linear(*leaves, taps, rounds)
        else:
            sums = gathered(*leaves) if taps == 9 else torch.nn.functional.linear(*leaves)
        sums.backward(upstream)
        found.append([sums, *(leaf.grad for leaf in leaves)])
    for one, other in zip(*found, strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)


def test_gradients_are_rounded_only_where_bfloat16_is_asked_for() -> None:
    inputs, weight, _ = _layer_of_every_weight(9)
    upstream = torch.randn(2, 3, 8, 8, 16, generator=torch.Generator().manual_seed(1))
    found = {}
    for name, given in (
        ("float32", upstream),
        ("bf16", upstream),
        ("rounded", upstream.bfloat16()),
    ):
        leaf = weight.clone().requires_grad_()
        bf16_linear(inputs, leaf, None, 9, rounds=name == "bf16").backward(given.float())
        found[name] = leaf.grad
    assert torch.equal(found["bf16"], found["rounded"])
    assert not torch.equal(found["bf16"], found["float32"])


def _learn(module: SpikingNet, planes: Tensor) -> NetOutput:
    module.zero_grad()
    output = module(planes)
    parts = [output.policy, output.wdl, *output.membranes]
    torch.stack([part.square().mean() for part in parts]).sum().backward()
    return output


@pytest.mark.parametrize("kind", NETS)
def test_a_folded_network_gives_the_same_bits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net = new_network(NETS[kind], 5, random_positions(16, 1)[0])
    planes = unpack_bitboards(torch.from_numpy(random_positions(3, 1)[0]))
    plain, ours, rounding = (from_integers(net).train() for _ in range(3))
    plain.compiled, ours.lif, rounding.lif = False, lif, lif
    calls: list[int] = []

    def noted(*given: object) -> Tensor:
        calls.append(1)
        return bf16_linear(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(layers, "multiplies_exactly", lambda device: True)
    monkeypatch.setattr(layers, "bf16_linear", noted)
    expected = _learn(plain, planes)
    assert not calls
    found = _learn(ours, planes)
    assert len(calls) == len(ours.layers)
    with torch.autocast("cpu", torch.bfloat16):
        also = _learn(rounding, planes)
    for name in ("policy", "wdl"):
        assert torch.equal(getattr(found, name), getattr(expected, name))
        assert torch.equal(getattr(also, name), getattr(expected, name))
    differ = 0
    others = dict(ours.named_parameters()), dict(rounding.named_parameters())
    for name, parameter in plain.named_parameters():
        if (wanted := parameter.grad) is not None:
            exact, rounded = (parameters[name].grad for parameters in others)
            assert (exact - wanted).norm() <= 1e-4 * wanted.norm() + 1e-7, name
            assert (rounded - wanted).norm() <= 0.05 * wanted.norm() + 1e-7, name
            differ += not torch.equal(exact, rounded)
    assert differ


def test_a_gpu_is_given_16_bits_and_gives_32() -> None:
    """Types and shapes, on a device without memory."""
    rows = torch.empty(2, 8, 8, 27, dtype=torch.bfloat16, device="meta")
    weight = torch.empty(16, 27, dtype=torch.bfloat16, device="meta")
    sums = bf16_products.products(rows, weight)
    assert (sums.shape, sums.dtype) == ((2, 8, 8, 16), torch.float32)


def test_only_gpus_whose_products_are_exact_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    capability, sums = [(9, 0)], [True]
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability[0])
    monkeypatch.setattr(bf16_products, "passes_trial", lambda device: sums[0])

    def answer(device: torch.device) -> bool:
        multiplies_exactly.cache_clear()
        return multiplies_exactly(device)

    assert answer(GPU)
    assert not answer(torch.device("cpu"))
    sums[0] = False
    assert not answer(GPU)
    capability[0], sums[0] = (7, 5), True
    assert not answer(GPU)
    multiplies_exactly.cache_clear()


def test_the_trial_sees_sums_of_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    here = torch.device("cpu")
    assert passes_trial(here)
    monkeypatch.setattr(bf16_products, "products", lambda rows, weight: rows @ weight.t())
    assert not passes_trial(here)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_products_of_a_gpu_are_exact() -> None:
    assert passes_trial(torch.device("cuda"))
