"""Compiles what self-play needs, once per version and machine, before any worker starts.

Two processes share the work: a helper compiles the rules and the movers while this one makes the
network and compiles its kernels. Workers then find the machine code in the cache.
"""

import signal
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

import numpy as np

from vecchess.chess.chess960 import start_positions
from vecchess.chess.planes import NUM_PLANES, encode_planes, history_of
from vecchess.config import BUILT_IN_NETS, CONSTANT_NET, GameConfig, SelfplayConfig, TreeConfig
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.jit import cache_dir
from vecchess.selfplay.assemble import assemble_server, open_net
from vecchess.selfplay.devices import CPU, Share
from vecchess.selfplay.numbers import NumberPool
from vecchess.selfplay.shield import ignore, start_shielded
from vecchess.snn.integer_net import IntegerNet

_MARK = "selfplay-{}-{}.compiled"
COMPILED_HERE = ("auto", "cpu")
"""Backends with numba kernels; those of a GPU are compiled by the workers."""
_SHARE = Share(slots=2, games=2, movers=1, threads=1)


class Warmup:
    """Compiling on the way: made as early as possible, finished once the network is there."""

    def __init__(self, config: SelfplayConfig, say: Callable[[str], object]) -> None:
        """Start the helper if there is anything to compile, and say so: it takes seconds."""
        self._config = config
        self._say = say
        self._start = monotonic()
        kind = config.net if config.net in BUILT_IN_NETS else config.backend
        searches = config.tree.search != "none"
        self._mark = cache_dir("selfplay") / _MARK.format(kind, "trees" if searches else "policy")
        self._helper = None
        if not self._mark.exists():
            say("compiling the rules, the movers and the network (once per version) ...")
            self._helper = get_context("spawn").Process(
                target=_compile_movers, args=(searches,), daemon=True
            )
            start_shielded(self._helper, [signal.SIGINT])

    def finish(self, net: str) -> None:
        """Compile the kernels of the network in file ``net``; wait for the helper."""
        if self._helper is None:
            return
        if self._config.backend in COMPILED_HERE:
            _compile_backend(self._config, net)
        self._helper.join()
        if self._helper.exitcode == 0:
            self._mark.touch()
        spent = monotonic() - self._start
        self._say(f"compiled in {spent:.1f} s, kept in {cache_dir('selfplay')}")


def _compile_movers(searches: bool) -> None:
    """Play two very short games with the constant network: runs every kernel of the movers."""
    ignore([signal.SIGINT])  # the parent ends this process when it ends
    numbers = NumberPool()
    numbers.add([(0, 2)])
    tree = TreeConfig(search="puct", sims=2, cache_mb=1) if searches else TreeConfig()
    config = SelfplayConfig(game=GameConfig(max_plies=2), tree=tree)
    server = assemble_server(config, CONSTANT_NET, CPU, _SHARE, numbers)
    server.start()
    while not server.is_idle:
        server.turn()
    server.close()


def _compile_backend(config: SelfplayConfig, net: str) -> None:
    """Ask the network about the start position, on the processor."""
    built_in = net in BUILT_IN_NETS
    num_planes = NUM_PLANES if built_in else IntegerNet.load(Path(net)).config.num_planes
    requests = Requests.empty(1, num_planes)
    requests.planes[:] = encode_planes(start_positions(1), history=history_of(num_planes))
    requests.num_legal[:] = 2
    engine = SlotEngine(open_net(config, net, CPU, _SHARE)[0], requests)
    engine.submit(np.zeros(1, np.int32))
    while not engine.is_idle:
        engine.step()
