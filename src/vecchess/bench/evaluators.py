"""The evaluator in a benchmark of searches: a network, or a built-in one that takes no time."""

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
    """An evaluator on its device."""

    device: str
    """Label for people."""
    backend: Backend
    history: int = 1
    """Positions of a game that the network sees."""


def open_evaluator(spec: EvaluatorSpec) -> OpenedEvaluator:
    """The evaluator on its device.

    Raises ConfigError for wrong settings, NetworkError for a network that cannot be used.
    """
    config = build(
        SelfplayConfig,
        {
            "net": spec.net,
            "backend": spec.backend,
            "slots": spec.slots,
            "threads": spec.threads,
            "seed": spec.seed,
            "concurrent_games": spec.rows,
        },
    )
    if spec.net in BUILT_IN_NETS:
        slots = spec.slots or spec.rows
        share = Share(slots, spec.rows, movers=1, threads=1)
        return OpenedEvaluator(CPU.label, open_net(config, spec.net, CPU, share)[0])
    devices = parse_gpus(spec.gpus)
    if len(devices) > 1:
        raise ConfigError(f"--gpus {spec.gpus}: a search is measured on one device at a time")
    device = devices[0]
    see_only(device)
    network = load_or_create(spec.net, spec.seed)
    config = with_remembered_slots(config, network.config, [device])
    share = share_out(config, [device], ENDLESS)
    backend, _ = open_network(config, network, spec.net, device, share)
    return OpenedEvaluator(device.label, backend, history_of(network.config.num_planes))
