"""``bench inference`` of a module that a user brings: in slots, and by a loop over time steps.

The loops call the module as it is, with one position and with as many as there are slots; nobody
leaves a loop early. Slots compute it in chunks, as ``precision`` and ``compile`` of its spelling
say.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vecchess.bench.batching_engines import Continuous, OwnEntrant
from vecchess.bench.inference import SCHEMA, prepared, row, torch_set_up
from vecchess.bench.own_entrants import CHECKED, CONTINUOUS, FIXED, EntrantSetup, unanswered
from vecchess.bench.paired_timing import Count, Laps, core_share, ratio, time_in_turns
from vecchess.config.bench_settings import InferenceBench
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.module_backend import unpacked
from vecchess.inference.requests import Requests
from vecchess.networks.module_net import ModuleNet, create_module_net
from vecchess.networks.step_function import exact_convolutions
from vecchess.networks.step_module import StepModule
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS

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
        planes = unpacked(self.requests.planes[rows]).to(self._device)
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


def run(config: InferenceBench) -> dict[str, Any]:
    """Time slots and loops in turns; returns what ``vecchess bench inference`` prints of a module.

    Rows and ratios are as those of ``inference.describe``; ``best_move`` is the share of positions
    whose best move is that of the loop over a batch. Raises ConfigError for settings, NetworkError
    for a module that cannot be served.
    """
    setup, num = prepared(config)
    net = create_module_net(config.net, config.seed)
    questions = random_requests(num, config.seed, net.config.num_planes)
    with torch_set_up(setup.threads):
        return _compared(net, setup, questions, config.seconds)


def _compared(
    net: ModuleNet, setup: EntrantSetup, questions: Requests, seconds: float
) -> dict[str, Any]:
    device, with_exits = setup.device, ExitRule.from_metadata(net.exit_rule)
    loops = [
        ModuleLoop(name, net, device, unanswered(questions), num_rows)
        for name, num_rows in ((TOGETHER, setup.slots), (ALONE, 1))
    ]
    slots = [
        Continuous(name, setup.open(net, rule), unanswered(questions))
        for name, rule in ((FIXED, ExitRule.never()), (CONTINUOUS, with_exits))
    ]
    with exact_convolutions(torch.device(device)):
        for entrant in (*loops, *slots):
            entrant.answer_all(CHECKED)
        laps = time_in_turns([*slots, *loops], seconds)
    return {
        "schema": SCHEMA,
        "device": device,
        "net": str(net.spec),
        "sha256": net.sha256,
        "slots": setup.slots,
        "threads": setup.threads,
        "positions": questions.num_rows,
        "time_steps": net.config.time_steps,
        "backends": [_row(one, loops[0], laps) for one in (*slots, *loops)],
        "ratios": {
            FIXED: ratio(laps, CONTINUOUS, FIXED),
            **{loop.name: ratio(laps, CONTINUOUS, loop.name) for loop in loops},
        },
        "engine_overhead": None,
        "cores_used": core_share(laps),
    }


def _row(entrant: OwnEntrant, loop: OwnEntrant, laps: Laps) -> dict[str, Any]:
    same = float((_best(entrant) == _best(loop)).mean())
    return row(entrant.name, laps) | {"agrees": "best move", "best_move": same}


def _best(entrant: OwnEntrant) -> NDArray[np.int64]:
    """The best legal move of each position that was checked, as a place in its list."""
    requests = entrant.requests.part(slice(CHECKED))
    is_legal = np.arange(MAX_MOVES) < requests.num_legal[:, None]
    ranked = np.where(is_legal, requests.policy, np.iinfo(np.int32).min)
    best: NDArray[np.int64] = ranked.argmax(axis=1)
    return best
