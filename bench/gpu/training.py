"""A training step on the GPU: our neuron, plain operators and a plain snntorch loop, in turns."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from statistics import median
from typing import Any

import torch
from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting, device_seconds
from bench.peers.training import SNNTORCH, WARM_UP, Labels, TrainingEntrant, settled
from bench.peers.training_loop import TrainingLoop
from torch import Tensor, nn

from vecchess.bench.paired_timing import ratio, speed, time_in_turns
from vecchess.snn.kernels.surrogate import SURROGATES
from vecchess.snn.modules.bf16_products import multiplies_exactly
from vecchess.snn.modules.lif_triton import lif_triton
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.modules.neuron import LifFunction, lif
from vecchess.snn.presets import NetConfig

NEURONS: dict[str, LifFunction] = {"triton": lif_triton, "plain": lif}
"""Implementations of the neuron; the rest of the network is the same."""


def training(setting: Setting, results: ResultWriter) -> None:
    """Peak memory and samples/s with batch norm and quantised, in bf16 as in one-gpu.toml.

    Raises SystemExit where, quantised, the two implementations of the neuron, or products of
    bfloat16 and of float32, give different bits.
    """
    sizes, batch = setting.base.config, 1 if setting.quick else 512
    bitboards = torch.from_numpy(setting.questions(batch).planes.view("i8"))
    planes = unpack_bitboards(bitboards.to(setting.device))
    labels = Labels(batch, 0, setting.device)
    learners = _learners(sizes, planes, labels)
    _require_same(learners, planes)
    exact = multiplies_exactly(torch.device(setting.device))
    results.add("equality", equal=True, products_of_bf16=exact)
    for learner in learners:
        results.add(
            f"memory {learner.name}", batch_size=batch, peak_bytes=_warm_up(learner, setting)
        )
    results.begin_measurement()
    laps = time_in_turns(learners, setting.seconds * 2)
    pairs = [(f"{phase}_triton", f"{phase}_plain") for phase in ("float", "folded")]
    pairs += [("float_triton", SNNTORCH), ("folded_triton", SNNTORCH)]
    results.add(
        "speeds",
        batch_size=batch,
        rounds=len(laps[SNNTORCH]),
        samples_per_s={name: speed(row) for name, row in laps.items()},
        step_seconds={name: median(batch / lap.speed for lap in row) for name, row in laps.items()},
        ratios={f"{one}/{other}": ratio(laps, one, other) for one, other in pairs},
    )
    if setting.on_gpu:
        results.add("neuron", **_neuron_seconds(sizes, batch, setting))


def _learners(sizes: NetConfig, planes: Tensor, labels: Labels) -> list[TrainingEntrant]:
    """Our network with each neuron in each phase, and the snntorch loop; weights from one seed."""

    def learner(name: str, make: Callable[[], nn.Module], kind: torch.dtype) -> TrainingEntrant:
        torch.manual_seed(0)
        inputs = planes.permute(0, 3, 1, 2).contiguous() if name == SNNTORCH else planes
        return TrainingEntrant(name, make().to(planes.device), inputs, labels, kind)

    def ours(neuron: LifFunction) -> SpikingNet:
        module = SpikingNet(sizes).to(planes.device)
        module.lif = neuron
        return module

    def folded(neuron: LifFunction) -> SpikingNet:
        module = deepcopy(base)
        module.lif = neuron
        return module

    torch.manual_seed(0)
    base = settled(ours(lif), planes)
    learners = [learner(SNNTORCH, lambda: TrainingLoop(sizes), torch.bfloat16)]
    for name, neuron in NEURONS.items():
        learners.append(learner(f"float_{name}", partial(ours, neuron), torch.bfloat16))
        learners.append(learner(f"folded_{name}", partial(folded, neuron), torch.bfloat16))
    return learners


@torch.no_grad()
def _require_same(learners: list[TrainingEntrant], planes: Tensor) -> None:
    """Check that quantised networks, which have equal weights, give the outputs of torch's plain
    operators in float32."""
    modules = [learner.module for learner in learners if learner.name.startswith("folded_")]
    plain = deepcopy(modules[0])
    plain.compiled = False
    expected = plain(planes)[:2]
    for outputs in (module(planes)[:2] for module in modules):
        if not all(torch.equal(*pair) for pair in zip(outputs, expected, strict=True)):
            raise SystemExit("our kernels and plain operators differ in a quantised network")


def _warm_up(learner: TrainingEntrant, setting: Setting) -> int | None:
    """Peak memory of a step beyond what was allocated before, in bytes; None without a GPU."""
    for _ in range(WARM_UP):
        learner.turn()
    if not setting.on_gpu:
        return None
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    learner.turn()
    return torch.cuda.max_memory_allocated() - before


def _neuron_seconds(sizes: NetConfig, batch: int, setting: Setting) -> dict[str, Any]:
    """Seconds of one neuron layer forward and backward, and the bytes that it must move."""
    shape = batch, 8, 8, sizes.channels
    currents = torch.randn(sizes.time_steps, *shape, device=setting.device, requires_grad=True)
    membrane = torch.zeros(shape, device=setting.device)
    surrogate, upstream = SURROGATES["atan"], torch.randn_like(currents)

    def work(neuron: LifFunction) -> None:
        fired = neuron(currents, membrane, sizes.grid_bits, surrogate)
        torch.autograd.grad(fired.spikes.values, currents, upstream)

    seconds = {name: device_seconds(partial(work, neuron)) for name, neuron in NEURONS.items()}
    num_bytes = 5 * currents.nbytes + 3 * membrane.nbytes
    return {
        "seconds": seconds,
        "bytes": num_bytes,
        "bytes_per_s": {name: num_bytes / spent for name, spent in seconds.items()},
    }
