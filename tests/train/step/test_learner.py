"""The learner: exact where it must be, and independent of how a batch is split."""

from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.train.games import games, searched
from tests.train.step.alone import ALONE, Together
from vecchess.config import TrainConfig, build
from vecchess.errors import DeviceError
from vecchess.snn.create import create_sized
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import exported, from_integers
from vecchess.train.data.samples import Samples, make_samples
from vecchess.train.data.shard_block import trainable_plies
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.step.device_batcher import StepMetrics, copy_batch, normalise
from vecchess.train.step.learner import MOST_SKIPPED, Learner

SIZES = NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4)
BATCH = 64
OBJECTIVES = ["alphazero", pytest.param("supervised", marks=pytest.mark.slow), "ppo", "reinforce"]
"""``supervised`` has the loss of ``alphazero``."""


class NoReads(TorchDispatchMode):
    """Refuses to read a number from a tensor: on a GPU that would wait for the device."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        assert function is not torch.ops.aten._local_scalar_dense.default, "a number was read"
        assert function is not torch.ops.aten.nonzero.default, "a size was read"
        return function(*args, **(kwargs or {}))


SLOW_CASES = [
    ("ppo", False), ("reinforce", False), ("reinforce", True),
    ("supervised", False), ("supervised", True),
]  # fmt: skip


def config_of(objective: str, **settings: Any) -> TrainConfig:
    data = {"data": ["games.pgn"]} if objective == "supervised" else {}
    loss = settings.pop("loss", {})
    known = {"objective": objective, "batch_size": BATCH, "loss": loss}
    return build(TrainConfig, known | data | settings)


@pytest.fixture(scope="module")
def batches() -> list[Samples[Tensor]]:
    records = searched(games(6))
    plies = trainable_plies(records)
    chosen = np.random.default_rng(1).choice(plies, (3, BATCH))
    made = [make_samples(records, rows) for rows in chosen]
    bits = [samples._replace(planes=samples.planes.view(np.int64)) for samples in made]
    return [samples.map(torch.from_numpy) for samples in bits]


def new_net(folded: bool) -> SpikingNet:
    if folded:
        return from_integers(create_sized(SIZES, 3))
    torch.manual_seed(3)
    return SpikingNet(SIZES)


def learn(
    learner: Learner, batches: list[Samples[Tensor]], metrics: list[StepMetrics] | None = None
) -> list[float]:
    steps = []
    for step, batch in enumerate(batches):
        rows = learner.shares.rows(learner.ranks.rank)
        rank_batch = batch.map(lambda column, rows=rows: column[rows.start : rows.stop])
        steps.append(learner.step(rank_batch, step / 10, [1.0, learner.ranks.rank]))
    if metrics is not None:
        metrics += steps
    return [one.means["loss"] for one in steps if not one.means["skipped"]]


def learn_together(ranks: list[Learner], batches: list[Samples[Tensor]]) -> list[list[StepMetrics]]:
    """The metrics of each of several ranks, which learn in threads."""
    metrics: list[list[StepMetrics]] = [[] for _ in ranks]
    threads = [
        Thread(target=learn, args=(learner, batches, metrics[rank]))
        for rank, learner in enumerate(ranks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return metrics


@pytest.mark.parametrize(
    ("objective", "folded"),
    [
        ("alphazero", False),
        ("alphazero", True),
        ("ppo", True),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW_CASES),
    ],
)
def test_ranks_learn_what_one_does(objective: str, folded: bool, batches) -> None:
    """The same bits, however many parts of a batch each of them computes, none included."""
    config = config_of(objective, micro_batch=16, optimiser={"lr": 1e-3, "warmup": 0})
    alone = Learner(config, new_net(folded), ALONE)
    row = BATCH - 1  # of the second rank, and skipped by both
    batches = [
        *batches,
        spoilt(batches[0], row)._replace(returned=torch.full((BATCH, 3), torch.nan)),
    ]
    alone_metrics: list[StepMetrics] = []
    learn(alone, batches, alone_metrics)
    barrier, table = Barrier(3), {}
    ranks = [Learner(config, new_net(folded), Together(rank, barrier, table)) for rank in range(3)]
    for learner in ranks:
        learner.shares.parts = [3, 1, 0]
    metrics = learn_together(ranks, batches)
    assert metrics[0] == metrics[1] == metrics[2]
    assert [one.means for one in metrics[0]] == [one.means for one in alone_metrics]
    assert metrics[0][0].rank_sums == [3.0, 3.0]
    assert [one.means["skipped"] for one in metrics[0]] == [0, 0, 0, 1]
    for learner in ranks:
        for name, value in learner.net.state_dict().items():
            assert torch.equal(value, alone.net.state_dict()[name]), name


def test_what_learns_is_what_plays_at_every_step(batches) -> None:
    config = config_of("alphazero", optimiser={"lr": 0.02, "warmup": 0})
    learner = Learner(config, new_net(folded=True), ALONE)
    planes = unpack_bitboards(batches[0].planes[:16])
    for batch in batches * 2:
        learner.step(batch, 0.0, [])
        deployed = from_integers(exported(learner.net)).eval()
        with torch.no_grad():
            ours = learner.net.eval()(planes)
            theirs = deployed(planes)
        assert torch.equal(ours.policy, theirs.policy)
        assert torch.equal(ours.wdl, theirs.wdl)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_loss_falls(objective: str, batches) -> None:
    settings = {"optimiser": {"lr": 3e-3, "warmup": 0, "lr_schedule": "constant"}}
    learner = Learner(config_of(objective, **settings), new_net(folded=False), ALONE)
    losses = learn(learner, batches[:1] * 8)
    assert losses[-1] < losses[0] - 0.05


def test_fast_searches_do_not_weaken_the_policy(batches) -> None:
    """A quarter with a policy and the rest without: the gradient is that of the quarter alone."""
    quarter = batches[0].map(
        lambda column: column[: BATCH // 4].repeat(4, *[1] * (column.dim() - 1))
    )
    first = torch.arange(BATCH) < BATCH // 4
    every, few = (quarter._replace(has_policy=with_policy) for with_policy in (first | True, first))
    config = config_of("alphazero", micro_batch=BATCH // 4, optimiser={"clip_norm": 0})
    found = []
    for batch in (every, few):
        learner = Learner(config, new_net(folded=True), ALONE)
        totals = learner._compute_gradients(copy_batch(config, ALONE, batch, BATCH // 4), [], 0)
        means = learner._metrics(totals).means
        gradients = [p.grad for p in learner.net.parameters() if p.grad is not None]
        found.append((means, torch.cat([gradient.reshape(-1) for gradient in gradients])))
    (of_every, wanted), (of_few, gradient) = found
    assert of_few == pytest.approx(of_every, rel=1e-5)
    assert torch.allclose(gradient, wanted, rtol=1e-4, atol=1e-7)
    nothing = copy_batch(config, ALONE, quarter._replace(has_policy=first & False), BATCH // 4)
    assert not any(part.has_policy.any() for part in nothing)


def test_held_out_rows_without_a_policy_are_left_out(batches) -> None:
    learner = Learner(config_of("alphazero"), new_net(folded=True), ALONE)
    batch, count = batches[0], int(batches[0].has_policy.sum())
    found = learner.evaluate([batch, batch._replace(has_policy=batch.has_policy & False)])
    assert (found["rows"], found["policy_rows"]) == (2 * BATCH, count)
    rows = batch.map(lambda column: column[batch.has_policy])
    of_rows = Learner(config_of("alphazero", batch_size=count), new_net(folded=True), ALONE)
    wanted = of_rows.evaluate([rows])
    assert 0 < count < BATCH
    for name in ("cross_entropy", "top1"):
        assert found[name] == pytest.approx(wanted[name], rel=1e-6)
    assert "top1" not in learner.evaluate([batch._replace(has_policy=batch.has_policy & False)])


def test_micro_batches_change_nothing(batches) -> None:
    found = []
    for micro_batch in (BATCH // 2, BATCH):
        config = config_of("alphazero", micro_batch=micro_batch)
        found.append(learn(Learner(config, new_net(folded=False), ALONE), batches))
    for losses in found[1:]:  # later ones differ by spikes that rounding has tipped
        assert losses[0] == pytest.approx(found[0][0], rel=1e-6)
        assert losses == pytest.approx(found[0], rel=1e-3)


def test_time_steps_are_drawn_in_the_first_share_of_the_run(batches) -> None:
    drawn: list[int] = []
    config = config_of("alphazero", iterations=2, loss={"random_steps": 0.6})
    learner = Learner(config, new_net(folded=False), ALONE)
    learner.net.register_forward_pre_hook(lambda net, args: drawn.append(args[1]))
    for update in range(20):
        learner.step(batches[0], (update + 1) / 10, [])
    parts = len(drawn) // 20
    assert set(drawn[: 12 * parts]) == {1, 2, 3, 4}
    assert drawn[12 * parts :] == [4] * 8 * parts


def test_spikes_above_the_target_are_pushed_down(batches) -> None:
    rates = []
    for penalty in (0.0, 20.0):
        loss = {"spike_penalty": penalty, "spike_target": 0.0}
        config = config_of("alphazero", loss=loss, optimiser={"lr": 6e-3, "warmup": 0})
        learner = Learner(config, new_net(folded=False), ALONE)
        learn(learner, batches * 3)
        rates.append(sum(learner.rates))
    assert rates[1] < 0.8 * rates[0]


def test_activations_of_the_twin_cost_nothing(batches) -> None:
    losses = []
    for penalty in (0.0, 20.0):
        config = config_of("alphazero", loss={"spike_penalty": penalty, "spike_target": 0.0})
        torch.manual_seed(3)
        twin = SpikingNet(SIZES.model_copy(update={"neuron": "relu", "time_steps": 1}))
        learner = Learner(config, twin, ALONE)
        losses.append(learn(learner, batches)[-1])
    assert losses[0] == losses[1]
    learner.rates = [0.9] * len(learner.rates)
    assert not learner.spike_warnings()


def test_spike_warnings_name_the_layer(batches) -> None:
    learner = Learner(config_of("alphazero"), new_net(folded=False), ALONE)
    learner.rates = [0.1, 0.0, 0.9, 0.2]
    dead, busy = learner.spike_warnings()
    assert "block0.second is nearly dead" in dead
    assert "heads is nearly saturated: 90.0%" in busy


def test_graded_heads_cost_nothing_and_are_never_saturated() -> None:
    net = SpikingNet(SIZES.model_copy(update={"readout": "graded"}))
    learner = Learner(config_of("alphazero", loss={"spike_penalty": 2.0}), net, ALONE)
    learner.rates = [0.9] * 4
    assert learner._spike_prices().tolist() == [2.0, 2.0, 0.0, 2.0]
    assert not any("heads" in line for line in learner.spike_warnings())


@pytest.mark.parametrize(("objective", "folded"), [("alphazero", False), ("ppo", True)])
def test_no_number_is_read_between_the_batch_and_the_metrics(
    objective: str, folded: bool, batches
) -> None:
    learner = Learner(config_of(objective), new_net(folded), ALONE)
    learner.step(batches[0], 0.0, [])
    learner.net.compiled = False  # kernels for the CPU read their arguments
    parts = copy_batch(learner.config, learner.ranks, batches[1], BATCH)
    with NoReads():
        normalise(learner.config, learner.ranks, parts[0])
        totals = learner._compute_gradients(parts, [1.0], 0)
        learner.net.absorb_statistics(learner.ranks.all_reduce_)
        learner.net.settle_grid()
    assert learner._metrics(totals).rank_sums == [1.0]


def spoilt(batch: Samples[Tensor], row: int) -> Samples[Tensor]:
    """``batch`` with one row whose loss is not a number."""
    value, has_value = batch.value.clone(), batch.has_value.clone()
    value[row], has_value[row] = torch.nan, True
    return batch._replace(value=value, has_value=has_value)


@pytest.mark.parametrize(("clip_norm", "folded"), [(0.0, False), (1.0, True)])
def test_an_update_without_a_finite_gradient_is_skipped(
    folded: bool, clip_norm: float, batches
) -> None:
    config = config_of("alphazero", optimiser={"warmup": 0, "clip_norm": clip_norm})
    learner, other = (Learner(config, new_net(folded), ALONE) for _ in range(2))
    learner.step(spoilt(batches[0], 5), 0.1, [1.0])
    metrics = learner.step(spoilt(batches[1], 0), 0.2, [2.0])
    assert metrics == StepMetrics({"skipped": 1.0}, [2.0])
    assert (learner.skipped, learner.steps, learner.samples) == (2, 2, 2 * BATCH)
    for mine, its in zip(learner.weights(), other.weights(), strict=True):
        assert torch.equal(mine, its)
    other.steps = 2
    losses = [one.step(batches[2], 0.3, []).means for one in (learner, other)]
    assert losses[0] == losses[1]
    assert (losses[0]["skipped"], learner.skipped) == (0.0, 0)
    for mine, its in zip(learner.weights(), other.weights(), strict=True):
        assert torch.equal(mine, its)


def test_too_many_skipped_updates_in_a_row_end_the_run(batches) -> None:
    learner = Learner(config_of("alphazero", micro_batch=BATCH), new_net(folded=True), ALONE)
    learner.skipped = MOST_SKIPPED - 2
    learner.step(spoilt(batches[0], 0), 0.1, [])
    with pytest.raises(DeviceError, match=f"of {MOST_SKIPPED} updates .* not finite: lower --lr"):
        learner.step(spoilt(batches[0], 0), 0.1, [])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_gpu_learns_what_the_processor_does_and_waits_once_a_step(objective, batches) -> None:
    config = config_of(objective, optimiser={"lr": 1e-3, "warmup": 0})
    here = Learner(config, new_net(folded=True), ALONE)
    there = Learner(config, new_net(folded=True).to("cuda:0"), Ranks.alone(torch.device("cuda:0")))
    pinned = [batch.map(lambda column: column.pin_memory()) for batch in batches]
    planes = batches[0].planes[:16]
    with torch.no_grad():
        ours, theirs = (net(unpack_bitboards(planes.to(net.policy_gain.device))) for net in
                        (here.net, there.net))  # fmt: skip
    assert torch.equal(ours.policy, theirs.policy.cpu())
    assert torch.equal(ours.wdl, theirs.wdl.cpu())
    for step, batch in enumerate(pinned):
        expected = here.step(batches[step], 0.1, [1.0])
        try:
            torch.cuda.set_sync_debug_mode("error")
            parts = copy_batch(config, there.ranks, batch, BATCH // 4)
            totals = there._compute_gradients(parts, [1.0], 0)
            there._update_weights(0.1)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        there.samples += config.batch_size
        there.steps += 1
        found = there._metrics(totals)
        assert found.rank_sums == expected.rank_sums
        assert found.means["loss"] == pytest.approx(expected.means["loss"], rel=1e-3)


def test_value_weight_weighs_the_value_against_the_policy(batches) -> None:
    found = {}
    for weight in (0.5, 2.0):
        config = config_of("alphazero", loss={"value_weight": weight})
        rank_values = [1.0, 0]
        means = Learner(config, new_net(True), ALONE).step(batches[0], 0.1, rank_values).means
        found[weight] = means
        assert means["loss"] == pytest.approx(means["loss_policy"] + weight * means["loss_value"])
    assert found[0.5]["loss_value"] == found[2.0]["loss_value"]
