"""A worker: the process that plays on one device; the supervisor starts it and holds its pipe."""

import os
import sys
import traceback
from collections.abc import MutableSequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from vecchess.config import BUILT_IN_NETS, SelfplayConfig
from vecchess.errors import DeviceError, VecchessError
from vecchess.jit import observe_compiling
from vecchess.runtime.devices import (
    CPU,
    Device,
    Share,
    bind_near,
    gpu_uuid,
    release_memory,
)
from vecchess.runtime.json_pipe import JsonPipe, Message
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.worker.inflight_saver import InflightSaver
from vecchess.selfplay.worker.live_games import LiveGames
from vecchess.selfplay.worker.protocol import PULSE_BEATS, PULSE_COMPILES, PULSE_STAGE, STAGES
from vecchess.selfplay.worker.setup import build_server, swap_network
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.selfplay.worker.slot_tuning import tuned_share
from vecchess.store.blocks import Blocks
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import read_cuts, read_saved_games
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating

STATS_INTERVAL_S = 0.5
BEHIND_S = 0.02


@dataclass(frozen=True)
class WorkerPlan:
    """Everything a worker is told at its start."""

    index: int
    device: Device
    config: SelfplayConfig
    net: str
    """Network file, or name of a built-in one."""
    run: RunFolder
    run_id: str
    shard_prefix: str
    share: Share
    seating: Seating | None = None
    """The seats of a training, whose segments are played; None: whole games."""
    in_blocks: bool = False
    """What is played is given out in blocks, and what is unfinished at the end is not saved."""
    num_workers: int = 1
    """Workers of the run on this machine, which have its memory in common."""


def run_worker(plan: WorkerPlan, connection: Connection, pulse: MutableSequence[int]) -> None:
    """Body of the worker process. Imports torch only after the device has been chosen."""
    os.environ["CUDA_VISIBLE_DEVICES"] = plan.device.visible
    os.environ["OMP_NUM_THREADS"] = str(plan.share.threads)
    pipe = JsonPipe(connection)
    try:
        if plan.device != CPU and plan.net not in BUILT_IN_NETS:
            bind_near(plan.device, plan.share.movers + 1)
        Worker(plan, pipe, pulse).run()
    except DeviceError as error:  # a new process may be luckier, with fewer slots perhaps
        lacks_memory = error.out_of_memory
        pipe.send("failed", error=str(error), expected=False, out_of_memory=lacks_memory)
        sys.exit(1)
    except VecchessError as error:
        pipe.send("failed", error=str(error), expected=True, exit_code=error.exit_code)
        sys.exit(error.exit_code)
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        pipe.send("failed", error=reason, expected=False, traceback=traceback.format_exc())
        sys.exit(1)


class Worker:
    """Plays what the parent assigns until it is told to stop."""

    def __init__(self, plan: WorkerPlan, pipe: JsonPipe, pulse: MutableSequence[int]) -> None:
        """Load the network and build the server and what writes its games.

        Raises what ``build_server`` raises.
        """
        self._plan, self._pipe, self._pulse = plan, pipe, pulse
        self._pool = GameIdPool()
        self._is_stopping = self._is_resting = False
        self._was_idle = True
        self._next_stats = 0.0
        self._games = 0
        observe_compiling(self._on_compiling)
        self._enter_stage("loading the network")
        share = tuned_share(
            plan.config, plan.net, plan.device, plan.num_workers, plan.share,
            self._report_line, self._on_rung,
        )  # fmt: skip
        if share != plan.share:
            self._pipe.send("share", slots=share.slots, games=share.games)
        self._server = build_server(
            plan.config, plan.net, plan.device, share, self._pool, self._report_line, plan.seating
        )
        self._writer = ShardWriter(
            plan.run,
            plan.shard_prefix,
            plan.config.shard_games,
            plan.config.shard_interval_s,
            self._on_shard,
            self._report_line,
            plan.run_id,
            plan.seating,
        )
        self._live = LiveGames(plan.run.live, plan.index, plan.run_id)
        saves = plan.seating is None and not plan.in_blocks
        self._saver = self._open_saver() if saves else None

    def _open_saver(self) -> InflightSaver:
        """What saves games in progress. Segments and blocks are not saved: they are played anew."""
        return InflightSaver(
            self._plan.run.inflight / f"{self._plan.shard_prefix}.npz",
            self._plan.config.inflight_interval_s,
            self._report_line,
            self._plan.run_id,
        )

    def run(self) -> None:
        """Play until told to stop or the device is lost, then write and save the games.

        Raises DeviceError after that; games do not depend on the device.
        """
        if uuid := gpu_uuid():
            self._pipe.send("gpu", uuid=uuid)
        self._server.start()
        self._enter_stage("playing")
        lost: DeviceError | None = None
        try:
            while not self._is_stopping:
                if self._is_resting:
                    self._live.show(None)
                    if self._saver is not None:
                        self._saver.clear()
                    self._pipe.wait()
                self._handle_messages()
                if not self._is_resting:
                    self._turn()
        except DeviceError as error:
            lost = error
        self._enter_stage("writing games")
        self._close()
        if lost is not None:
            raise lost
        self._send_stats()
        self._enter_stage("done")

    def _turn(self) -> None:
        """One turn of the central loop, and what follows from it."""
        if self._writer.is_behind:
            sleep(BEHIND_S)  # waits for disk or processor; the movers run out of answers and wait
        else:
            self._server.step()
        self._pulse[PULSE_BEATS] += 1
        finished = self._server.take_finished()
        self._games += sum(part.num_ended for part in finished)
        self._writer.put(finished)
        if self._server.is_idle and (finished or not self._was_idle):
            self._writer.flush()
            self._next_stats = 0.0
        self._was_idle = self._server.is_idle
        if monotonic() >= self._next_stats:
            self._send_stats()
        self._live.update(self._server, finished)
        if self._saver is not None:
            self._saver.update(self._server, self._writer)

    def _close(self) -> None:
        """Write finished games, then save the others: until a finished game is written, the last
        saving holds its beginning. Segments that are not over are played again."""
        self._live.close()
        self._server.close()
        self._writer.put(self._server.take_finished())
        self._writer.close()
        if self._saver is not None:
            self._saver.close(self._server)

    def _handle_messages(self) -> None:
        messages = self._pipe.receive()
        if messages is None:  # the parent is gone: write what is finished and end
            self._is_stopping = True
            return
        for message in messages:
            self._handle(message)

    def _handle(self, message: Message) -> None:
        if message["kind"] == "games":
            ids = IdSet(map(tuple, message["ranges"]))
            self._writer.blocks = Blocks(*message["blocks"]) if message["blocks"] else None
            if self._plan.seating is None:
                self._add_games(ids, message["saved"])
            else:
                self._add_segments(ids, self._plan.seating, message["cuts"])
            self._is_resting = False
            self._enter_stage("playing")
        elif message["kind"] == "net":
            self._swap_network(message["file"])
        elif message["kind"] == "rest":
            self._is_resting = True
            self._enter_stage("resting")
            release_memory()
        elif message["kind"] == "stop":
            self._pool.clear()
            self._is_stopping = True

    def _add_games(self, ids: IdSet, files: list[str]) -> None:
        """Play the games ``ids``, and resume those that are saved in ``files``."""
        if files:
            folder, net = self._plan.run.inflight, self._server.net_sha
            if saved := read_saved_games(
                folder, files, ids, net, self._report_line, self._plan.run_id
            ):
                self._pool.add_saved(saved)
                ids -= IdSet.of(saved.records.numbers)
        self._pool.add(ids)

    def _add_segments(self, ids: IdSet, seating: Seating, cuts: list[tuple[str, str]]) -> None:
        """Play the segments ``ids``, of one generation: go on with the unfinished games in the
        files ``cuts`` (each with its sha256)."""
        self._writer.segments = ids
        files = [(Path(file), sha256) for file, sha256 in cuts]
        saved = read_cuts(files, seating, ids, self._server.net_sha, self._report_line)
        if saved is not None:
            self._pool.add_saved(saved)
            ids -= IdSet.of(seating.of_games(ids, saved.records.numbers))
        if ids and ids.span[0] >= seating.seats:
            self._report_line(f"{len(ids):,} seats begin new games: theirs are not here")
        self._pool.add(IdSet.of(seating.new_games(ids)))

    def _swap_network(self, net: str) -> None:
        plan, stage = self._plan, STAGES[self._pulse[PULSE_STAGE]]
        self._enter_stage("loading the network")
        threads = plan.share.threads
        swap_network(self._server, plan.config, net, plan.device, threads, self._report_line)
        self._enter_stage(stage)

    def _report_line(self, line: str) -> None:
        """Send a line for people to the parent."""
        self._pipe.send("note", line=line)

    def _on_shard(self, entry: ShardEntry) -> None:
        self._pipe.send("shard", entry=entry.to_dict())

    def _on_rung(self, _: object) -> None:
        """A slot count was tried: the worker is alive."""
        self._pulse[PULSE_BEATS] += 1

    def _on_compiling(self, _: bool) -> None:
        """Compiling begins or ends: it takes long, and no turn ends meanwhile."""
        self._pulse[PULSE_COMPILES] += 1

    def _send_stats(self) -> None:
        now = monotonic()
        self._next_stats = now + STATS_INTERVAL_S
        facts: dict[str, Any] = {"time_s": now, "games": self._games}
        if self._saver is not None:
            facts["saved_s"] = self._saver.saved_s
        self._pipe.send("stats", **facts, **self._server.to_message())

    def _enter_stage(self, name: str) -> None:
        self._pulse[PULSE_STAGE] = STAGES.index(name)
