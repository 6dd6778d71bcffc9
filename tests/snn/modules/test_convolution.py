"""Convolutions: what a GPU's is given, seen on the processor, where autocast works the same way;
and the gradient of the inputs by transformed tiles."""

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from vecchess.snn.kernels.winograd import HAS_PAIRS
from vecchess.snn.modules.convolution import convolve, convolve_back
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import preset

TINY = preset("tiny", 25)


class Seen(TorchDispatchMode):
    """Notes what convolutions are given: type, and whether channels are last in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.forward: list[tuple[torch.dtype, bool]] = []
        self.backward: list[tuple[torch.dtype, bool]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        notes = {"convolution": self.forward, "convolution_backward": self.backward}
        for name, seen in notes.items():
            if function.overloadpacket is getattr(torch.ops.aten, name):
                tensors = args[: 3 if name == "convolution_backward" else 2]
                seen += [
                    (x.dtype, x.is_contiguous(memory_format=torch.channels_last)) for x in tensors
                ]
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
def test_autocast_reaches_convolutions_and_channels_stay_last(kind: torch.dtype) -> None:
    torch.manual_seed(1)
    spikes = (torch.rand(2, 5, 8, 8, 32) < 0.1).float().requires_grad_()
    weight = torch.randn(64, 9 * 32, requires_grad=True)
    with Seen() as seen:
        with torch.autocast("cpu", kind, enabled=kind != torch.float32):
            currents = convolve(spikes, weight)
        currents.backward(torch.randn_like(currents))
    assert currents.dtype == kind
    assert currents.is_contiguous()
    assert seen.forward == [(kind, True)] * 2
    assert seen.backward == [(kind, True)] * 3
    assert weight.grad is not None
    assert weight.grad.dtype == spikes.grad.dtype == torch.float32


def _gradient_by_taps(upstream: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    boards = torch.zeros(*upstream.shape[:-1], weight.shape[1] // 9, dtype=upstream.dtype)
    convolve(boards.requires_grad_(), weight).backward(upstream)
    assert boards.grad is not None
    return boards.grad


@pytest.mark.parametrize("in_pairs", [False, True])
@pytest.mark.parametrize(("inputs", "outputs"), [(32, 32), (64, 64), (96, 32), (25, 64), (32, 128)])
def test_gradient_of_inputs_is_that_of_the_sum_over_taps(
    inputs: int, outputs: int, in_pairs: bool
) -> None:
    if in_pairs and not HAS_PAIRS:
        pytest.skip("this processor has no products of bfloat16")
    torch.manual_seed(1)
    upstream = torch.randn(3, 5, 8, 8, outputs) * torch.exp(4 * torch.randn(3, 5, 1, 1, 1))
    weight = torch.randn(outputs, 9 * inputs)
    expected = _gradient_by_taps(upstream.double(), weight.double())
    error = convolve_back(upstream, weight, in_pairs).double() - expected
    assert error.shape == expected.shape
    board = (2, 3, 4)
    spread = expected.square().mean(board).sqrt()
    typical, largest = (0.04, 0.5) if in_pairs else (1e-5, 2e-4)
    assert (error.square().mean(board).sqrt() < typical * spread).all()
    assert (error.abs().amax(board) < largest * spread).all()
    scale = (error * expected).sum((1, *board)) / expected.square().sum((1, *board))
    assert (scale.abs() < typical / 5).all()  # errors have no direction


@pytest.mark.skipif(not HAS_PAIRS, reason="this processor has no products of bfloat16")
def test_autocast_rounds_the_gradients_of_a_layer_and_nothing_else() -> None:
    found = []
    for precision in ("fp32", "bf16"):
        torch.manual_seed(1)
        net = SpikingNet(TINY).train()
        planes = (torch.rand(4, 8, 8, TINY.num_planes) < 0.2).float()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            output = net(planes)
        (output.policy.square().mean() + output.wdl.square().mean()).backward()
        grads = [net.layer(name).weight.grad for name in ("stem", "policy")]
        found.append((output, *(torch.zeros(()) if grad is None else grad for grad in grads)))
    (plain, stem, policy), (rounded, near, same) = found
    assert torch.equal(plain.policy, rounded.policy)
    assert torch.equal(plain.wdl, rounded.wdl)
    assert torch.equal(policy, same)
    assert 0 < (near - stem).norm() < 0.1 * stem.norm()


def test_gradient_of_a_board_does_not_depend_on_other_boards_or_threads() -> None:
    torch.manual_seed(1)
    upstream, weight = torch.randn(13, 8, 8, 64), torch.randn(64, 9 * 64)
    whole = convolve_back(upstream, weight)
    parts = [convolve_back(part, weight) for part in upstream.split([1, 3, 2, 7])]
    assert torch.equal(torch.cat(parts), whole)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(convolve_back(upstream, weight), whole)
    finally:
        torch.set_num_threads(before)
