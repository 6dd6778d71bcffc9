"""Which backend a device gets, and what people are told where it is not the fastest."""

import pytest
import torch

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import ConfigError
from vecchess.inference.backend_registry import choose_backend, obstacle_to_cuda, open_backend
from vecchess.inference.reference import ReferenceBackend
from vecchess.snn.initialise import new_network
from vecchess.snn.kernels import triton_support
from vecchess.snn.presets import NetConfig

CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32)
NET = new_network(CONFIG, 1, random_positions(16, 1)[0])
GPU = "cuda:0"


@pytest.fixture
def hopper(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As if there were an H200 here, and Triton."""
    monkeypatch.setattr(triton_support, "find_spec", lambda name: object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    return monkeypatch


def test_auto_takes_the_fastest(hopper: pytest.MonkeyPatch) -> None:
    assert choose_backend("auto", CONFIG, "cpu") == ("cpu", "")
    assert choose_backend("auto", CONFIG, GPU) == ("cuda", "")
    assert choose_backend("reference", CONFIG, GPU) == ("reference", "")


def test_auto_falls_back_to_torch_and_says_why(hopper: pytest.MonkeyPatch) -> None:
    def reason(config: NetConfig = CONFIG) -> str:
        name, reason = choose_backend("auto", config, GPU)
        assert name == "torch"
        assert reason.startswith("using plain torch, which is slower: ")
        return reason

    assert "plain ones" in reason(NetConfig(num_planes=9, kind="plain", widths=(32, 64)))
    hopper.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert "Some GPU has compute capability 7.5, the Triton kernels need 8.0" in reason()
    hopper.setattr(torch.version, "hip", "7.0")
    assert "ROCm" in reason()
    hopper.setattr(triton_support, "find_spec", lambda name: None)
    assert "Triton is not installed" in reason()


def test_cuda_is_refused_where_it_cannot_run(hopper: pytest.MonkeyPatch) -> None:
    hopper.setattr(triton_support, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="'cuda' cannot run here: Triton is not installed"):
        open_backend("cuda", NET, 1, device=GPU)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_cuda_needs_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    triton = pytest.importorskip("triton")
    assert "no CUDA device" in obstacle_to_cuda(CONFIG, GPU)
    assert open_backend("cuda", NET, 1).num_slots == 1
    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    with pytest.raises(ConfigError, match="need a GPU"):
        open_backend("cuda", NET, 1)


def test_torch_is_the_reference() -> None:
    assert isinstance(open_backend("torch", NET, 1), ReferenceBackend)
