"""A run that begins with the weights of another run's checkpoint."""

from pathlib import Path

import pytest
import torch

from tests.train.checkpoint.test_trainer_state import StubSource, trainer
from vecchess.config import TrainConfig, build
from vecchess.errors import ConfigError, NetworkError
from vecchess.train.checkpoint.checkpoint_folder import CheckpointFolder
from vecchess.train.checkpoint.trainer_state import TrainerState
from vecchess.train.initial_network import first_net, first_sizes


def config(folder: Path, file: Path, sizes: str = "") -> TrainConfig:
    net = folder / "sizes.toml"
    net.write_text(f'blocks = 1\nchannels = 32\ntactical = false\nreadout = "spikes"\n{sizes}')
    return build(TrainConfig, {"net": str(net), "init_from": str(file)})


@pytest.mark.parametrize("folded", [False, True])
def test_it_begins_with_the_average_in_its_phase(tmp_path: Path, folded: bool) -> None:
    before = trainer(1, folded)
    TrainerState(before, StubSource(), CheckpointFolder(tmp_path)).save()
    (file,) = tmp_path.glob("*.safetensors")

    net = first_net(config(tmp_path, file))
    assert net.folded == folded
    wanted = before.learner.average.net.state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in net.state_dict().items())
    learnt = before.learner.net.state_dict()
    assert not all(torch.equal(tensor, learnt[name]) for name, tensor in wanted.items())
    assert first_net(config(tmp_path, file, "time_steps = 8\n")).config.time_steps == 8

    with pytest.raises(ConfigError, match="other sizes"):
        first_sizes(config(tmp_path, file, "value_channels = 16\n"))
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(NetworkError, match=f"checkpoint {file}: it is truncated"):
        first_net(config(tmp_path, file))
    file.unlink()
    with pytest.raises(NetworkError, match=f"there is no checkpoint {file}"):
        first_net(config(tmp_path, file))
