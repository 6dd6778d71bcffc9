"""The evaluator of positions: a network, or a built-in one."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any

from vecchess.chess.planes import NUM_PLANES
from vecchess.config import (
    BUILT_IN_NETS,
    CONSTANT_NET,
    AnalyseConfig,
    SelfplayConfig,
    UciConfig,
    build,
)
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import MODULE_BACKEND
from vecchess.jit import cache_base, cache_dir
from vecchess.machine_limits import num_cores
from vecchess.networks.module_spelling import is_module
from vecchess.runtime.devices import CPU, Share, parse_gpus, see_only
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.networks import is_new, load_or_create
from vecchess.selfplay.worker.precompile import network_compiler
from vecchess.selfplay.worker.setup import open_network


@dataclass(frozen=True)
class PositionEvaluator:
    """An evaluator, opened on its device."""

    backend: Backend
    num_planes: int
    """Of its input."""
    facts: dict[str, Any]
    """Network and hash, ready for JSON."""


def open_evaluator(config: AnalyseConfig, slots: int, report_line: ReportLine) -> PositionEvaluator:
    """The network of ``config``, or the built-in evaluator, on its device.

    ``report_line`` takes a line that names it. Raises as ``analyse``.
    """
    name, built_in = config.net, config.net in BUILT_IN_NETS
    device = CPU if built_in and config.gpus == "auto" else parse_gpus(config.gpus)[0]
    known = {"net": name, "backend": config.backend, "exits": config.exits}
    settings = build(SelfplayConfig, known)
    share = Share(slots, games=1, movers=1, threads=config.threads or num_cores())
    if built_in:
        backend, _ = open_network(settings, None, name, device, share, report_line)
        what = "seeing mates and draws only" if name == CONSTANT_NET else "counting material only"
        report_line(f"{what}; --net names a network")
        return PositionEvaluator(backend, NUM_PLANES, {"net": name, "sha256": None})
    see_only(device)
    network = load_or_create(name, config.seed)
    backend, sha256 = open_network(settings, network, name, device, share, report_line)
    what = f"a new, untrained network ({name})" if is_new(name) else name
    report_line(f"evaluating with {what} on {device.label}")
    return PositionEvaluator(backend, network.config.num_planes, {"net": name, "sha256": sha256})


@contextmanager
def compiling(
    program: str, config: AnalyseConfig | UciConfig, report_line: ReportLine
) -> Iterator[None]:
    """Kernels that ``program`` needs are compiled in the block, where that was not done before;
    ``report_line`` gets lines about it."""
    kind = config.net if config.net in BUILT_IN_NETS else config.backend
    kind = MODULE_BACKEND if is_module(config.net) else kind
    mark, start = cache_dir(__name__) / f"{program}-{kind}.compiled", monotonic()
    if mark.exists():
        yield
        return
    report_line("compiling the search and its network (once per version) ...")
    known = {"net": config.net, "backend": config.backend, "exits": config.exits}
    is_cpu = parse_gpus(config.gpus)[0] == CPU
    with network_compiler(build(SelfplayConfig, known)) if is_cpu else nullcontext():
        yield
    report_line(f"compiled in {monotonic() - start:.1f} s, kept in {cache_base()}")
    mark.touch()
