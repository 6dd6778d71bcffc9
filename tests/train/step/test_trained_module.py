"""A module that a user brings in the learner: gradients, exports, and what play computes."""

import copy
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.train.games import games, searched
from tests.train.step.alone import ALONE, Together
from tests.train.step.test_learner import BATCH, OBJECTIVES, config_of, learn, learn_together
from vecchess.chess.sample import random_planes
from vecchess.errors import NetworkError
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
    return Learner(config_of(objective, fold_at=0.0), TrainedModule(_net(name)), ALONE)


@pytest.mark.thorough
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


def test_statistics_do_not_depend_on_the_ranks(batch: Samples[Tensor]) -> None:
    """Those of batch norm, over parts of 16 rows, of which ranks have any number."""

    def learner(ranks: Any) -> Learner:
        config = config_of("supervised", fold_at=0.0, micro_batch=16)
        return Learner(config, TrainedModule(_net("normalised")), ranks)

    alone = learner(ALONE)
    assert not alone.net.learns_as_it_plays
    before = alone.exported().tensors["current.1.running_mean"].clone()
    learn(alone, [batch] * 3)
    barrier, table = Barrier(3), {}
    ranks = [learner(Together(rank, barrier, table)) for rank in range(3)]
    for one in ranks:
        one.shares.parts = [1, 3, 0]
    learn_together(ranks, [batch] * 3)
    for one in [alone, *ranks]:
        norm = next(part for part in one.net.modules() if isinstance(part, nn.BatchNorm2d))
        assert norm.num_batches_tracked == 3 * one.net.config.time_steps
        assert one.exported().sha256 == alone.exported().sha256
    assert not torch.equal(before, alone.exported().tensors["current.1.running_mean"])


def test_statistics_of_a_skipped_update_are_forgotten(batch: Samples[Tensor]) -> None:
    learner = _learner("supervised", "normalised")
    norm = next(one for one in learner.net.modules() if isinstance(one, nn.BatchNorm2d))
    bad = batch._replace(outcome=batch.outcome, value=batch.value * torch.nan)
    assert learner.step(bad, 0.5, [0.0]).means["skipped"]
    assert torch.equal(norm.running_mean, torch.zeros_like(norm.running_mean))
    assert not learner.step(batch, 0.5, [0.0]).means["skipped"]
    assert norm.num_batches_tracked == learner.net.config.time_steps


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["layer", "torch", "numpy", "python"])
def test_random_layers_draw_by_the_seed_and_the_update(kind: str, batch: Samples[Tensor]) -> None:
    """Also after a resume; the generators of the process are left as they were."""
    found = []
    for noise in (1, 2):
        learner = _learner("supervised", f"dropping?kind={kind}")
        torch.manual_seed(noise)
        before = torch.random.get_rng_state()
        losses = [learner.step(batch, 0.5, [0.0]).means["loss_value"] for _ in range(2)]
        assert torch.equal(before, torch.random.get_rng_state())
        found.append((losses, learner.exported().sha256))
    assert found[0] == found[1]
    resumed = _learner("supervised", f"dropping?kind={kind}")
    resumed.steps = 1
    assert resumed.step(batch, 0.5, [0.0]).means["loss_value"] != found[0][0][0]


def test_parts_draw_the_same_numbers_on_any_rank(batch: Samples[Tensor]) -> None:
    """Rows are numbered by their place in the batch, not in a rank's share of it."""
    learner = _learner("supervised", "dropping")
    with learner._random_numbers_of(8):
        first = torch.rand(3)
    with learner._random_numbers_of(0):
        other = torch.rand(3)
    with learner._random_numbers_of(8):
        assert torch.equal(torch.rand(3), first)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("kind", ["layer", "torch", "numpy", "python"])
def test_the_old_network_of_ppo_draws_the_same_masks(kind: str, batch: Samples[Tensor]) -> None:
    learner = _learner("ppo", f"dropping?kind={kind}")
    assert not learner.net.learns_as_it_plays
    learner.begin_generation()
    metrics = learner.step(batch, 0.5, [0.0]).means
    assert metrics["ratio_error"] == metrics["clipped"] == 0


@pytest.mark.parametrize(("output", "name"), [("wdl", "win/draw/loss"), ("policy", "policy")])
def test_an_answer_that_is_no_number_is_named(
    output: str, name: str, batch: Samples[Tensor]
) -> None:
    learner = _learner("supervised")
    with torch.no_grad():
        getattr(learner.net.module, output).bias.fill_(torch.nan)
    with pytest.raises(NetworkError, match=rf"learning: {name} is nan in step 1 of '.*/.*'"):
        learner.step(batch, 0.5, [0.0])


def test_an_error_in_a_gradient_is_one_line(batch: Samples[Tensor]) -> None:
    net = create_module_net("module:tests.networks.failing_modules:make?at=backward", seed=0)
    learner = Learner(config_of("supervised", fold_at=0.0), TrainedModule(net), ALONE)
    with pytest.raises(NetworkError, match=r"its gradient fails: ValueError: no luck \(.*.py:\d+"):
        learner.step(batch, 0.5, [0.0])
