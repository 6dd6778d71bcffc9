"""What a GPU's convolution is given, seen on the processor, where autocast works the same way."""

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from vecchess.snn.modules.convolution import convolve


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
