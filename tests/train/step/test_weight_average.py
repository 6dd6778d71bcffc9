"""The average of the weights: its formula, the grid of a folded network, and the fold."""

from copy import deepcopy

import torch

from tests.train.step.alone import ALONE
from vecchess.config import OptimiserConfig, TrainConfig
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import exported, from_integers
from vecchess.train.step.learner import Learner
from vecchess.train.step.optimiser import WeightAverage

SIZES = NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4)


def noise(net: SpikingNet, size: float, seed: int) -> None:
    """Move the weights and statistics, as learning would."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in net.state_dict().items():
            if not name.endswith("shift"):
                tensor.add_(torch.randn(tensor.shape, generator=generator).abs() * size)
    net.settle_grid()


def test_the_average_follows_with_the_horizon_of_a_short_run() -> None:
    net = SpikingNet(SIZES)
    average = WeightAverage(net, 0.9)
    wanted = {name: tensor.double() for name, tensor in net.state_dict().items()}
    for step in range(60):
        noise(net, 0.01, step)
        average.update(net, step)
        decay = min(0.9, (1 + step) / (10 + step))
        for name, tensor in net.state_dict().items():
            wanted[name] = decay * wanted[name] + (1 - decay) * tensor.double()
    for name, tensor in average.net.state_dict().items():
        assert torch.allclose(tensor.double(), wanted[name], rtol=1e-4, atol=1e-6), name
    assert not any(parameter.requires_grad for parameter in average.net.parameters())


def test_the_average_of_a_folded_network_can_be_deployed() -> None:
    net = SpikingNet(SIZES)
    net.fold()
    average = WeightAverage(net, 0.5)
    finest = net.layer("stem").shift.clone()
    for step in range(20):
        noise(net, 0.05 if step < 10 else -0.04, step)  # weights grow, and become small again
        average.update(net, 1000)
        settled = deepcopy(average.net)
        settled.settle_grid()
        for name, tensor in settled.state_dict().items():
            assert torch.equal(tensor, average.net.state_dict()[name]), name
        deployed = from_integers(exported(average.net)).eval()
    assert (net.layer("stem").shift < finest).any()
    planes = torch.randint(0, 2, (8, 8, 8, 25), generator=torch.Generator().manual_seed(1)).float()
    with torch.no_grad():
        ours, its = average.net.eval()(planes), deployed(planes)
    assert torch.equal(ours.policy, its.policy)


def learner_with(ema: float) -> Learner:
    torch.manual_seed(1)
    config = TrainConfig(optimiser=OptimiserConfig(ema=ema))
    return Learner(config, SpikingNet(SIZES), ALONE)


def test_the_folded_network_starts_from_the_average() -> None:
    learner = learner_with(0.9)
    assert learner.average is not None
    for step in range(30):
        noise(learner.net, 0.01, step)
        learner.average.update(learner.net, 1000)
    played = exported(learner.played).sha256
    assert played != exported(learner.net).sha256
    learner.fold()
    assert exported(learner.net).sha256 == exported(learner.played).sha256 == played
    noise(learner.net, 0.05, 99)
    assert exported(learner.played).sha256 == played, "its tensors are its own"


def test_without_a_decay_the_weights_play() -> None:
    learner = learner_with(0.0)
    assert learner.average is None
    assert learner.played is learner.net
