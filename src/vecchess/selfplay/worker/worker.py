"""A worker: the process that plays on one device; a campaign starts it and holds its pipe."""

import os
import sys
import traceback
from collections.abc import MutableSequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, sleep

from vecchess.config import SelfplayConfig
from vecchess.errors import DeviceError, VecchessError
from vecchess.runtime.child_process import ignore_signals
from vecchess.runtime.devices import Device, Share, gpu_uuid
from vecchess.runtime.json_pipe import JsonPipe, Message
from vecchess.runtime.signals import stop_signals
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.inflight_saver import InflightSaver
from vecchess.selfplay.worker.live_games import INTERVAL_S, SHOWN_GAMES, LiveGames
from vecchess.selfplay.worker.protocol import PULSE_BEATS, PULSE_STAGE, STAGES
from vecchess.selfplay.worker.setup import build_server
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.selfplay.worker.slot_tuning import tuned_share
from vecchess.selfplay.worker.swap_network import swap_network
from vecchess.store.id_set import NumberSet, Range
from vecchess.store.inflight import read_saved_games
from vecchess.store.records import GameRecords

STATS_INTERVAL_S = 0.5
BEHIND_S = 0.02


@dataclass(frozen=True)
class WorkerPlan:
    """Everything a worker is told at its start."""

    index: int
    device: Device
    config: SelfplayConfig
    net: str
    """Network file, or "constant"."""
    games_folder: Path
    live_folder: Path
    """Where a few games in progress are shown."""
    inflight_folder: Path
    """Where all of them are saved."""
    shard_prefix: str
    share: Share


def run_worker(plan: WorkerPlan, connection: Connection, pulse: MutableSequence[int]) -> None:
    """Body of the worker process. Imports torch only after the device has been chosen."""
    ignore_signals(stop_signals())  # the parent decides when to stop
    os.environ["CUDA_VISIBLE_DEVICES"] = plan.device.visible
    os.environ["OMP_NUM_THREADS"] = str(plan.share.threads)
    pipe = JsonPipe(connection)
    try:
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
    """Plays what the parent hands out until it is told to stop."""

    def __init__(self, plan: WorkerPlan, pipe: JsonPipe, pulse: MutableSequence[int]) -> None:
        """Nothing is loaded before ``run``."""
        self._plan = plan
        self._pipe = pipe
        self._pulse = pulse
        self._numbers = GameIdPool()
        self._stopping = False
        self._resting = False
        self._next_stats = self._next_look = 0.0
        self._games = 0
        self._was_idle = True

    def run(self) -> None:
        """Load, play, and leave when told to, or when the device is lost: games are not on it.

        Finished games are written first: until they are, the last saving holds their beginnings.
        """
        plan = self._plan
        self._stage("loading the network")
        share = self._share()
        server = build_server(plan.config, plan.net, plan.device, share, self._numbers, self._say)
        if uuid := gpu_uuid():
            self._pipe.send("gpu", uuid=uuid)
        writer = ShardWriter(
            plan.games_folder,
            plan.shard_prefix,
            plan.config.shard_games,
            plan.config.shard_interval_s,
            lambda entry: self._pipe.send("shard", entry=entry.to_dict()),
            self._say,
        )
        showcase = LiveGames(plan.live_folder, plan.index)
        keeper = InflightSaver(
            plan.inflight_folder / f"{plan.shard_prefix}.npz",
            plan.config.inflight_interval_s,
            self._say,
        )
        server.start()
        self._stage("playing")
        lost: DeviceError | None = None
        try:
            while not self._stopping:
                if self._resting:
                    showcase.show(None)
                    keeper.rest()
                    self._pipe.wait()
                self._listen(server)
                if not self._resting:
                    showcase.note_ended(self._turn(server, writer))
                    self._show(server, showcase)
                    keeper.look_after(server, writer)
        except DeviceError as error:
            lost = error
        self._stage("writing games")
        showcase.close()
        server.close()
        writer.put(server.take_finished())
        writer.close()
        keeper.close(server)
        if lost is not None:
            raise lost
        self._report(server)
        self._stage("done")

    def _share(self) -> Share:
        """What the parent gave it, with the number of slots that suits its device."""
        plan = self._plan

        def beat(rung: object) -> None:
            self._pulse[PULSE_BEATS] += 1

        return tuned_share(plan.config, plan.net, plan.device, plan.share, self._say, beat)

    def _say(self, line: str) -> None:
        """Tell people, by way of the parent."""
        self._pipe.send("note", line=line)

    def _turn(self, server: SelfplayServer, writer: ShardWriter) -> list[GameRecords]:
        """One turn of the central loop; returns the games that it finished."""
        if writer.is_behind:
            sleep(BEHIND_S)  # the disk, or the processor: movers come to rest by themselves
        else:
            server.turn()
        self._pulse[PULSE_BEATS] += 1
        finished = server.take_finished()
        self._games += sum(records.num_games for records in finished)
        writer.put(finished)
        if server.is_idle and (finished or not self._was_idle):
            writer.flush()
            self._next_stats = 0.0
        self._was_idle = server.is_idle
        if monotonic() >= self._next_stats:
            self._report(server)
        return finished

    def _show(self, server: SelfplayServer, showcase: LiveGames) -> None:
        if monotonic() >= self._next_look:
            self._next_look = monotonic() + INTERVAL_S
            showcase.show(server.look(SHOWN_GAMES))

    def _listen(self, server: SelfplayServer) -> None:
        messages = self._pipe.receive()
        if messages is None:  # the parent is gone: save what is finished and end
            self._stopping = True
            return
        for message in messages:
            self._obey(message, server)

    def _obey(self, message: Message, server: SelfplayServer) -> None:
        if message["kind"] == "games":
            ranges = [(first, end) for first, end in message["ranges"]]
            self._take_over(ranges, message["saved"], server)
            self._resting = False
            self._stage("playing")
        elif message["kind"] == "net":
            self._swap(server, message["file"])
        elif message["kind"] == "rest":
            self._resting = True
            self._stage("resting")
        elif message["kind"] == "stop":
            self._numbers.clear()
            self._stopping = True

    def _take_over(self, ranges: list[Range], files: list[str], server: SelfplayServer) -> None:
        """Play the games of ``ranges``, and let those go on that are saved in ``files``."""
        taken = NumberSet()
        if files:
            folder, net = self._plan.inflight_folder, server.net_sha
            if saved := read_saved_games(folder, files, ranges, net, self._say):
                self._numbers.add_saved(saved)
                taken.add(saved.records.numbers)
        self._numbers.add(taken.missing(ranges))

    def _swap(self, server: SelfplayServer, net: str) -> None:
        plan, stage = self._plan, STAGES[self._pulse[PULSE_STAGE]]
        self._stage("loading the network")
        swap_network(server, plan.config, net, plan.device, plan.share.threads, self._say)
        self._stage(stage)

    def _report(self, server: SelfplayServer) -> None:
        now = monotonic()
        self._next_stats = now + STATS_INTERVAL_S
        self._pipe.send("stats", time_s=now, games=self._games, **server.to_message())

    def _stage(self, name: str) -> None:
        self._pulse[PULSE_STAGE] = STAGES.index(name)
