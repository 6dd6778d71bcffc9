"""Compiles all kernels at once, in processes: every tile of every network, and the movers.

Later sections find them on the disk.
"""

import sys
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from multiprocessing import get_context
from time import perf_counter
from typing import Any

from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting, TileTooLargeError

from vecchess.config import SelfplayConfig, TreeConfig
from vecchess.inference.cuda.tiles import Tile
from vecchess.machine_limits import num_cores
from vecchess.runtime.child_process import exit_with_parent
from vecchess.selfplay.worker.precompile import Precompiler
from vecchess.snn.integer.integer_net import ExitRule

NUM_SLOTS = 64
"""A multiple of 16, as in the measurements: kernels are compiled for such a number."""
SEARCHES = ("none", "gumbel")


def compilation(setting: Setting, results: ResultWriter) -> None:
    """A result for each network that was made and each tile; SystemExit where one fails."""
    start, failed = perf_counter(), []
    workers = 1 if setting.quick else num_cores()
    with ExitStack() as stack:
        movers = [stack.enter_context(_compiler_of_movers(search)) for search in SEARCHES]
        pool = ProcessPoolExecutor(workers, get_context("spawn"), exit_with_parent)
        stack.enter_context(pool)
        networks = {pool.submit(_make, setting, name): name for name in setting.names}
        tiles: dict[Future[dict[str, Any]], str] = {}
        for made in as_completed(networks):
            name = networks[made]
            results.add(f"network {name}", **made.result())
            for index, tile in enumerate(setting.tiles(setting.network(name))):
                tiles[pool.submit(_compile, setting, name, tile)] = f"{name}, tile {index}"
        for compiled in as_completed(tiles):
            if error := compiled.exception():
                failed.append(f"{tiles[compiled]}: {error}")
            else:
                results.add(tiles[compiled], **compiled.result())
        for compiler in movers:
            compiler.finish("")
    results.add("movers", seconds=perf_counter() - start)
    if failed:
        raise SystemExit("; ".join(failed))


def _compiler_of_movers(search: str) -> Precompiler:
    """Compiles what makes moves; with this backend, no network."""
    config = SelfplayConfig(backend="cuda", tree=TreeConfig.model_validate({"search": search}))
    return Precompiler(config, lambda line: print(line, file=sys.stderr, flush=True))


def _make(setting: Setting, name: str) -> dict[str, Any]:
    start = perf_counter()
    net = setting.network(name)
    return {"sha256": net.sha256, "seconds": perf_counter() - start}


def _compile(setting: Setting, name: str, tile: Tile) -> dict[str, Any]:
    """All kernels of a backend with ``tile``."""
    start = perf_counter()
    facts: dict[str, Any] = {"tile": vars(tile)}
    try:
        setting.open(setting.network(name), ExitRule.never(), NUM_SLOTS, tile)
    except TileTooLargeError as error:
        facts["too_large"] = str(error)
    return facts | {"seconds": perf_counter() - start}
