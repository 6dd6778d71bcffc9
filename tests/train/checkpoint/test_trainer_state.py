"""A trainer's state: restored to the bit, refused where it is another network's or damaged."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.train.step.alone import ALONE
from vecchess.config import TrainConfig
from vecchess.errors import ConfigError, DataError, VecchessError
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.train.checkpoint.checkpoint_folder import (
    CheckpointFolder,
    decode_checkpoint,
    encode_checkpoint,
)
from vecchess.train.checkpoint.trainer_state import TrainerState
from vecchess.train.step.learner import Learner
from vecchess.train.trainer import TrainProgress

SPANS = [[[4 * i + node, 4 * i + node + 4, 10_000] for node in range(4)] for i in range(2500)]


FACTS = {"net": {"time_steps": 4}}


class StubSource:
    """A source whose state is ``spans``."""

    def __init__(self, spans: Any = None) -> None:
        self.spans = spans

    def state(self) -> dict[str, Any]:
        return {"spans": self.spans}

    def restore(self, state: dict[str, Any]) -> None:
        self.spans = state["spans"]


def trainer(seed: int, folded: bool = False, channels: int = 32) -> Any:
    """A trainer whose learner has a network and an optimiser with state, without a loop."""
    torch.manual_seed(seed)
    net = SpikingNet(NetConfig(num_planes=25, blocks=1, channels=channels, time_steps=4))
    learner = Learner(TrainConfig(), net, ALONE)
    if folded:
        learner.fold()
    for parameter in net.parameters():
        parameter.grad = torch.randn_like(parameter)
    learner.optimiser.step()
    assert learner.average is not None
    learner.average.update(net, 0)
    ranks = SimpleNamespace(
        world_size=1, broadcast_object=lambda value: value, broadcast_bytes=lambda data: data
    )
    reporter = SimpleNamespace(report_line=print)
    return SimpleNamespace(
        config=learner.config,
        learner=learner,
        ranks=ranks,
        reporter=reporter,
        progress=TrainProgress(),
    )


@pytest.fixture
def saved(tmp_path: Path) -> CheckpointFolder:
    """A checkpoint of a trainer of seed 1."""
    folder, first = CheckpointFolder(tmp_path / "checkpoints"), trainer(1)
    first.learner.steps, first.learner.samples = 7, 70
    first.learner.rates = [0.1, 0.2, 1 / 3, 0.4]
    first.learner.done, first.learner.skipped = 2.75, 3
    first.progress = TrainProgress(2, 3, 400, True, False, [{"elo": 0.1 + 0.2, "opponent": None}])
    TrainerState(first, StubSource(SPANS), folder).save()
    return folder


@pytest.mark.parametrize("folded", [False, True])
def test_a_trainer_is_restored_to_the_bit(tmp_path: Path, folded: bool) -> None:
    folder, first, again = CheckpointFolder(tmp_path), trainer(1, folded), trainer(2)
    TrainerState(first, StubSource(), folder).save()
    TrainerState(again, StubSource(), folder).restore()
    for learner in (first.learner, again.learner):
        for parameter in learner.net.parameters():
            parameter.grad = torch.full_like(parameter, 0.5)
        learner.optimiser.step()
        learner.average.update(learner.net, 5)
    assert again.learner.net.folded == folded
    for mine, its in zip(first.learner.weights(), again.learner.weights(), strict=True):
        assert torch.equal(mine, its)


@pytest.mark.parametrize("updates", [0, 3])
def test_what_ppo_compares_with_is_kept_within_a_generation(tmp_path: Path, updates: int) -> None:
    folder, first, again = CheckpointFolder(tmp_path), trainer(1), trainer(2)
    for each in (first, again):
        each.learner.config = TrainConfig(objective="ppo")
    first.learner.begin_generation()
    with torch.no_grad():
        first.learner.net.policy_gain.fill_(2.0)
    first.progress.iteration_step = updates
    TrainerState(first, StubSource(), folder).save()
    TrainerState(again, StubSource(), folder).restore()
    assert (again.learner.old is None) == (updates == 0)
    if updates:
        wanted, kept = first.learner.old.state_dict(), again.learner.old.state_dict()
        assert all(torch.equal(wanted[name], kept[name]) for name in wanted)
        assert again.learner.old.training
    assert again.learner.net.policy_gain.item() == 2.0


def test_counters_and_results_are_restored(saved: CheckpointFolder) -> None:
    again, source = trainer(2), StubSource()
    TrainerState(again, source, saved).restore()
    assert (again.learner.steps, again.learner.samples) == (7, 70)
    assert again.learner.rates == [0.1, 0.2, 1 / 3, 0.4]
    assert (again.learner.done, again.learner.skipped) == (2.75, 3)
    match = {"elo": 0.1 + 0.2, "opponent": None}
    assert again.progress == TrainProgress(2, 3, 400, True, False, [match])
    assert source.spans == SPANS


def test_more_iterations_do_not_change_the_learning_rate_at_the_seam(
    saved: CheckpointFolder,
) -> None:
    again, longer = trainer(2), trainer(2)
    longer.config = longer.config.model_copy(update={"iterations": 100})
    for one in (again, longer):
        TrainerState(one, StubSource(), saved).restore()
    config, done = longer.config.optimiser, again.learner.done
    before, after = (one.learner.schedule for one in (again, longer))
    assert after.rate(config, done) == before.rate(config, done) < 1
    assert (
        after.rate(config, 100) == before.rate(config, again.config.iterations) == config.lr_final
    )
    TrainerState(longer, StubSource(), saved).save()
    TrainerState(again, StubSource(), saved).restore()
    assert again.learner.schedule.rate(config, done) == before.rate(config, done)


def test_a_run_without_an_average_begins_one_with_its_weights(saved: CheckpointFolder) -> None:
    tensors, values = state_of(saved)
    net = {name: tensor for name, tensor in tensors.items() if not name.startswith("average/")}
    saved.save(saved.file_of(9, 9), encode_checkpoint(net, FACTS, values))
    again = trainer(2)
    TrainerState(again, StubSource(), saved).restore()
    for mine, its in zip(*(one.state_dict().values() for one in
                           (again.learner.net, again.learner.played)), strict=True):  # fmt: skip
        assert torch.equal(mine, its)


def test_nothing_is_saved_twice_or_restored_from_nothing(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    state = TrainerState(trainer(1), StubSource(), folder)
    state.restore()
    state.save()
    state.save()
    assert len(list(tmp_path.iterdir())) == 1


def test_of_the_matches_in_an_older_checkpoint_few_are_kept(saved: CheckpointFolder) -> None:
    tensors, values = state_of(saved)
    values["matches"] = [
        {"opponent": opponent, "iteration": iteration}
        for iteration in range(1000)
        for opponent in ("random", "greedy")
    ]
    saved.save(saved.file_of(9, 9), encode_checkpoint(tensors, FACTS, values))
    again = trainer(2)
    TrainerState(again, StubSource(), saved).restore()
    assert [match["iteration"] for match in again.progress.matches] == [0, 0, 999, 999]


def state_of(folder: CheckpointFolder) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and values of the newest checkpoint."""
    tensors, entry = decode_checkpoint(folder.latest(print) or b"")
    return tensors, entry["values"]


def refusal(tmp_path: Path, tensors: dict[str, torch.Tensor], values: dict[str, Any]) -> str:
    """The line with which the state is refused."""
    folder = CheckpointFolder(tmp_path / "changed")
    folder.save(folder.file_of(1, 1), encode_checkpoint(tensors, FACTS, values))
    with pytest.raises(VecchessError) as caught:
        TrainerState(trainer(2), StubSource(), folder).restore()
    assert isinstance(caught.value, ConfigError | DataError)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return str(caught.value)


def test_another_networks_state_is_refused(saved: CheckpointFolder, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"of another network: it has .* of shape \[\d+, .*, not"):
        TrainerState(trainer(2, channels=64), StubSource(), saved).restore()
    tensors, values = state_of(saved)
    net, moment = (
        next(name for name in tensors if name.startswith(prefix) and tensors[name].dim() > 1)
        for prefix in ("net/", "optimiser/")
    )
    lacking = {name: tensor for name, tensor in tensors.items() if name != net}
    assert "another network: it lacks" in refusal(tmp_path, lacking, values)
    assert "another network: it has" in refusal(
        tmp_path, tensors | {"net/odd": torch.zeros(1)}, values
    )
    wide = tensors | {net: tensors[net].double()}
    assert "torch.float64" in refusal(tmp_path, wide, values)
    short = tensors | {moment: tensors[moment][:1].clone()}
    assert "the checkpoint's optimiser has" in refusal(tmp_path, short, values)
    odd = tensors | {"optimiser/odd/exp_avg": torch.zeros(1)}
    assert "which the network lacks" in refusal(tmp_path, odd, values)
    assert "its readout is graded, not spikes" in refusal(
        tmp_path, tensors, values | {"readout": "graded"}
    )
    assert "other layers" in refusal(tmp_path, tensors, values | {"rates": [0.1]})


def test_a_state_of_another_number_of_time_steps_is_refused(saved: CheckpointFolder) -> None:
    shorter = trainer(2)
    shorter.learner.net.config = shorter.learner.net.config.model_copy(update={"time_steps": 1})
    with pytest.raises(ConfigError, match="it takes 4 time steps, not 1; begin a new run, with"):
        TrainerState(shorter, StubSource(), saved).restore()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "changed",
    [
        {"steps": -1},
        {"steps": 10**3000},
        {"iteration": "many"},
        {"folded": None},
        {"rates": ["x"]},
        {"skipped": -1},
        {"done": "x"},
        {"schedule": {"begin": 0}},
        {"matches": {}},
        {"source": {}},
        {"source": []},
        {"odd": 1},
    ],
)
def test_wrong_values_are_refused(
    saved: CheckpointFolder, tmp_path: Path, changed: dict[str, Any]
) -> None:
    tensors, values = state_of(saved)
    assert next(iter(changed)) in refusal(tmp_path, tensors, values | changed) or changed == {
        "source": {}
    }


def test_the_values_of_a_long_run_are_small(saved: CheckpointFolder) -> None:
    _, values = state_of(saved)
    assert len(values["source"]["spans"]) == 2500
    assert len(json.dumps(values)) < 300_000
