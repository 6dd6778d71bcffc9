"""On-policy objectives: games of a network, played and learnt from."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.selfplay.playing import play
from tests.train.step.alone import ALONE
from vecchess.config import GameConfig, TrainConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.cpu.backend import CpuBackend
from vecchess.snn.create import create_sized
from vecchess.snn.integer.integer_net import NEVER, ExitRule
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import exported, from_integers
from vecchess.store.records import GameRecords
from vecchess.train.data.samples import Samples, make_samples
from vecchess.train.data.shard_block import trainable_plies
from vecchess.train.step.device_batcher import normalise
from vecchess.train.step.learner import Learner
from vecchess.train.step.optimiser import load_optimiser_tensors, optimiser_tensors

SIZES = NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4)
BATCH = 64
RULES = {"all steps": ExitRule(min_steps=NEVER), "early exits": ExitRule(min_steps=1)}


def acting_net() -> SpikingNet:
    """A folded network whose policy is far from uniform."""
    net = from_integers(create_sized(SIZES, 3))
    with torch.no_grad():
        net.policy_gain.mul_(4.0)
    return net


@pytest.fixture(scope="module", params=RULES)
def played(request: pytest.FixtureRequest) -> GameRecords:
    """Games of ``acting_net``."""
    backend = CpuBackend(exported(acting_net()), 16, RULES[request.param])
    records = play(GameConfig(max_plies=60, random_plies=3), 8, backend)
    leaves_early = bool((records.steps[records.steps > 0] < SIZES.time_steps).any())
    assert leaves_early == (request.param == "early exits")
    return records


def batch_of(records: GameRecords) -> Samples[Tensor]:
    plies = np.random.default_rng(1).choice(trainable_plies(records), BATCH)
    samples = make_samples(records, plies)
    return samples._replace(planes=samples.planes.view(np.int64)).map(torch.from_numpy)


def config_of(objective: str, **settings: Any) -> TrainConfig:
    return build(TrainConfig, {"objective": objective, "batch_size": BATCH} | settings)


def float_learner() -> Learner:
    """A learner with batch norm, which acts as another network than it trains."""
    torch.manual_seed(3)
    config = config_of("ppo", optimiser={"lr": 4e-3})
    return Learner(config, SpikingNet(SIZES), ALONE)


@pytest.mark.parametrize("objective", ["ppo", "reinforce"])
def test_an_int8_learner_is_what_acted(objective: str, played: GameRecords) -> None:
    config = config_of(objective, optimiser={"lr": 4e-3})
    learner = Learner(config, acting_net(), ALONE)
    learner.begin_generation()
    means = learner.step(batch_of(played), 1.0, []).means
    assert learner.old is None
    assert means["acting_error"] == 0
    if objective == "ppo":
        assert (means["ratio_error"], means["clipped"], means["kl"]) == (0, 0, 0)
    last = [learner.step(batch_of(played), 1.0, []).means for _ in range(4)][-1]
    moved = last["ratio_error" if objective == "ppo" else "acting_error"]
    assert moved > 0, "ratios that cannot leave 1 would say nothing"


@pytest.mark.parametrize("objective", ["ppo", "reinforce"])
def test_a_game_that_goes_on_is_no_draw(objective: str, played: GameRecords) -> None:
    """Its result, 0 until it ends, teaches nothing: the value at the cut does."""
    batch = batch_of(played)
    others = batch._replace(outcome=(torch.arange(BATCH) % 3 - 1).to(batch.outcome.dtype))
    both = [normalise(config_of(objective), ALONE, rows).advantage for rows in (batch, others)]
    assert torch.equal(*both)
    expected = batch.advantage - batch.advantage.mean()
    assert torch.allclose(both[0], expected / expected.std(correction=0), atol=1e-5)


def test_before_the_fold_ratios_begin_at_1_with_the_statistics_of_any_batch(
    played: GameRecords,
) -> None:
    learner = float_learner()
    learner.begin_generation()
    first, *_, last = [learner.step(batch_of(played), 1.0, []).means for _ in range(4)]
    assert (first["ratio_error"], first["clipped"], first["kl"]) == (0, 0, 0)
    assert first["acting_error"] > 0.1, "another network acted"
    assert last["ratio_error"] > 0
    learner.begin_generation()
    assert learner.step(batch_of(played), 1.0, []).means["ratio_error"] == 0
    learner.fold()
    assert learner.old is None


@pytest.mark.parametrize("keeps_copy", [True, False])
def test_a_generation_goes_on_with_the_copy_alone(played: GameRecords, keeps_copy: bool) -> None:
    """After a stop between its updates it has the same weights, unless the copy is made anew."""
    whole, first, rest = (float_learner() for _ in range(3))
    for learner in (whole, first):
        learner.begin_generation()
        for _ in range(2):
            learner.step(batch_of(played), 1.0, [])
    rest.begin_generation()
    rest.net.load_state_dict(first.net.state_dict())
    assert rest.old is not None
    assert first.old is not None
    rest.old.load_state_dict((first.old if keeps_copy else first.net).state_dict())
    load_optimiser_tensors(rest.optimiser, rest.net, optimiser_tensors(first.optimiser, first.net))
    for learner in (whole, rest):
        learner.step(batch_of(played), 1.0, [])
    pairs = zip(whole.weights(), rest.weights(), strict=True)
    assert all(torch.equal(ours, its) for ours, its in pairs) == keeps_copy


@pytest.mark.parametrize("objective", ["ppo", "reinforce"])
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"mirror": True}, "mirror = false"),
        ({"loss": {"random_steps": 0.5}}, "random_steps = 0"),
        ({"optimiser": {"ema": 0.9}}, "ema = 0"),
    ],
)
def test_what_would_learn_another_policy_is_refused(
    objective: str, settings: dict[str, Any], reason: str
) -> None:
    config = config_of(objective)
    assert (config.mirror, config.loss.random_steps) == (False, 0)
    assert config.optimiser.ema == 0
    with pytest.raises(ConfigError, match=f"^{objective} .*{reason}"):
        config_of(objective, **settings)


def test_random_moves_of_an_opening_are_not_learnt() -> None:
    """A game that ends in its random opening has no evaluated ply, so that all plies are drawn."""
    records = play(GameConfig(max_plies=12, random_plies=3), 4)
    records = replace(records, steps=np.zeros_like(records.steps))
    samples = make_samples(records, trainable_plies(records))
    assert not samples.has_policy[samples.prob < 1].any()
    assert (samples.prob < 1).sum() > 20
