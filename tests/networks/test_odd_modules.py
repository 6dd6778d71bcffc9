"""Modules of users that are served rightly, or refused in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.system.commands import inside, last_json, vecchess
from vecchess.config import OptimiserConfig
from vecchess.errors import ConfigError, NetworkError, VecchessError
from vecchess.inference.backend_registry import open_backend
from vecchess.networks.module_net import as_module_net, create_module_net, save_module_net
from vecchess.networks.module_spec import ModuleSpec
from vecchess.train.checkpoint.checkpoint_folder import decode_checkpoint, encode_checkpoint
from vecchess.train.step.optimiser import make_optimiser
from vecchess.train.step.trained_module import TrainedModule

ODD = "module:tests.networks.odd_modules:make?kind="


def test_lazy_layers_draw_their_weights_by_the_seed() -> None:
    one, again, other = (create_module_net(f"{ODD}lazy", seed) for seed in (1, 1, 2))
    assert one.tensors["policy.weight"].shape == (4672, 8)
    assert one.sha256 == again.sha256 != other.sha256


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("extra", "_extra_state is no tensor"),
        ("complex", "phase is torch.complex64"),
        ("exits", "the factory fails: SystemExit: 3"),
        ("text", "its time_steps is '4', a str; settings are texts, int"),
    ],
)
def test_what_cannot_be_served_is_one_line(kind: str, reason: str) -> None:
    with pytest.raises(VecchessError, match=reason) as caught:
        create_module_net(f"{ODD}{kind}", 1)
    assert caught.value.exit_code == 2
    done = inside("net", "check", f"{ODD}{kind}")
    assert (done.returncode, done.stderr.count("vecchess: error")) == (2, 1)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("pair", r"forward gives a tuple of 2: \[\d+, 4672\], \[\d+, 3\]; it has to give policy"),
        ("dictionary", "forward gives a dictionary of policy, value; it has to give policy"),
        ("alone", r"forward gives \[\d+, 4672\]; it has to give policy"),
        ("swapped", r"a time step gives \[32, 3\], not \[32, 4672\]"),
        ("infinite", "policy has [0-9,]+ numbers that are not finite in step 1, as -inf"),
    ],
)
def test_an_answer_in_another_form_is_described(kind: str, reason: str) -> None:
    net = create_module_net(f"{ODD}{kind}", 1)
    with pytest.raises(NetworkError, match=reason):
        open_backend("auto", net, 4)
    if kind != "infinite":
        with pytest.raises(NetworkError, match=reason.replace("32", "5")):
            TrainedModule(net)


@pytest.mark.parametrize("names", ["module.{}", "_orig_mod.{}", "module._orig_mod.{}", "net.{}"])
def test_weights_that_wrappers_have_renamed_are_read(names: str, tmp_path: Path) -> None:
    net = create_module_net(f"{ODD}plain", 1)
    file = tmp_path / "weights.safetensors"
    save_file({names.format(name): tensor for name, tensor in net.tensors.items()}, file)
    again = create_module_net(f"{ODD}plain&weights={file}", 2)
    assert again.sha256 == net.sha256


def test_weights_of_the_network_in_an_adapter_are_read(tmp_path: Path) -> None:
    spec = "module:tests.networks.snntorch_networks:looping"
    net = create_module_net(spec, 1)
    file = tmp_path / "weights.safetensors"
    save_file({name.removeprefix("net."): one for name, one in net.tensors.items()}, file)
    assert create_module_net(f"{spec}?weights={file}", 2).sha256 == net.sha256


def test_tied_weights_are_stored_and_come_back(tmp_path: Path) -> None:
    net = create_module_net(f"{ODD}tied", 1)
    module = net.module()
    data = encode_checkpoint(module.state_dict(), {}, {})
    tensors, _ = decode_checkpoint(data)
    assert torch.equal(tensors["policy.weight"], tensors["other.weight"])
    views = {"one": torch.arange(6.0)[:3], "whole": torch.arange(6.0)}
    views["part"] = views["whole"][1:4]
    again, _ = decode_checkpoint(encode_checkpoint(views, {}, {}))
    assert all(torch.equal(again[name], views[name]) for name in views)
    save_module_net(as_module_net(module, ModuleSpec.parse(f"{ODD}tied")), tmp_path / "net")
    assert (tmp_path / "net").stat().st_size > 4672 * 8 * 4


def test_frozen_weights_play_and_do_not_learn() -> None:
    module = create_module_net(f"{ODD}frozen", 1).module()
    module.requires_grad_(False)
    with pytest.raises(ConfigError, match="all of its weights are frozen"):
        make_optimiser(module, OptimiserConfig())


@pytest.mark.thorough
def test_what_a_module_prints_is_no_result() -> None:
    done = vecchess("net", "info", f"{ODD}plain", "--json")
    assert done.returncode == 0, done.stderr
    assert last_json(done)["config"]["time_steps"] == 1
    assert done.stdout.count("\n") == 1
    assert "making a module of kind plain" in done.stderr


@pytest.mark.thorough
def test_a_module_that_exits_at_import_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "leaver.py").write_text("import sys\nsys.exit(0)\n")
    command = [sys.executable, "-m", "vecchess_cli.main", "net", "check", "module:leaver:make"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("vecchess: error: cannot import leaver: SystemExit: 0")
