"""Modules as networks: weights, hashes and files, and one line for everything that is wrong."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.networks import modules
from vecchess.errors import ConfigError, NetworkError, VecchessError
from vecchess.networks.module_net import ModuleNet, create_module_net, save_module_net
from vecchess.networks.step_module import check_step_module
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.integer.net_file import load_net

HERE = "module:tests.networks.modules"


def _opened(text: str) -> ModuleNet:
    """The network, checked as a backend does."""
    net = create_module_net(text, seed=0)
    check_step_module(net.module(), net.config, net.spec.chunk or 4)
    return net


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    first, again = (create_module_net(f"{HERE}:leaking", seed=1) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert first.sha256 == again.sha256
    assert first.sha256 != create_module_net(f"{HERE}:leaking", seed=2).sha256
    assert first.sha256 != create_module_net(f"{HERE}:leaking?least=2", seed=1).sha256


def test_a_file_gives_the_same_network(tmp_path: Path) -> None:
    net, file = create_module_net(f"{HERE}:leaking?least=3", seed=3), tmp_path / "n.safetensors"
    save_module_net(net, file)
    text = str(net.spec.with_weights(file))
    read = create_module_net(text, seed=9)
    assert read.sha256 == net.sha256
    assert str(read.spec) == f"{HERE}:leaking?least=3"
    with pytest.raises(NetworkError, match=r"holds weights of module:tests.*:leaking\?least=3: na"):
        load_net(file)


def test_a_plain_state_dict_will_do(tmp_path: Path) -> None:
    module = modules.leaking()
    save_file(module.state_dict(), tmp_path / "w.safetensors")
    net = create_module_net(f"{HERE}:leaking?weights={tmp_path}/w.safetensors", seed=0)
    assert torch.equal(net.tensors["wdl.weight"], module.state_dict()["wdl.weight"])


def test_weights_that_do_not_fit_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    text = f"{HERE}:leaking?weights={file}"
    with pytest.raises(NetworkError, match="there is no file of weights"):
        create_module_net(text, seed=0)
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(NetworkError, match="truncated, or no safetensors"):
        create_module_net(text, seed=0)
    save_file({"other": torch.zeros(2)}, file)
    with pytest.raises(NetworkError, match="the weights do not fit the module") as error:
        create_module_net(text, seed=0)
    assert "\n" not in str(error.value)


def test_the_exit_rule_is_in_accumulator_units() -> None:
    net = create_module_net(f"{HERE}:leaking?least=3", seed=0)
    assert net.unit_bits == 17
    assert ExitRule.from_metadata(net.exit_rule) == ExitRule(min_steps=3)
    never = create_module_net(f"{HERE}:leaking", seed=0)
    assert ExitRule.from_metadata(never.exit_rule) == ExitRule.never()


@pytest.mark.parametrize(
    ("factory", "line"),
    [
        ("random", "the same positions get different answers"),
        ("mixing", "with 4 positions at a time an answer depends on its slot"),
        ("narrow", r"a time step gives \[4, 100\], not \[4, 4672\]"),
        ("growing", r"a tensor of the state was .*\[4, 4, 8, 8\] and is .*\[4, 4, 4, 8\] now"),
        ("slotless", "its first dimension has to be the slots, here 4"),
        ("endless", "its time_steps: Input should be less than or equal to 64"),
        ("stateless", "the module has no time_steps"),
        ("no_module", "gives a int, not a torch.nn.Module"),
        ("counting?readout=sum", "its readout: Input should be 'mean' or 'last'"),
    ],
)
def test_a_module_that_breaks_the_contract_is_refused(factory: str, line: str) -> None:
    with pytest.raises(NetworkError, match=line) as error:
        _opened(f"{HERE}:{factory}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("factory", "line"),
    [
        ("failing", "the factory fails: RuntimeError: no luck"),
        ("leaking?depth=3", "unexpected keyword argument 'depth'"),
        ("leaking?least=many", "the factory fails: ValueError"),
        ("absent", "has no function absent"),
    ],
)
def test_a_factory_that_cannot_be_called_is_refused(factory: str, line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        create_module_net(f"{HERE}:{factory}", seed=0)


def test_one_row_at_a_time_mixes_nothing() -> None:
    assert _opened(f"{HERE}:mixing?chunk=1").spec.chunk == 1


def test_files_keep_the_versions_of_libraries(tmp_path: Path) -> None:
    file = tmp_path / "n.safetensors"
    save_module_net(create_module_net(f"{HERE}:leaking", seed=0), file)
    data = file.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    entry = json.loads(header["__metadata__"]["vecchess"])
    assert entry["module"] == f"{HERE}:leaking"
    assert (
        entry["libraries"]["torch"] == torch.__version__.partition("+")[0]
        or entry["libraries"]["torch"] == torch.__version__
    )


def test_every_error_is_ours() -> None:
    for text in ("module:", f"{HERE}:failing", f"{HERE}:no_module", "module:absent.one:make"):
        with pytest.raises(VecchessError):
            _opened(text)
