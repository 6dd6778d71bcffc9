"""Real self-play on the GPU: a trace of its kernels, and speeds with and without search."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.gpu.kernel_trace import traced
from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import Setting

from vecchess.bench.throughput import started_server, turn_for
from vecchess.config import SelfplayConfig
from vecchess.runtime.devices import Share, parse_gpus
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.supervisor.worker_throughput import throughput_between

TRACED_TURNS, QUICK_TURNS = 50, 5
MEASURED_S, QUICK_S = 15.0, 1.0


def profile(setting: Setting, results: ResultWriter) -> None:
    """Kernel times and gaps in turns of the central loop; the trace lies beside the report."""
    turns, file = (
        (QUICK_TURNS if setting.quick else TRACED_TURNS),
        setting.artifact("trace.json.gz"),
    )
    with playing(setting, {"search": "none"}) as (server, share):
        results.begin_measurement()

        def work() -> None:
            for _ in range(turns):
                server.step()

        table = traced(work, file)
    results.add("turns", turns=turns, file=file.name, **vars(share), **table)


def throughput(setting: Setting, results: ResultWriter) -> None:
    """Games without search."""
    _measure(setting, results, {"search": "none"})


def search(setting: Setting, results: ResultWriter) -> None:
    """Games with searched moves: is the device as busy?"""
    _measure(setting, results, {"search": "gumbel", "sims": 4 if setting.quick else 32})


@contextmanager
def playing(setting: Setting, tree: dict[str, Any]) -> Iterator[tuple[SelfplayServer, Share]]:
    """A server in steady state, with the report's network; in a hurry on the CPU backend."""
    sizes: dict[str, Any] = {"backend": "cpu", "slots": 8} if setting.quick else {}
    config = SelfplayConfig.model_validate({"gpus": setting.gpus, "tree": tree} | sizes)
    (device,) = parse_gpus(config.gpus)
    server, share = started_server(config, str(setting.net_file("base")), device)
    try:
        yield server, share
    finally:
        server.close()


def _measure(setting: Setting, results: ResultWriter, tree: dict[str, Any]) -> None:
    with playing(setting, tree) as (server, share):
        results.begin_measurement()
        load = throughput_between(*turn_for(server, QUICK_S if setting.quick else MEASURED_S))
        results.add("load", **vars(share), **tree, **load.to_dict())
