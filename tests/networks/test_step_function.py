"""Time steps in bfloat16 and compiled: what they compute, and that no slot or thread matters."""

import shutil

import numpy as np
import pytest
import torch

from tests.inference.requests import same
from tests.networks.slots import is_the_same_in_any_slot, served
from vecchess.errors import NetworkError
from vecchess.networks.module_net import create_module_net
from vecchess.networks.state_nest import leaves
from vecchess.networks.step_function import step_function
from vecchess.networks.step_module import check_step_module

HERE, LSTM = "module:tests.networks.modules", "module:examples.lstm_history.network:make"
ROWS = list(range(6))
COMPILES = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="needs a C++ compiler"
)


@pytest.mark.thorough
@pytest.mark.parametrize("net", [f"{HERE}:leaking?precision=bf16", f"{LSTM}?precision=bf16"])
def test_answers_in_bfloat16_are_the_same_in_any_slot(net: str) -> None:
    assert is_the_same_in_any_slot(net)


def test_answers_in_bfloat16_are_rounded_ones() -> None:
    _, whole, _ = served(LSTM, 6, ROWS, 6)
    _, rounded, _ = served(f"{LSTM}?precision=bf16", 6, ROWS, 6)
    assert not np.array_equal(whole, rounded)
    assert np.abs(whole - rounded).max() < np.abs(whole).max() / 16


def test_a_state_keeps_its_type() -> None:
    net = create_module_net(f"{HERE}:remembering?precision=bf16", seed=0)
    module, planes = net.module(), torch.ones(3, net.config.num_planes, 8, 8)
    state = module.initial_state(3)
    policy, wdl, after = step_function(module, net.spec, torch.device("cpu"))(planes, state)
    assert policy.dtype == wdl.dtype == torch.float32
    assert [tensor.dtype for tensor in leaves(after)] == [torch.float32]
    with torch.autocast("cpu", torch.bfloat16):
        _, _, rounded = module.forward(planes, state)
    assert [tensor.dtype for tensor in leaves(rounded)] == [torch.bfloat16]


@pytest.mark.thorough
@pytest.mark.slow
@COMPILES
def test_a_compiled_step_computes_the_same_in_any_slot() -> None:
    net = f"{HERE}:leaking?compile=yes"
    assert is_the_same_in_any_slot(net)
    assert same(served(f"{HERE}:leaking", 6, ROWS, 6), served(net, 6, ROWS, 6))


def test_threads_that_disagree_are_refused() -> None:
    net = create_module_net(f"{HERE}:leaking", seed=0)
    other = create_module_net(f"{HERE}:leaking", seed=1)
    module = net.module()
    with pytest.raises(NetworkError, match="its threads give different answers"):
        check_step_module(module, net.config, 4, [module.forward, other.module().forward])


@pytest.mark.thorough
def test_without_a_compiler_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    monkeypatch.setenv("CXX", "/no/such/compiler")
    with config.patch({"cpp.cxx": ("/no/such/compiler",), "force_disable_caches": True}):
        torch._dynamo.reset()
        with pytest.raises(NetworkError, match=r"a time step fails: .*compiler") as error:
            check(f"{HERE}:leaking?compile=yes")
    assert "\n" not in str(error.value)


def check(text: str) -> None:
    """Check a module as a backend does, in this thread."""
    net = create_module_net(text, seed=0)
    module = net.module()
    step = step_function(module, net.spec, torch.device("cpu"))
    check_step_module(module, net.config, 4, [step])
