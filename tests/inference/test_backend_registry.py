"""Which backend a device gets, and what people are told where it is not the fastest."""

import re

import pytest
import torch

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.config import SelfplayConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.backend_registry import choose_backend, obstacle_to_cuda, open_backend
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.reference import ReferenceBackend
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.kernels import triton_support
from vecchess.snn.presets import NetConfig

CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4)
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
        assert name == "reference"
        assert reason.startswith("using plain torch, which is slower: ")
        return reason

    assert "plain ones" in reason(
        NetConfig(num_planes=9, kind="plain", widths=(32, 64), time_steps=4)
    )
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


def test_a_gpu_that_torch_cannot_use_is_refused_with_torchs_reason(
    hopper: pytest.MonkeyPatch,
) -> None:
    """And not taken for a slower one: its driver may be too old."""

    def init() -> None:
        raise RuntimeError("The NVIDIA driver on your system is too old (found 11040).\nUpdate it.")

    hopper.setattr(torch.cuda, "is_available", lambda: False)
    hopper.setattr(torch.cuda, "init", init)
    for name in ("auto", "reference", "cuda"):
        with pytest.raises(ConfigError, match="is too old") as caught:
            open_backend(name, NET, 1, device=GPU)
        assert str(caught.value) == (
            "device 'cuda:0': torch finds no CUDA device: The NVIDIA driver on your system is too "
            "old (found 11040).; --gpus cpu uses the processor"
        )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_cuda_needs_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    triton = pytest.importorskip("triton")
    assert "no CUDA device" in obstacle_to_cuda(CONFIG, GPU)
    assert open_backend("cuda", NET, 1).num_slots == 1
    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    with pytest.raises(ConfigError, match="need a GPU"):
        open_backend("cuda", NET, 1)


def open_seventh(network, num_slots, exit_rule, device, threads, scale="1"):  # type: ignore[no-untyped-def]
    """A factory as users write them."""
    backend = ConstantBackend(num_slots)
    backend.policy_scale = float(scale) / 7
    return backend


HERE = f"{__name__}:open_seventh"


@pytest.mark.parametrize("network", [NET, "constant"])
def test_a_backend_of_ones_own(network: IntegerNet | str) -> None:
    assert build(SelfplayConfig, {"backend": HERE}).backend == HERE
    assert open_backend(HERE, network, 5).policy_scale == 1 / 7
    assert open_backend(f"{HERE}?scale=14", network, 5).policy_scale == 2
    assert choose_backend(HERE, CONFIG, GPU) == (HERE, "")


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("no_such_module:open", "No module named 'no_such_module'; is its folder in PYTHONPATH?"),
        (f"{__name__}:nothing", "has no function nothing"),
        (f"{HERE}?size=3", "unexpected keyword argument 'size'"),
        (f"{HERE}?scale=large", "could not convert string to float: 'large'"),
    ],
)
def test_a_factory_that_cannot_be_called(backend: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^backend '{re.escape(backend)}': ") as caught:
        open_backend(backend, NET, 1)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("gpu", "should be one of 'auto', 'cpu', 'cuda', 'reference', or module:factory"),
        ("1:open", "is not module:factory"),
        (f"{HERE}?scale=1&scale=2", "scale is given twice"),
        (f"{HERE}?scale", "'scale' is no setting: write NAME=VALUE"),
    ],
)
def test_names_that_are_not_understood(backend: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"^backend: ") as caught:
        build(SelfplayConfig, {"backend": backend})
    assert said in str(caught.value)


def test_plain_torch_is_called_the_reference() -> None:
    assert isinstance(open_backend("reference", NET, 1), ReferenceBackend)
    with pytest.raises(ConfigError, match="should be 'reference', as plain torch is called now"):
        build(SelfplayConfig, {"backend": "torch"})
