"""Compiles what self-play needs, once per version and machine, before any worker starts."""

from time import monotonic

from rich.console import Console

from vecchess.config import SelfplayConfig
from vecchess.jit import cache_dir
from vecchess.selfplay.assemble import CONSTANT_NET, assemble_server
from vecchess.selfplay.devices import CPU, Share
from vecchess.selfplay.numbers import NumberPool

_MARK = "selfplay-{}.compiled"
_SHARE = Share(slots=2, games=2, movers=1, threads=1)


def compile_kernels(config: SelfplayConfig, net: str, console: Console) -> None:
    """Compile on this process's account, so that workers find the machine code in the cache.

    Says so on ``console`` when there is something to compile: it takes seconds.
    """
    kind = CONSTANT_NET if net == CONSTANT_NET else config.backend
    mark = cache_dir() / _MARK.format(kind)
    if mark.exists():
        return
    start = monotonic()
    console.print("compiling the rules, the movers and the network's kernels (once per version)...")
    _play_a_little(config, net)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    console.print(f"compiled in {monotonic() - start:.1f} s, kept in {cache_dir()}", soft_wrap=True)


def _play_a_little(config: SelfplayConfig, net: str) -> None:
    """Run every kernel: a few plies of two games, on the processor."""
    numbers = NumberPool()
    numbers.add([(0, 2)])
    server = assemble_server(config, net, CPU, _SHARE, numbers)
    server.start()
    while server.engine.counters.positions < 8 and not server.is_idle:
        server.turn()
    server.close()
