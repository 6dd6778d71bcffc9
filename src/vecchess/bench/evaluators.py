"""What judges positions in a benchmark of searches: a network, or one that takes no time."""

from dataclasses import dataclass

from vecchess.chess.planes import history_of
from vecchess.config import BUILT_IN_NETS, SelfplayConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.runtime.devices import CPU, Share, parse_gpus, see_only, share_out
from vecchess.selfplay.worker.networks import load_or_create
from vecchess.selfplay.worker.setup import open_net, open_network
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots

ENDLESS = 1 << 40


@dataclass(frozen=True)
class EvaluatorSpec:
    """An evaluator for R = ``rows`` request rows; 0 of slots or threads chooses.

    net: network file or preset, "constant" or "material". gpus: the one device. seed: of the
    network, if it is new.
    """

    net: str
    rows: int
    gpus: str = "auto"
    backend: str = "auto"
    slots: int = 0
    threads: int = 0
    seed: int = 0


@dataclass(frozen=True)
class OpenedEvaluator:
    """What judges, and where."""

    device: str
    """What people call it."""
    backend: Backend
    history: int = 1
    """Positions of a game that the network sees."""


def open_evaluator(asked: EvaluatorSpec) -> OpenedEvaluator:
    """The evaluator on its device.

    Raises ConfigError for settings, NetworkError for a network that will not do.
    """
    config = build(
        SelfplayConfig,
        {
            "net": asked.net,
            "backend": asked.backend,
            "slots": asked.slots,
            "threads": asked.threads,
            "seed": asked.seed,
            "concurrent_games": asked.rows,
        },
    )
    if asked.net in BUILT_IN_NETS:
        slots = asked.slots or asked.rows
        share = Share(slots, asked.rows, movers=1, threads=1)
        return OpenedEvaluator(CPU.label, open_net(config, asked.net, CPU, share)[0])
    devices = parse_gpus(asked.gpus)
    if len(devices) > 1:
        raise ConfigError(f"--gpus {asked.gpus}: a search is measured on one device at a time")
    device = devices[0]
    see_only(device)
    network = load_or_create(asked.net, asked.seed)
    config = with_remembered_slots(config, network.config, [device])
    share = share_out(config, [device], ENDLESS)
    backend, _ = open_network(config, network, asked.net, device, share)
    return OpenedEvaluator(device.label, backend, history_of(network.config.num_planes))
