"""A module that a user brings: in slots, and by its own loop over time steps, in one process.

    python -m bench.own_module [--net module:examples.snntorch_rate_coded.served:make] [--slots 128]

The loops call the module as it is, without gradients, with one position at a time and with as many
as there are slots; no position leaves a loop early. Slots compute it in chunks, as ``precision``
and ``compile`` of its spec say; they take all time steps, and leave by the module's exit rule.
Prints JSON: positions a second, medians over the rounds, medians of the ratios within a round, and
the share of positions whose best move is that of the loop over a batch.
"""

import argparse
import json
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vecchess.bench.entrants import CHECKED, CONTINUOUS, FIXED, OwnEntrant, open_own, unanswered
from vecchess.bench.inference import prepared, row, torch_set_up
from vecchess.bench.paired_timing import Count, Laps, core_share, ratio, time_in_turns
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.config.bench_settings import InferenceBench
from vecchess.inference.requests import Requests
from vecchess.networks.module_net import ModuleNet, create_module_net
from vecchess.networks.step_function import exact_convolutions
from vecchess.networks.step_module import StepModule
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS

SCHEMA = 2
NET = "module:examples.snntorch_rate_coded.served:make"
ALONE, TOGETHER = "loop_at_1", "loop_at_slots"


class ModuleLoop(OwnEntrant):
    """All time steps of a module for ``num_rows`` positions at a time, without gradients."""

    def __init__(self, name: str, net: ModuleNet, device: str, requests: Requests, num_rows: int):
        super().__init__(name, requests)
        self._device, self._num_rows = torch.device(device), num_rows
        self._sizes, self._unit = net.config, 2.0**net.unit_bits
        self._module: StepModule = net.module()
        assert isinstance(self._module, nn.Module)
        self._module.to(self._device)

    @torch.inference_mode()
    def turn(self) -> Count:
        """One batch."""
        rows = self.batches.take(self._num_rows)
        planes = torch.from_numpy(unpack_planes(self.requests.planes[rows])).to(self._device)
        legal = np.minimum(self.requests.legal[rows].astype(np.int64), NUM_ACTIONS - 1)
        moves = torch.from_numpy(legal).to(self._device)
        state, policies = self._module.initial_state(len(rows)), []
        for _ in range(self._sizes.time_steps):
            policy, _, state = self._module.forward(planes, state)
            policies.append(policy.gather(1, moves))
        if self._sizes.readout == "last":
            policies = policies[-1:] * self._sizes.time_steps
        found = (torch.stack(policies).sum(0) * self._unit).round().to(torch.int32).cpu().numpy()
        is_legal = np.arange(MAX_MOVES) < self.requests.num_legal[rows, None]
        self.requests.policy[rows] = found * is_legal
        self.requests.steps[rows] = self._sizes.time_steps
        return self.count(rows)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", default=NET)
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--gpus", default="cpu", help="the device: cpu, or a GPU's number")
    print(json.dumps(run(InferenceBench(**vars(parser.parse_args()))), indent=1))


def run(config: InferenceBench) -> dict[str, Any]:
    """Time slots and loops in turns; rows and ratios are as those of ``inference.describe``.

    Raises ConfigError for settings, NetworkError for a module that cannot be served.
    """
    setup, num = prepared(config)
    net = create_module_net(config.net, config.seed)
    questions = random_requests(num, config.seed, net.config.num_planes)
    loops = [
        ModuleLoop(name, net, setup.device, unanswered(questions), num_rows)
        for name, num_rows in ((TOGETHER, setup.slots), (ALONE, 1))
    ]
    with torch_set_up(setup.threads), exact_convolutions(torch.device(setup.device)):
        slots = open_own(setup, net, questions)
        for loop in loops:
            loop.answer_all(min(CHECKED, num))
        laps = time_in_turns([*slots, *loops], config.seconds)
    return {
        "schema": SCHEMA,
        "device": setup.device,
        "net": str(net.spec),
        "slots": setup.slots,
        "threads": setup.threads,
        "positions": num,
        "time_steps": net.config.time_steps,
        "entrants": [_row(one, loops[0], laps) for one in (*slots, *loops)],
        "ratios": {
            f"{name} to {loop.name}": ratio(laps, name, loop.name)
            for name in (FIXED, CONTINUOUS)
            for loop in loops
        },
        "cores_used": core_share(laps),
    }


def _row(entrant: OwnEntrant, loop: OwnEntrant, laps: Laps) -> dict[str, Any]:
    same = float((_best(entrant) == _best(loop)).mean())
    return row(entrant.name, laps) | {"best_move": same}


def _best(entrant: OwnEntrant) -> NDArray[np.int64]:
    """The best legal move of each position that was checked, as a place in its list."""
    requests = entrant.requests.part(slice(CHECKED))
    is_legal = np.arange(MAX_MOVES) < requests.num_legal[:, None]
    ranked = np.where(is_legal, requests.policy, np.iinfo(np.int32).min)
    best: NDArray[np.int64] = ranked.argmax(axis=1)
    return best


if __name__ == "__main__":
    main()
