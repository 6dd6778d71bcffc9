"""The worker processes of a run: starting them, receiving messages, finding dead ones.

Decision 45.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import wait
from secrets import token_hex
from time import monotonic, sleep

from vecchess.config import SelfplayConfig
from vecchess.inference.open_network import FEWEST_SLOTS
from vecchess.machine_limits import memory_text, oom_kills
from vecchess.runtime.devices import CPU, Device, Share
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.retried_read import list_folder, retried
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.selfplay.worker.memory_plan import halved
from vecchess.selfplay.worker.protocol import COMPILING
from vecchess.selfplay.worker.worker import WorkerPlan
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating

LOADING_S = 300.0
"""A worker may be silent for so long while it compiles kernels or waits for another process that
does, and while it opens a GPU, whose kernels are compiled unseen."""
POLL_S = 0.1
PULSE_INTERVAL_S = 0.5
"""How often pulses are read, more often than ``UNATTENDED_S``."""
PAUSES, PAUSE_S = 25, 0.1
"""The pause between rounds: so many times what a round takes, at most these seconds."""


class WorkerPool:
    """At most one worker for each device, by the device's index."""

    def __init__(
        self,
        config: SelfplayConfig,
        run: RunFolder,
        devices: list[Device],
        seating: Seating | None = None,
        in_blocks: bool = False,
    ) -> None:
        """No worker is started; ``seating`` and ``in_blocks``: see ``WorkerPlan``. Raises DataError
        where the run has no id."""
        self.workers: dict[int, WorkerProcess] = {}
        self._config, self._seating, self._in_blocks = config, seating, in_blocks
        self.run_id = run.run_id
        """Id that stands in every file of games that the workers write."""
        self._run = run
        self._devices = devices
        self._most_slots: dict[int, int] = {}
        self._most_games: dict[int, int] = {}
        self._oom_kills = oom_kills()
        self._received = monotonic()
        """When the last round began."""
        self._next_pulses = 0.0
        self._session = next_session(run)
        self._token = token_hex(3)  # a lost parent's workers may still be writing their last shard

    def start(self, index: int, net: str, share: Share) -> WorkerProcess:
        """Start the worker of device ``index`` with ``share``."""
        prefix = f"{self._session:04d}-{index:03d}-{self._token}"
        self._session += 1
        games = min(share.games, self._most_games.get(index, share.games))
        slots = min(share.slots, self._most_slots.get(index, share.slots), games)
        share = replace(share, games=games, slots=slots, movers=min(share.movers, games))
        plan = WorkerPlan(
            index=index,
            device=self._devices[index],
            config=self._config,
            net=net,
            run=self._run,
            run_id=self.run_id,
            shard_prefix=prefix,
            share=share,
            seating=self._seating,
            in_blocks=self._in_blocks,
            num_workers=len(self._devices),
        )
        self.workers[index] = WorkerProcess(plan)
        return self.workers[index]

    def take_share(self, worker: WorkerProcess, slots: int, games: int) -> None:
        """Note the share that a worker chose itself, and cut its plan to it, for the one that
        replaces it."""
        worker.games_at_a_time = games
        share = worker.plan.share
        share = replace(share, slots=min(share.slots, slots), games=min(share.games, games))
        worker.plan = replace(worker.plan, share=share)

    def lower_slots(self, plan: WorkerPlan) -> int:
        """Halve the slots of the worker that replaces ``plan``'s; returns their number."""
        slots = max(plan.share.slots // 2, min(FEWEST_SLOTS, plan.share.slots))
        self._most_slots[plan.index] = slots
        return slots

    def halve_share(self, plan: WorkerPlan) -> Share | None:
        """Halve slots and games of the worker that replaces ``plan``'s, and so its trees: the
        system had too little memory. Returns its share; None where it cannot have less."""
        if plan.share.games == 1:
            return None
        share = halved(plan.share)
        self._most_slots[plan.index], self._most_games[plan.index] = share.slots, share.games
        return share

    def reason_of_death(self, worker: WorkerProcess) -> str:
        """One line; kills by the system for want of memory are told from others by its count."""
        reason = worker.reason_of_death()
        if worker.failure is not None or not worker.was_killed:
            return reason
        if oom_kills() == self._oom_kills:
            return f"{reason}; possibly out of memory"
        self._oom_kills += 1
        worker.failure = {
            "error": f"killed by the system, out of memory: it may use {memory_text()}",
            "expected": False,
            "killed_for_memory": True,
        }
        return str(worker.failure["error"])

    def receive(self, timeout_s: float = POLL_S) -> Iterator[tuple[WorkerProcess, Message]]:
        """Messages that have come; waits for one, or for a death, which closes the pipe.

        Where many come, rounds that took long are followed by a pause, in which more of them come:
        the parent's time goes to one round for all, not to one for each.
        """
        asked = monotonic()
        pause_s = min(PAUSES * (asked - self._received), PAUSE_S)
        workers = {worker.pipe.connection: worker for worker in self.workers.values()}
        ready = set(wait(list(workers), timeout=timeout_s))
        if ready and timeout_s and (left_s := asked + pause_s - monotonic()) > 0:
            sleep(left_s)
        self._received = monotonic()
        for connection, worker in workers.items():
            if connection in ready:
                for message in worker.pipe.receive() or []:
                    yield worker, message

    def dead(self) -> list[tuple[WorkerProcess, str]]:
        """Workers that have ended, or were silent for too long and are ended now, and why."""
        found = []
        reads_pulses = monotonic() >= self._next_pulses
        if reads_pulses:
            self._next_pulses = monotonic() + PULSE_INTERVAL_S
        for worker in self.workers.values():
            if not worker.is_alive:
                found.append((worker, self.reason_of_death(worker)))
            elif reads_pulses and worker.silent_s() > (timeout := self.stall_timeout_s(worker)):
                worker.kill()
                reason = f'no sign of life for {timeout:g} s while "{worker.stage}"'
                found.append((worker, reason))
        return found

    def stall_timeout_s(self, worker: WorkerProcess) -> float:
        """Seconds without a sign of life after which ``worker`` is killed."""
        is_loading = worker.stage in ("starting", "loading the network")
        is_patient = worker.stage == COMPILING or (is_loading and worker.plan.device != CPU)
        return max(self._config.stall_timeout_s, LOADING_S if is_patient else 0.0)

    def rest(self) -> None:
        """Let all workers wait for the next generation."""
        for worker in self.workers.values():
            worker.rest()

    def kill(self) -> None:
        """Kill all workers; they stay in ``workers`` until they are removed one by one."""
        for worker in self.workers.values():
            worker.kill()


def next_session(run: RunFolder) -> int:
    """A number that no shard of the run carries yet."""
    numbers = (re.match(r"\d+(?=-)", name) for name in retried(list_folder, run.games))
    return 1 + max((int(number[0]) for number in numbers if number), default=-1)
