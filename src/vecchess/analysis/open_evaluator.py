"""The evaluator of positions: a network, or a built-in one."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic

from vecchess.config import CONSTANT_NET
from vecchess.config.analysis_settings import EvaluatorConfig
from vecchess.inference.open_network import OpenNetwork, open_network
from vecchess.inference.source import find
from vecchess.jit import cache_base, cache_dir
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import CPU, parse_gpus
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.precompile import network_compiler


def open_evaluator(config: EvaluatorConfig, slots: int, report_line: ReportLine) -> OpenNetwork:
    """The network of ``config``, or the built-in evaluator, on its device.

    ``report_line`` takes a line that names it. Raises as ``analyse``.
    """
    name, source = config.net, find(config.net)
    opened = open_network(
        source, slots, seed=config.seed, exits=config.exits, backend=config.backend,
        device=config.gpus, threads=config.threads or num_cores(), report_line=report_line,
    )  # fmt: skip
    if source.kind == "built-in":
        what = "seeing mates and draws only" if name == CONSTANT_NET else "counting material only"
        report_line(f"{what}; --net names a network")
        return opened
    what = f"a new, untrained network ({name})" if source.is_new else name
    report_line(f"evaluating with {what} on {opened.device.label}")
    return opened


@contextmanager
def compiling(program: str, config: EvaluatorConfig, report_line: ReportLine) -> Iterator[None]:
    """Kernels that ``program`` needs are compiled in the block, where that was not done before;
    ``report_line`` gets lines about it."""
    source = find(config.net)
    kinds = {"built-in": config.net, "module": "module", "lc0": "lc0"}
    kind = kinds.get(source.kind, config.backend)
    mark, start = cache_dir(__name__) / f"{program}-{kind}.compiled", monotonic()
    if mark.exists():
        yield
        return
    report_line("compiling the search and its network (once per version) ...")
    is_cpu = parse_gpus(config.gpus)[0] == CPU
    with network_compiler(source, config.backend) if is_cpu else nullcontext():
        yield
    report_line(f"compiled in {monotonic() - start:.1f} s, kept in {cache_base()}")
    mark.touch()
