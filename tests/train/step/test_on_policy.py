"""On-policy objectives learn exactly what acted: games of a network, played and learnt from."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.selfplay.playing import play
from tests.train.step.alone import Alone
from vecchess.config import GameConfig, TrainConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.cpu.backend import CpuBackend
from vecchess.inference.exit_rule import NEVER, ExitRule
from vecchess.snn.create import create_sized
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import exported, from_integers
from vecchess.store.records import GameRecords
from vecchess.train.data.collate import make_samples
from vecchess.train.data.samples import Samples
from vecchess.train.data.shard_block import trainable_plies
from vecchess.train.step.learner import Learner

SIZES = NetConfig(num_planes=25, blocks=1, channels=32)
BATCH = 128
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


@pytest.mark.parametrize("objective", ["ppo", "reinforce"])
def test_before_the_first_update_every_ratio_is_1(objective: str, played: GameRecords) -> None:
    config = config_of(objective, optimiser={"lr": 4e-3})
    learner = Learner(config, acting_net(), Alone())
    means = learner.step(batch_of(played), 1.0, []).means
    assert means["ratio_error"] == 0
    if objective == "ppo":
        assert (means["clipped"], means["kl"]) == (0, 0)
    again = [learner.step(batch_of(played), 1.0, []).means["ratio_error"] for _ in range(4)]
    assert again[-1] > 0, "ratios that cannot leave 1 would say nothing"


def test_a_network_with_batch_norm_is_another_than_the_one_that_acted(played: GameRecords) -> None:
    torch.manual_seed(3)
    learner = Learner(config_of("ppo"), SpikingNet(SIZES), Alone())
    assert learner.step(batch_of(played), 1.0, []).means["clipped"] > 0.1


@pytest.mark.parametrize("objective", ["ppo", "reinforce"])
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"fold_at": 0.5}, "--fold-at 0"),
        ({"mirror": True}, "mirror = false"),
        ({"loss": {"random_steps": True}}, "random_steps = false"),
        ({"optimiser": {"ema": 0.9}}, "ema = 0"),
    ],
)
def test_what_would_learn_another_policy_is_refused(
    objective: str, settings: dict[str, Any], reason: str
) -> None:
    config = config_of(objective)
    assert (config.fold_at, config.mirror, config.loss.random_steps) == (0, False, False)
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
