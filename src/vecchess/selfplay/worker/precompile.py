"""Compiles what self-play needs, once per version and machine, before any worker starts; and a
network's kernels beside others.

Two helpers share the work: one compiles the rules and the movers while this process makes the
network, the other the kernels of that. Workers then find the machine code in the cache. This
process stays free: compiling takes minutes on a busy machine, and other ranks wait for its pulse.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from typing import Self

import numpy as np

from vecchess.chess.chess960 import start_positions
from vecchess.chess.planes import encode_planes
from vecchess.config import CONSTANT_NET, GameConfig, SelfplayConfig, TreeConfig
from vecchess.config.backend import is_factory
from vecchess.errors import VecchessError
from vecchess.inference.open_network import open_network
from vecchess.inference.playable_net import BuiltInNet
from vecchess.inference.requests import Requests
from vecchess.inference.source import Source, find
from vecchess.jit import cache_base, cache_dir
from vecchess.machine_limits import num_cores
from vecchess.runtime.child_process import ChildProcess
from vecchess.runtime.devices import CPU, Device, Share
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.games.finished_games import finished_records
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.setup import build_server
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames

_MARK = "selfplay-{}.compiled"
"""A file that says which kernels are compiled: the movers', or those of a kind of network."""
COMPILED_HERE = ("auto", "cpu")
"""Backends with numba kernels; those of a GPU are compiled by the workers."""
LOOK_S = 0.2
_SHARE = Share(slots=2, games=2, movers=1, threads=1)


class Precompiler:
    """Compiles in helper processes: started as early as possible, finished once the network exists.

    To be used in a ``with``, which ends the helpers where the run is stopped meanwhile.
    """

    def __init__(
        self,
        config: SelfplayConfig,
        report_line: ReportLine,
        devices: Sequence[Device] = (CPU,),
    ) -> None:
        """Start a helper if there is anything to compile, and report that: it takes seconds.

        ``devices`` play: a network on GPUs alone is compiled by the first worker, while the others
        wait, see ``cuda/tuning.py``.
        """
        backend = "auto" if is_factory(config.backend) else config.backend
        self._config = config.model_copy(update={"backend": backend})
        self._report_line, self._on_cpu = report_line, CPU in devices
        self._start = monotonic()
        self._helpers: dict[ChildProcess, Path] = {}
        searches = config.tree.search != "none"
        kind = "trees" if searches else "policy"
        self._start_helper(f"movers-{kind}", "the rules and the movers", _compile_movers, searches)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End helpers that were not waited for."""
        for helper in self._helpers:
            helper.end()

    def finish(self, net: str, must_stop: Callable[[], bool] = lambda: False) -> bool:
        """Compile the kernels of the network in file ``net``; wait for the helpers.

        ``must_stop`` is called several times a second meanwhile; returns False where it was true.
        """
        if self._on_cpu and self._config.backend in COMPILED_HERE:
            kind = f"network-{_kernels_of(net)}"
            self._start_helper(kind, "the network", _compile_backend, net, self._config.backend)
        if not self._helpers:
            return True
        while any(helper.is_alive() for helper in self._helpers):
            if must_stop():
                return False
            wait([helper.sentinel for helper in self._helpers if helper.is_alive()], LOOK_S)
        for helper, mark in self._helpers.items():
            if helper.exitcode == 0:
                mark.touch()
        spent = monotonic() - self._start
        self._report_line(f"compiled in {spent:.1f} s, kept in {cache_base()}")
        return True

    def _start_helper(
        self, kind: str, what: str, work: Callable[..., None], *arguments: object
    ) -> None:
        """Start a helper for kernels that have no mark."""
        mark = cache_dir(__name__) / _MARK.format(kind)
        if mark.exists():
            return
        self._report_line(f"compiling {what} (once per version) ...")
        self._helpers[_started(work, *arguments)] = mark


@contextmanager
def network_compiler(source: Source, backend: str) -> Iterator[None]:
    """Have a helper compile the kernels of the network file ``source`` within the block, which
    compiles others: a kernel is waited for where both need it.

    Without effect on one core, and for other networks and backends.
    """
    if source.kind != "file" or backend not in COMPILED_HERE or num_cores() == 1:
        yield
        return
    helper = _started(_compile_backend, source.text, backend)
    try:
        yield
    finally:
        helper.end()


def _started(work: Callable[..., None], *arguments: object) -> ChildProcess:
    """A helper at ``work``, which ends with this process."""
    helper = ChildProcess("vecchess-compiler", _help, (work, *arguments))
    helper.start()
    return helper


def _kernels_of(net: str) -> str:
    """A name for the kernels that compute the network ``net`` on a processor: numba compiles them
    for a type of neuron, of readout and of sums."""
    network = find(net).load()
    if not isinstance(network, IntegerNet):
        return net if isinstance(network, BuiltInNet) else network.config.kind
    sums = "int16" if check_bounds(network).int16_sums else "int32"
    return f"{network.config.neuron}-{network.config.readout}-{sums}"


def _help(work: Callable[..., None], *arguments: object) -> None:
    """Body of a helper."""
    try:
        work(*arguments)
    except VecchessError as error:  # workers raise and report it too
        sys.exit(error.exit_code)


def _compile_movers(searches: bool) -> None:
    """Play very short games with the constant network: runs every kernel of the movers."""
    numbers = GameIdPool()
    tree = TreeConfig(search="puct", sims=2, cache_mb=1) if searches else TreeConfig()
    config = SelfplayConfig(game=GameConfig(max_plies=2), tree=tree)
    server = build_server(config, CONSTANT_NET, CPU, _SHARE, numbers)
    server.start()
    _play_two(server)
    finished = finished_records(server.take_finished())
    none = np.empty(0, np.int64)
    turns = np.empty((0, 2), np.uint8)
    numbers.add_saved(SavedGames(finished.take(none), turns, turns[:, 0]))
    _play_two(server)
    server.close()


def _play_two(server: SelfplayServer) -> None:
    server.pool.add(IdSet([(0, 2)]))
    while not server.is_idle:
        server.step()


def _compile_backend(net: str, backend: str) -> None:
    """Ask the network about the start position, on the processor."""
    opened = open_network(net, _SHARE.slots, backend=backend)
    requests = Requests.empty(1, opened.num_planes)
    requests.planes[:] = encode_planes(start_positions(1), num_planes=opened.num_planes)
    requests.num_legal[:] = 2
    opened.answer(requests)
