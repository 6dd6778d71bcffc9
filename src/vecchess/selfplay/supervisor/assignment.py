"""Gives workers their share of the open games, keeps the book, and replaces the dead."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from vecchess.config import SelfplayConfig
from vecchess.errors import DataError, NetworkError, VecchessError, WorkerDied
from vecchess.runtime.devices import Device, Share, share_out
from vecchess.runtime.json_pipe import Message
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.selfplay.supervisor.pending_shards import PendingShards
from vecchess.selfplay.supervisor.worker_pool import WorkerPool
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.selfplay.supervisor.worker_throughput import (
    Throughput,
    ThroughputMeter,
    combined_throughput,
)
from vecchess.store.id_set import Range
from vecchess.store.inflight import InflightFolder
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder

MAX_FRUITLESS_DEATHS = 3
"""A worker may die so often in a row without a game recorded, or a ply saved, in between."""


class WorkAssigner:
    """One generation after the other, as a campaign says. The only writer of the manifest."""

    def __init__(
        self,
        config: SelfplayConfig,
        run: RunFolder,
        devices: list[Device],
        note: Callable[[str], object],
    ) -> None:
        """Nobody is started. ``note`` takes a line for people. Raises DataError for a damaged
        manifest."""
        self.crew = WorkerPool(config, run, devices)
        self.ledger = GameLedger(run.manifest())
        self.backlog = PendingShards(self.ledger, note)
        """Shards that wait for room on the disk."""
        self.inflight = InflightFolder(run.inflight)
        """What workers that are gone have saved of their games."""
        self.share: Share = share_out(config, devices, 1)
        """What each worker has room for."""
        self.restarts = 0
        """Workers replaced in this generation."""
        self._devices = devices
        self._note = note
        self._net = ""
        self._meters: dict[int, ThroughputMeter] = {}
        self._deaths: Counter[int] = Counter()

    @property
    def workers(self) -> dict[int, WorkerProcess]:
        """The workers there are, by the index of their device."""
        return self.crew.workers

    @property
    def load(self) -> Throughput:
        """Of all workers together, since the generation began."""
        return combined_throughput([meter.overall() for meter in self._meters.values()])

    def begin(self, net: str, ranges: list[Range]) -> None:
        """Open the book of a new generation: games ``ranges``, played by ``net``."""
        for worker, message in self.crew.receive(timeout_s=0.0):  # said after the last one ended
            self.heed(worker, message)
        self.ledger.open(ranges)
        self.restarts = 0
        self._net = net
        self._meters.clear()
        self._look_for_saved_games()
        if saved := self.inflight.count(self.ledger.missing):
            self._note(f"{saved:,} games go on from where they were saved")

    def end(self) -> None:
        """Every game of the generation is recorded."""
        self.crew.rest()
        self._look_for_saved_games()

    def set_out(self) -> None:
        """Give everybody a share of the open games; start those who are not there."""
        for worker in list(self.workers.values()):
            if worker.is_alive:
                worker.begin(self._net)
            else:
                self._bury(worker, worker.reason_of_death())
        needed = min(len(self._devices), self.ledger.num_open)
        for index in range(needed):
            if index not in self.workers:
                self.crew.start(index, self._net, self.share)
            share = -(-self.ledger.num_open // (needed - index))
            self._hand_out(index, min(share, 2 * self.share.games))

    def tend(self) -> None:
        """One round: read the pipes, look after the workers."""
        for worker, message in self.crew.receive():
            self.heed(worker, message)
        self.backlog.record()
        if self.backlog.is_empty:  # replacing somebody records what is found of him
            for dead in self.crew.dead():
                self.backlog.attempt(partial(self._replace, *dead))

    def dismiss(self, errors: list[VecchessError]) -> None:
        """One round with workers that were told to stop: record what they finish, let go of those
        who have ended. What they raise, and trouble with the book, goes to ``errors``."""
        for worker, message in self.crew.receive():
            self._heed_leaving(worker, message, errors)
        for worker in [worker for worker in self.workers.values() if not worker.is_alive]:
            self._let_go(worker, errors)

    def heed(self, worker: WorkerProcess, message: Message) -> None:
        """Do what a worker's message asks for."""
        kind, index = message["kind"], worker.plan.index
        if kind == "stats":
            worker.meter.read(message)
            self._meters[index] = worker.meter
            self._replenish(worker, message)
        elif kind == "shard":
            entry = ShardEntry.from_dict(message["entry"])
            self.backlog.add(index, entry)
            worker.recorded += entry.stats.games
            self._deaths[index] = 0
        elif kind == "gpu":
            worker.gpu = message["uuid"]
        elif kind == "note":
            self._note(f"{worker.name}: {message['line']}")
        elif kind == "failed":
            worker.failure = message

    def _replenish(self, worker: WorkerProcess, message: Message) -> None:
        """Keep a few seconds of games with each worker, fewer towards the end."""
        wanted = max(self.share.games // 2, int(2 * worker.meter.games_per_s))
        if message["unstarted"] < wanted and not worker.is_told_to_stop:
            per_worker = -(-self.ledger.num_open // len(self._devices))
            self._hand_out(worker.plan.index, min(wanted - message["unstarted"], per_worker))

    def _hand_out(self, index: int, count: int) -> None:
        ranges = self.ledger.hand_out(index, count)
        if ranges:
            self.workers[index].give(ranges, self.inflight.holding(ranges))

    def _look_for_saved_games(self) -> None:
        """See what workers that are gone have left, and remove what nobody needs."""
        alive = {worker.plan.shard_prefix for worker in self.workers.values()}
        self.inflight.drop(self.ledger.has_missing, alive)
        self.inflight.survey(alive)

    def _replace(self, worker: WorkerProcess, reason: str) -> None:
        """Bury a worker, and let a new one play its share of what is open."""
        self._bury(worker, reason)
        self.crew.start(worker.plan.index, self._net, self.share)
        share = -(-self.ledger.num_open // len(self._devices))
        self._hand_out(worker.plan.index, min(share, 2 * self.share.games))

    def _bury(self, worker: WorkerProcess, reason: str) -> None:
        """Take a dead worker's games back, or give up with its error.

        Raises DiskFull where its shards cannot be recorded: it is still there then.
        """
        index = worker.plan.index
        for message in worker.pipe.receive() or []:
            if message["kind"] == "failed":  # its shards are found by ``release``
                worker.failure = message
        mine = self.ledger.held_by(index)
        saved, recorded = self.inflight.num_plies(mine), self.ledger.num_recorded
        lost = self.ledger.release(index, worker.plan.shard_prefix)
        del self.workers[index]
        failure = worker.failure or {}
        reason = str(failure.get("error", reason))
        if failure.get("expected"):
            raise _as_raised(failure)
        self._look_for_saved_games()
        if self.ledger.num_recorded > recorded or self.inflight.num_plies(mine) > saved:
            self._deaths[index] = 0
        self._note(f"{worker.name} died: {reason}; {lost} unfinished games will be played")
        if failure.get("out_of_memory"):
            slots = self.crew.lower_slots(worker.plan)
            self._note(f"{worker.name} goes on with {slots:,} slots")
        if "traceback" in failure:
            self._note(str(failure["traceback"]).rstrip())
        self._deaths[index] += 1
        if self._deaths[index] >= MAX_FRUITLESS_DEATHS:
            raise WorkerDied(f"{worker.name} died {self._deaths[index]} times in a row: {reason}")
        self.restarts += 1

    def _heed_leaving(
        self, worker: WorkerProcess, message: Message, errors: list[VecchessError]
    ) -> None:
        """As ``heed``; trouble with the book is kept in ``errors`` until everybody has left."""
        try:
            self.heed(worker, message)
        except VecchessError as error:
            errors.append(error)

    def _let_go(self, worker: WorkerProcess, errors: list[VecchessError]) -> None:
        """A worker that was told to stop has ended: record what it wrote and did not report."""
        for message in worker.pipe.receive() or []:
            self._heed_leaving(worker, message, errors)
        del self.workers[worker.plan.index]
        self.backlog.forget(worker.plan.index)
        try:
            self.ledger.release(worker.plan.index, worker.plan.shard_prefix)
        except VecchessError as error:
            errors.append(error)
        if worker.failure is not None and worker.failure.get("expected"):
            errors.append(_as_raised(worker.failure))
        elif worker.failure is not None:
            self._note(f"{worker.name} died while stopping: {worker.failure['error']}")


def _as_raised(failure: Message) -> VecchessError:
    """The error a worker reported, as the command line treats it."""
    kind: type[VecchessError] = NetworkError if failure["exit_code"] == 2 else DataError
    return kind(str(failure["error"]))
