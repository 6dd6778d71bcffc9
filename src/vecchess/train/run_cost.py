"""What a training has cost so far, on all its machines, over all starts and stops.

The leader of each machine measures. Machine 0's status has the sum, replaced every second, so that
a run that was killed goes on from there: what was lost is counted, on other machines up to the
newest network. Decision 230.
"""

import os
from typing import Any

import torch

from vecchess.errors import DataError
from vecchess.runtime.cost_meter import Cost, CostMeter, resident_bytes
from vecchess.runtime.devices import gpu_uuid
from vecchess.store.run_folder import RunFolder
from vecchess.store.status_file import STATUS_FILE
from vecchess.train.distributed.ranks import Ranks


class RunCost:
    """The cost of a run, as far as one machine knows it."""

    def __init__(self, meter: CostMeter, before: Cost | None) -> None:
        """``before``: of earlier processes; None where it is not known, and never will be."""
        self._meter, self._before = meter, before
        self._others = Cost()

    @classmethod
    def of_ranks(cls, ranks: Ranks, before: Cost | None) -> "RunCost":
        """Measures all ranks of this machine from now on. All ranks call it."""
        if ranks.device.type == "cuda":
            torch.cuda.init()
        uuid = gpu_uuid() if ranks.device.type == "cuda" else ""
        facts = {"node": ranks.node, "pid": os.getpid(), "gpu": uuid}
        here = [each for each in ranks.gather_object(facts) if each["node"] == ranks.node]
        gpus = [each["gpu"] for each in here if each["gpu"]]
        return cls(CostMeter([each["pid"] for each in here], len(gpus), sorted({*gpus})), before)

    def session(self) -> dict[str, Any]:
        """This machine's cost since the start of its processes, as ``set_others`` takes it."""
        return self._meter.read().to_dict()

    def set_others(self, sessions: list[dict[str, Any]]) -> None:
        """Take note of the sessions of the other machines."""
        others = Cost()
        for each in sessions:
            others = others.beside(Cost.from_dict(each) or Cost())
        self._others = others

    def total(self) -> Cost | None:
        """The cost of the run; None where it is not known. Any thread may call it."""
        if self._before is None:
            return None
        return self._before.then(self._meter.read().beside(self._others))

    def memory_bytes(self) -> int | None:
        """Resident memory of the run's processes on this machine, now; None where not known."""
        return resident_bytes(self._meter.pids)

    def facts(self) -> dict[str, Any] | None:
        """``total`` as plain values for JSON."""
        total = self.total()
        return None if total is None else total.to_dict()


def cost_before(run: RunFolder, is_new: bool) -> Cost | None:
    """What the earlier processes of ``run`` cost by its status; None where that does not tell."""
    if is_new:
        return Cost()
    try:
        return Cost.from_dict(run.read_json(STATUS_FILE).get("cost"))
    except DataError:
        return None
