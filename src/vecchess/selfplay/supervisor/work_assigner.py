"""Assigns open games, or segments of a training, to workers, records their shards, and replaces
dead workers (decision 191).

At first a worker gets as much as it plays in the time of the others, by its speed in the generation
before; a worker that runs short gets more, as long as there is something left (decision 229).
"""

from collections import Counter
from functools import partial

from vecchess.config import SelfplayConfig
from vecchess.errors import DataError, NetworkError, VecchessError, WorkerDied
from vecchess.runtime.devices import Device, Share, divide_by_speed, share_out
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.write_retry import WriteRetry
from vecchess.selfplay.supervisor.cut_finder import FindCuts, recorded_cuts
from vecchess.selfplay.supervisor.disk_quota import DiskQuota
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.selfplay.supervisor.worker_pool import POLL_S, WorkerPool
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.selfplay.supervisor.worker_throughput import (
    Throughput,
    ThroughputMeter,
    combined_throughput,
)
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import InflightFolder
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import LogEvent, no_event
from vecchess.store.seating import Seating

MAX_FRUITLESS_DEATHS = 3
"""A worker may die so often in a row without a game recorded, or a ply saved, in between."""


class WorkAssigner:
    """Plays one generation after the other for a supervisor. All games are recorded here."""

    def __init__(
        self,
        config: SelfplayConfig,
        run: RunFolder,
        devices: list[Device],
        report_line: ReportLine,
        log_event: LogEvent = no_event,
        seating: Seating | None = None,
        find_cuts: FindCuts | None = None,
    ) -> None:
        """No worker is started. ``seating``: of a training, whose segments are assigned in place of
        games. ``find_cuts``: of somebody who plays blocks of a run that is elsewhere. Raises
        DataError for a damaged manifest."""
        self.pool = WorkerPool(config, run, devices, seating, in_blocks=find_cuts is not None)
        manifest = run.manifest()
        self.ledger = GameLedger(manifest, self.pool.run_id, report_line, seating is not None)
        self._unit = "games" if seating is None else "segments"
        self._find_cuts = find_cuts
        if seating is not None and find_cuts is None:
            self._find_cuts = partial(recorded_cuts, run, manifest, seating)
        self._blocks: Blocks | None = None
        self.inflight = InflightFolder(run.inflight, self.pool.run_id)
        """Saved games of workers that are gone."""
        self.share: Share = share_out(config, devices, 1)
        """Each worker's share of slots, games and threads."""
        self.restarts = 0
        """Workers replaced in this generation."""
        self._devices = devices
        self._report_line, self._log_event = report_line, log_event
        self._net = ""
        self._meters: dict[int, ThroughputMeter] = {}
        self._seconds: dict[int, float] = {}
        """Time a ply of each worker, over the last generations."""
        self._deaths: Counter[int] = Counter()
        self._unrecorded: list[tuple[int, ShardEntry]] = []
        """Shards that wait for room in the manifest, each with its worker."""
        self._quota = DiskQuota(manifest, config.keep_gb, report_line, log_event)
        waiting = "what workers have written is recorded when there is room"
        self._retry = WriteRetry(report_line, lambda: waiting, "shards are recorded")

    @property
    def num_unrecorded(self) -> int:
        """Games of shards that are written but not recorded: the disk is full."""
        return sum(entry.stats.games for _, entry in self._unrecorded)

    def overall_throughput(self) -> Throughput:
        """Throughput of all workers together, since the generation began."""
        return combined_throughput([meter.overall() for meter in self._meters.values()])

    def begin_generation(self, net: str, ids: IdSet, blocks: Blocks | None = None) -> None:
        """Open a new generation: the games ``ids``, played by ``net``; whole ones of ``blocks``
        where these are given, each of which becomes a shard."""
        for worker, message in self.pool.receive(timeout_s=0.0):  # sent after the last one ended
            self.handle_message(worker, message)
        self.ledger.open(ids)
        self.restarts = 0
        self._net, self._blocks = net, blocks
        self._meters.clear()
        self._survey_saved_games()
        if saved := self.inflight.count(self.ledger.missing):
            self._report_line(f"{saved:,} games go on from where they were saved")

    def end_generation(self) -> None:
        """Let the workers rest: every game of the generation is recorded."""
        for index, meter in self._meters.items():
            if seconds := meter.seconds_a_ply:
                self._seconds[index] = (seconds + self._seconds.get(index, seconds)) / 2
        self.pool.rest()
        self._survey_saved_games()

    def start_workers(self) -> None:
        """Start the workers that are missing, and give each a share of the open games."""
        for worker in list(self.pool.workers.values()):
            if worker.is_alive:
                worker.begin_generation(self._net)
            else:
                self._reap(worker, self.pool.reason_of_death(worker))
        needed = min(len(self._devices), self.ledger.num_open)
        seconds = [self._seconds.get(index, 0.0) for index in range(needed)]
        if not all(seconds):
            seconds = [1.0] * needed
        most = 2 * self.share.games
        for index, count in enumerate(divide_by_speed(self.ledger.num_open, seconds, most)):
            if index not in self.pool.workers:
                self.pool.start(index, self._net, self.share)
            self._assign(index, count)

    def add(self, ids: IdSet) -> None:
        """Add the games ``ids``, whole blocks, to the generation."""
        self.ledger.extend(ids)
        for index in range(len(self._devices)):
            if index not in self.pool.workers and self.ledger.num_open:
                self.pool.start(index, self._net, self.share)
            if index in self.pool.workers and not self.ledger.assigned_to(index):
                self._assign(index, self.share.games)

    def poll(self, timeout_s: float = POLL_S) -> None:
        """One round: handle messages, record shards, replace dead workers."""
        for worker, message in self.pool.receive(timeout_s):
            self.handle_message(worker, message)
        self._record_shards()
        self._quota.enforce()
        if not self._unrecorded:  # replacing a worker records the shards it did not report
            for worker, reason in self.pool.dead():
                self._retry.attempt(lambda w=worker, r=reason: self._replace(w, r))  # type: ignore[misc]

    def poll_stopping(self, errors: list[VecchessError]) -> None:
        """One round with workers that were told to stop: record what they finish, remove those
        that have ended. Their errors, and errors of recording, are added to ``errors``."""
        for worker, message in self.pool.receive():
            self._handle_last_message(worker, message, errors)
        for worker in [each for each in self.pool.workers.values() if not each.is_alive]:
            self._retire(worker, errors)

    def handle_message(self, worker: WorkerProcess, message: Message) -> None:
        """Do what a worker's message asks for, see ``worker/protocol.py``."""
        kind, index = message["kind"], worker.plan.index
        if kind == "stats":
            worker.meter.read(message)
            self._meters[index] = worker.meter
            self._replenish(worker, message)
        elif kind == "shard":
            entry = ShardEntry.from_dict(message["entry"])
            self._unrecorded.append((index, entry))
            self._record_shards()
            worker.recorded += entry.stats.games
            self._deaths[index] = 0
        elif kind == "gpu":
            worker.gpu = message["uuid"]
        elif kind == "share":
            slots, games = message["slots"], message["games"]
            self.pool.take_share(worker, slots, games)
            self._report_line(
                f"{worker.name}: {games:,} games in parallel, network batch {slots:,}"
            )
        elif kind == "note":
            self._report_line(f"{worker.name}: {message['line']}")
        elif kind == "failed":
            worker.failure = message

    def _record_shards(self) -> None:
        """Record the shards that wait, while there is room; raises what the ledger raises."""
        while self._unrecorded:
            first = self._unrecorded[0]
            if not self._retry.attempt(lambda: self.ledger.record(*first)):  # noqa: B023
                return
            del self._unrecorded[0]

    def _replenish(self, worker: WorkerProcess, message: Message) -> None:
        """Keep a few seconds of games with each worker, fewer towards the end."""
        wanted = max(self.share.games // 2, int(2 * worker.meter.recent().games_per_s))
        if message["unstarted"] < wanted and not worker.is_told_to_stop:
            per_worker = -(-self.ledger.num_open // len(self._devices))
            self._assign(worker.plan.index, min(wanted - message["unstarted"], per_worker))

    def _assign(self, index: int, count: int) -> None:
        if ids := self.ledger.assign(index, count, self._blocks):
            cuts = self._find_cuts(ids) if self._find_cuts else []
            saved = [] if self._find_cuts else self.inflight.files_with(ids)
            self.pool.workers[index].send_games(ids, saved, cuts, self._blocks)

    def _survey_saved_games(self) -> None:
        """Find the files of workers that are gone, and remove those that are not needed."""
        alive = {worker.plan.shard_prefix for worker in self.pool.workers.values()}
        self.inflight.survey(self.ledger.has_missing, alive)

    def _replace(self, worker: WorkerProcess, reason: str) -> None:
        """Replace a dead worker, and give its part of the open games to the new one."""
        self._reap(worker, reason)
        new = self.pool.start(worker.plan.index, self._net, self.share)
        self._log_event("worker restarted", worker=new.name, pid=new.pid)
        share = -(-self.ledger.num_open // len(self._devices))
        self._assign(worker.plan.index, min(share, 2 * self.share.games))

    def _reap(self, worker: WorkerProcess, reason: str) -> None:
        """Remove a dead worker and take its games back, or raise its error.

        Raises WriteLater where its shards cannot be recorded: it is not removed then.
        """
        index = worker.plan.index
        for message in worker.pipe.receive() or []:
            if message["kind"] in ("failed", "share"):  # its shards are found by ``release``
                self.handle_message(worker, message)
        assigned = self.ledger.assigned_to(index)
        plies, recorded = self.inflight.num_plies(assigned), self.ledger.num_recorded
        unfinished = self.ledger.release(index, worker.plan.shard_prefix)
        del self.pool.workers[index]
        failure = worker.failure or {}
        reason = str(failure.get("error", reason))
        self._log_death(worker, reason)
        if failure.get("expected"):
            raise _error_of(failure)
        self._survey_saved_games()
        if self.ledger.num_recorded > recorded or self.inflight.num_plies(assigned) > plies:
            self._deaths[index] = 0
        self._report_line(
            f"{worker.name} died: {reason}; {unfinished} unfinished {self._unit} will be played"
        )
        if failure.get("out_of_memory"):
            slots = self.pool.lower_slots(worker.plan)
            self._report_line(f"{worker.name} goes on with {slots:,} slots")
        if "traceback" in failure:
            self._report_line(str(failure["traceback"]).rstrip())
        if failure.get("killed_for_memory") and (share := self.pool.halve_share(worker.plan)):
            games = f"{share.games:,} games at a time and {share.slots:,} slots"
            self._report_line(f"{worker.name} goes on with {games}")
        else:
            self._deaths[index] += 1
        if self._deaths[index] >= MAX_FRUITLESS_DEATHS:
            raise WorkerDied(f"{worker.name} died {self._deaths[index]} times in a row: {reason}")
        self.restarts += 1

    def _handle_last_message(
        self, worker: WorkerProcess, message: Message, errors: list[VecchessError]
    ) -> None:
        """Call ``handle_message``; keep errors in ``errors`` until all workers have ended."""
        try:
            self.handle_message(worker, message)
        except VecchessError as error:
            errors.append(error)

    def _retire(self, worker: WorkerProcess, errors: list[VecchessError]) -> None:
        """Remove a worker that was told to stop and has ended: record what it did not report."""
        for message in worker.pipe.receive() or []:
            self._handle_last_message(worker, message, errors)
        index = worker.plan.index
        del self.pool.workers[index]
        self._unrecorded = [waiting for waiting in self._unrecorded if waiting[0] != index]
        try:
            self.ledger.release(index, worker.plan.shard_prefix)
        except VecchessError as error:
            errors.append(error)
        if worker.failure is not None and worker.failure.get("expected"):
            errors.append(_error_of(worker.failure))
        elif worker.failure is not None:
            self._log_death(worker, str(worker.failure["error"]))
            self._report_line(f"{worker.name} died while stopping: {worker.failure['error']}")

    def _log_death(self, worker: WorkerProcess, reason: str) -> None:
        self._log_event(
            "worker died",
            worker=worker.name,
            pid=worker.pid,
            stage=worker.stage,
            reason=reason,
            traceback=str((worker.failure or {}).get("traceback", "")),
            stderr=worker.last_lines(),
        )


def _error_of(failure: Message) -> VecchessError:
    """The error that a worker reported, with the same exit code."""
    kind: type[VecchessError] = NetworkError if failure["exit_code"] == 2 else DataError
    return kind(str(failure["error"]))
