"""Plays blocks of a run on the devices of this machine.

The blocks of a task go to the same workers as in a run of this machine alone
(``selfplay/supervisor``), in a run folder that is nobody's: what a worker has written becomes the
result of a block, and is removed. Workers, kernels and the network stay warm.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from time import sleep
from typing import Any, Self

from vecchess.config import (
    BUILT_IN_NETS,
    DEFAULT_NET,
    ContributeConfig,
    DeviceConfig,
    PlayConfig,
    SelfplayConfig,
    build,
)
from vecchess.errors import ConfigError
from vecchess.fleet.block_games import BlockGames
from vecchess.fleet.steps import Played
from vecchess.fleet.task import FleetTask, GamesOfRun
from vecchess.inference.source import find
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.devices import Device
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.supervisor.worker_throughput import Throughput
from vecchess.selfplay.worker.memory_plan import check_search, fitting_share
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.snn.integer.net_file import net_path
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import ShardEntry
from vecchess.store.remote.block_file import BlockName, pack_block
from vecchess.store.run_folder import RUN_ID_FILE, RunFolder
from vecchess.store.run_pins import GAMES_VERSION, hash_of_tables
from vecchess.store.seating import Seating

IDLE_S = 0.02
KNOWN_GAMES = 8
KNOWN_SETTINGS: dict[str, Any] = {
    "seed": 218,
    "net": DEFAULT_NET,
    "game": {"max_plies": 8, "random_plies": 2},
    "tree": {"search": "gumbel", "sims": 8},
}
KNOWN_DIGEST = "ae7dc1328a368879a00d12564a28a201515ae7a7453a3272a7a46e4f72b5d802"
"""Digest of the games of ``known_block``; ``tests/fleet/test_known_block.py`` prints it where the
games, or the network that comes along, were changed on purpose."""


def player_config(config: PlayConfig) -> ContributeConfig:
    """How a player computes that belongs to a run: with the run's own settings of devices."""
    devices = {name: getattr(config, name) for name in DeviceConfig.model_fields}
    return ContributeConfig(**devices, syzygy=config.tree.syzygy)


def config_of(facts: GamesOfRun, local: ContributeConfig, openings: Path | None) -> SelfplayConfig:
    """How the games of a run are played on this machine. ``openings``: its copy of that file.

    Raises ConfigError where this vecchess, or the tablebases here, would give other games.
    """
    facts.check_version()
    values = {**facts.settings, **local.model_dump(include=set(DeviceConfig.model_fields))}
    values["game"] = {**values.get("game", {}), "openings": openings}
    values["tree"] = {**values.get("tree", {}), "syzygy": local.syzygy}
    if hash_of_tables(local.syzygy) != facts.tables:
        wanted = "with --syzygy" if local.syzygy is None else "with others"
        raise ConfigError(f"the run was begun {wanted if facts.tables else 'without'} tablebases")
    return build(SelfplayConfig, values)


def digest_of_known_block(
    local: ContributeConfig, devices: Sequence[Device], folder: Path, watcher: SelfplayWatcher
) -> str:
    """A digest of a few games of the network that comes along, with search, as ``devices`` play
    them: ``KNOWN_DIGEST`` on every machine that plays right."""
    facts = GamesOfRun(
        run_id="0" * 32, settings=KNOWN_SETTINGS, seats=0, turns=0, games_version=GAMES_VERSION,
        openings=None, tables="",
    )  # fmt: skip
    network = net_path(DEFAULT_NET).read_bytes()
    task = FleetTask(
        number=0, generation=0, first=0, end=KNOWN_GAMES, size=KNOWN_GAMES,
        net="default.safetensors", net_sha256=hashlib.sha256(network).hexdigest(),
    )  # fmt: skip
    config = config_of(facts, local.model_copy(update={"syzygy": None}), None)
    with BlockPlayer(facts, config, devices, folder, watcher) as player:
        player.add_network(task, network)
        player.begin(task, 0, [])
        while not (played := player.take_played()):
            player.poll(0.1)
    games = BlockGames.of(BlockName(0, 0, "self"), played[0].data, facts).ended
    return hashlib.sha256(games.digest().encode() + games.fingerprint.tobytes()).hexdigest()


class BlockPlayer:
    """The devices of this machine, as far as blocks of one run go; to be used in a ``with``."""

    def __init__(
        self,
        facts: GamesOfRun,
        config: SelfplayConfig,
        devices: Sequence[Device],
        folder: Path,
        watcher: SelfplayWatcher,
    ) -> None:
        """No worker is started. ``folder``: for files that are of no use later."""
        self._seating = Seating(facts.seats, facts.turns) if facts.seats else None
        self._config, self._devices, self._folder = config, list(devices), folder
        self._run, self._watcher = RunFolder(folder / "run"), watcher
        self._run.create()
        write_atomically(self._run.path / RUN_ID_FILE, f"{facts.run_id}\n".encode())
        self._task: FleetTask | None = None
        self._in_hand: set[int] = set()
        self._cuts: dict[int, list[tuple[Path, str]]] = {}
        self._num_taken = 0
        self.num_blocks = self.num_games = 0
        """Blocks played so far, and games that ended in them."""
        self._supervisor: Supervisor | None = None

    def __enter__(self) -> Self:
        """Workers are started with the first block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the workers; what they have not finished is lost."""
        if self._supervisor is not None:
            self._supervisor.assigner.pool.kill()

    def has_network(self, task: FleetTask) -> bool:
        """Whether the network of a task is here."""
        return task.net in BUILT_IN_NETS or self._network_file(task).exists()

    def add_network(self, task: FleetTask, data: bytes) -> bool:
        """Keep the network file of a task; False where ``data`` is another one."""
        if hashlib.sha256(data).hexdigest() != task.net_sha256:
            return False
        file = self._network_file(task)
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in file.parent.iterdir():
            old.unlink()
        write_atomically(file, data, durably=False)
        return True

    def _network_file(self, task: FleetTask) -> Path:
        """Where the network file of a task is to lie. A training that went back may use a name
        again: files and workers tell networks by their content."""
        return self._folder / "nets" / f"{task.net_sha256}.safetensors"

    @property
    def throughput(self) -> Throughput:
        """Recent throughput of all workers."""
        return self._supervisor.throughput if self._supervisor else Throughput()

    def room(self, task: FleetTask) -> int:
        """How many blocks of ``task`` would be taken now: none while another task is played."""
        if self._in_hand and self._task is not None and self._task.number != task.number:
            return 0
        total = task.end - task.first
        rows = fitting_share(self._config, self._devices, total).games * len(self._devices)
        if self._supervisor is not None:  # workers may have chosen larger shares
            workers = self._supervisor.workers.values()
            rows = max(rows, sum(worker.games_at_a_time for worker in workers))
        wanted = rows + max(rows // 4, task.size)
        return max(0, -(-(wanted - len(self._in_hand) * task.size) // task.size))

    def begin(self, task: FleetTask, block: int, cuts: list[bytes]) -> None:
        """Play a block, whose network is here. ``cuts``: files with the games it goes on with."""
        if self._task is None or self._task.number != task.number:
            self._begin_task(task)
        assert self._supervisor is not None, "a task has begun"
        files = []
        for data in cuts:
            sha256 = hashlib.sha256(data).hexdigest()
            files.append((self._folder / "inputs" / f"{sha256}.npz", sha256))
            if not files[-1][0].exists():
                write_atomically(files[-1][0], data, durably=False)
        self._cuts[block] = files
        ids = task.blocks.ids(block)
        if self._supervisor.ledger.is_complete:
            self._supervisor.begin(self._net(task), ids, task.blocks)
        else:
            self._supervisor.assigner.add(ids)
        self._in_hand.add(block)

    def poll(self, timeout_s: float) -> None:
        """One round of the workers, or a short pause where they rest."""
        if self._supervisor is None or not self._in_hand:
            sleep(min(timeout_s, IDLE_S))
            return
        self._supervisor.poll(timeout_s=timeout_s)
        if self._supervisor.ledger.is_complete:
            self._supervisor.rest()

    def has_played(self) -> bool:
        """Whether ``take_played`` would return a block."""
        supervisor = self._supervisor
        return supervisor is not None and len(supervisor.ledger.entries) > self._num_taken

    def take_played(self) -> list[Played]:
        """The blocks that are done and were not taken before."""
        if self._supervisor is None or self._task is None:
            return []
        entries = self._supervisor.ledger.entries[self._num_taken :]
        self._num_taken += len(entries)
        return [self._played(self._task, entry) for entry in entries]

    def files_for(self, segments: IdSet) -> list[tuple[Path, str]]:
        """The files with which blocks go on, see ``FindCuts``."""
        assert self._task is not None, "segments are of a task"
        files = [
            file
            for block in self._task.blocks.touched_by(segments)
            for file in self._cuts.get(block, [])
        ]
        return list(dict.fromkeys(files))

    def _begin_task(self, task: FleetTask) -> None:
        """Forget the task before, of which no block is in hand."""
        assert not self._in_hand, "blocks of two tasks are not played at once"
        if self._supervisor is None:
            self._supervisor = self._started(task)
        self._supervisor.ledger.forget()
        self._task, self._num_taken, self._cuts = task, 0, {}
        inputs = self._folder / "inputs"
        inputs.mkdir(exist_ok=True)
        for old in inputs.iterdir():
            old.unlink()

    def _started(self, task: FleetTask) -> Supervisor:
        """A supervisor without workers. Raises NetworkError or ConfigError for what cannot play."""
        sizes = find(self._net(task)).load().config
        config = with_remembered_slots(self._config, sizes, self._devices)
        share = fitting_share(config, self._devices, task.end - task.first)
        check_search(config.tree, share, self._devices)
        self._config = config
        return Supervisor(
            config,
            self._run,
            self._devices,
            self._watcher,
            seating=self._seating,
            find_cuts=self.files_for,
        )

    def _net(self, task: FleetTask) -> str:
        if task.net in BUILT_IN_NETS:
            return task.net
        return find(self._config.net).with_weights_of(self._network_file(task)).text

    def _played(self, task: FleetTask, entry: ShardEntry) -> Played:
        """The result of a block, whose files are removed."""
        ids = entry.segments or entry.ids
        (block,) = task.blocks.touched_by(ids)
        shard, cut = self._run.games / entry.file, self._run.cuts / entry.file
        data = pack_block(shard.read_bytes(), cut.read_bytes() if entry.cut else b"")
        shard.unlink()
        cut.unlink(missing_ok=True)
        self._in_hand.discard(block)
        self._cuts.pop(block, None)
        self.num_blocks, self.num_games = self.num_blocks + 1, self.num_games + entry.stats.games
        return Played(task.number, block, data)
