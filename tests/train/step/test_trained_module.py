"""A module that a user brings in the learner: gradients, exports, and what play computes."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.train.games import games, searched
from tests.train.step.alone import Alone
from tests.train.step.test_learner import BATCH, OBJECTIVES, config_of
from vecchess.chess.sample import random_planes
from vecchess.networks.module_net import ModuleNet, create_module_net
from vecchess.snn.modules.network import unpack_bitboards
from vecchess.train.data.samples import Samples, make_samples
from vecchess.train.data.shard_block import trainable_plies
from vecchess.train.step.learner import Learner
from vecchess.train.step.trained_module import TrainedModule

HERE = "module:tests.networks.modules"


@pytest.fixture(scope="module")
def batch() -> Samples[Tensor]:
    records = searched(games(6))
    chosen = np.random.default_rng(1).choice(trainable_plies(records), BATCH)
    samples = make_samples(records, chosen)
    bits = samples._replace(planes=samples.planes.view(np.int64))
    return bits.map(torch.from_numpy)


def _net(name: str) -> ModuleNet:
    return create_module_net(f"{HERE}:{name}", seed=0)


def _learner(objective: str, name: str = "learning") -> Learner:
    return Learner(config_of(objective, fold_at=0.0), TrainedModule(_net(name)), Alone())


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_loss_falls(objective: str, batch: Samples[Tensor]) -> None:
    learner = _learner(objective)
    learner.begin_generation()
    losses = [learner.step(batch, 0.5, [0.0]).means["loss"] for _ in range(8)]
    assert losses[-1] < losses[0]


def test_gradients_are_those_of_a_plain_loop(batch: Samples[Tensor]) -> None:
    """Through all time steps; the value alone, which has no legal moves."""
    trained = TrainedModule(_net("learning"))
    plain = copy.deepcopy(trained.module)
    planes = batch.planes[:8]
    trained(planes).wdl[-1].square().sum().backward()
    boards = unpack_bitboards(planes).permute(0, 3, 1, 2).contiguous()
    state, total = plain.initial_state(8), torch.zeros(8, 3)
    for _ in range(plain.time_steps):
        _, wdl, state = plain(boards, state)
        total = total + wdl
    total.square().sum().backward()
    for ours, theirs in zip(trained.module.parameters(), plain.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None)
        if ours.grad is not None:
            assert torch.allclose(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def test_what_learnt_is_exported(batch: Samples[Tensor]) -> None:
    learner = _learner("supervised")
    before = learner.exported()
    learner.step(batch, 0.5, [0.0])
    after = learner.exported()
    assert isinstance(before, ModuleNet)
    assert isinstance(after, ModuleNet)
    assert before.sha256 != after.sha256
    assert before.config == after.config
    assert learner.average is not None
    assert isinstance(learner.average.net, TrainedModule)
    weight = learner.average.net.module.state_dict()["wdl.weight"]
    assert torch.equal(after.tensors["wdl.weight"], weight)


@torch.no_grad()
def test_the_last_output_counts_where_a_module_asks_for_it() -> None:
    planes = torch.from_numpy(random_planes(4, 1, 25).view("int64"))
    answers = [TrainedModule(_net(f"counting?readout={kind}"))(planes) for kind in ("mean", "last")]
    steps = torch.arange(1, 6)
    means, lasts = (answer.wdl[:, 0, 0] / steps for answer in answers)
    assert torch.equal(lasts, 0.25 * steps)
    assert torch.allclose(means, 0.125 * (steps + 1))


def test_statistics_are_averaged_over_ranks() -> None:
    trained = TrainedModule(_net("normalised"))
    assert not trained.learns_as_it_plays
    norm = next(one for one in trained.modules() if isinstance(one, nn.BatchNorm2d))
    norm.running_mean.fill_(3.0)

    def add_another_rank(tensors: list[Tensor]) -> None:
        for tensor, other in zip(tensors, (1.0, 1.0, 1.0), strict=True):
            tensor += other

    trained.absorb_statistics(add_another_rank)
    assert torch.equal(norm.running_mean, torch.full_like(norm.running_mean, 2.0))
    assert TrainedModule(_net("learning")).learns_as_it_plays
