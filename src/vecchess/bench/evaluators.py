"""What judges positions in a benchmark of searches: a network, or one that takes no time."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from vecchess.chess.material import MATERIAL_WEIGHTS
from vecchess.config import SelfplayConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.inference.constant import ConstantBackend
from vecchess.inference.material import MaterialBackend
from vecchess.selfplay.assemble import CONSTANT_NET, open_net
from vecchess.selfplay.devices import Device, parse_gpus, see_only, share_out
from vecchess.selfplay.nets import network_of, obtain_net
from vecchess.selfplay.tuning import with_remembered_slots
from vecchess.store.run_folder import RunFolder

MATERIAL_NET = "material"
"""Name of the evaluator that counts men and likes all moves alike."""
ENDLESS = 1 << 40


@dataclass(frozen=True)
class Asked:
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


def open_evaluator(asked: Asked) -> tuple[str, Backend]:
    """What people call the device, and the backend.

    Raises ConfigError for settings, NetworkError for a network that will not do.
    """
    if asked.net == CONSTANT_NET:
        return "cpu", ConstantBackend(asked.slots or asked.rows)
    if asked.net == MATERIAL_NET:
        return "cpu", MaterialBackend(asked.slots or asked.rows, MATERIAL_WEIGHTS)
    devices = parse_gpus(asked.gpus)
    if len(devices) > 1:
        raise ConfigError(f"--gpus {asked.gpus}: a search is measured on one device at a time")
    see_only(devices[0])
    return devices[0].label, _open_network(asked, devices[0])


def _open_network(asked: Asked, device: Device) -> Backend:
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
    network = network_of(config)
    config = with_remembered_slots(config, network, [device])
    share = share_out(config, [device], ENDLESS)
    with tempfile.TemporaryDirectory(prefix="vecchess-bench-") as folder:
        run = RunFolder(Path(folder))
        run.create()
        return open_net(config, obtain_net(config, network, run), device, share)[0]
