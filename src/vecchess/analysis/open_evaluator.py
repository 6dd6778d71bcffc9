"""What judges positions: a network, or one that is built in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecchess.chess.planes import history_of
from vecchess.config import BUILT_IN_NETS, CONSTANT_NET, AnalyseConfig, SelfplayConfig, build
from vecchess.inference.backend import Backend
from vecchess.runtime.devices import CPU, Share, num_cores, parse_gpus, see_only
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.worker.networks import load_or_create
from vecchess.selfplay.worker.setup import open_net, open_network
from vecchess.snn.create import SIZES_SUFFIX


@dataclass(frozen=True)
class PositionEvaluator:
    """Who judges positions."""

    backend: Backend
    history: int
    """Positions of a game that it sees, the newest included."""
    facts: dict[str, Any]
    """What it is, ready for JSON."""


def open_evaluator(config: AnalyseConfig, slots: int, report_line: ReportLine) -> PositionEvaluator:
    """The network of ``config``, or what is built in, on its device.

    ``report_line`` gets what it is. Raises ConfigError and NetworkError, see ``analyse``.
    """
    name, built_in = config.net, config.net in BUILT_IN_NETS
    device = CPU if built_in and config.gpus == "auto" else parse_gpus(config.gpus)[0]
    known = {"net": name, "backend": config.backend, "exits": config.exits}
    settings = build(SelfplayConfig, known)
    share = Share(slots, games=1, movers=1, threads=config.threads or num_cores())
    if built_in:
        backend, _ = open_net(settings, name, device, share, report_line)
        sees = "mates and draws" if name == CONSTANT_NET else "men, mates and draws"
        report_line(f'judged by "{name}", which sees {sees}, nothing else: --net names a network')
        return PositionEvaluator(backend, 1, {"net": name, "sha256": None})
    see_only(device)
    network = load_or_create(name, config.seed)
    backend, sha256 = open_network(settings, network, name, device, share, report_line)
    if Path(name).is_file() and Path(name).suffix != SIZES_SUFFIX:
        report_line(f"judged by {name} on {device.label}")
    else:
        report_line(
            f"judged by a new network ({name}) on {device.label}: it has learnt nothing yet"
        )
    history = history_of(network.config.num_planes)
    return PositionEvaluator(backend, history, {"net": name, "sha256": sha256})
