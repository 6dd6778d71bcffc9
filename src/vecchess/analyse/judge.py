"""What judges positions: a network, or one that is built in."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vecchess.config import AnalyseConfig, SelfplayConfig, build
from vecchess.inference.backend import Backend
from vecchess.selfplay.assemble import BUILT_IN_NETS, CONSTANT_NET, Say, open_net
from vecchess.selfplay.devices import CPU, Device, Share, num_cores, parse_gpus, see_only
from vecchess.selfplay.nets import load_net
from vecchess.snn.create import SIZES_SUFFIX
from vecchess.snn.integer_net import IntegerNet


def open_judge(config: AnalyseConfig, slots: int, say: Say) -> tuple[Backend, dict[str, Any]]:
    """The backend that judges positions, and facts about it, ready for JSON.

    ``say`` hears what it is. Raises ConfigError and NetworkError, see ``analyse``.
    """
    built_in = config.net in BUILT_IN_NETS
    device = CPU if built_in and config.gpus == "auto" else parse_gpus(config.gpus)[0]
    if built_in:
        backend, _ = _open(config, config.net, device, slots, say)
        sees = "mates and draws" if config.net == CONSTANT_NET else "men, mates and draws"
        say(f'judged by "{config.net}", which sees {sees}, nothing else: --net names a network')
        return backend, {"net": config.net, "sha256": None}
    see_only(device)
    network = load_net(config.net, config.seed)
    if Path(config.net).is_file() and Path(config.net).suffix != SIZES_SUFFIX:
        backend, sha256 = _open(config, config.net, device, slots, say)
        say(f"judged by {config.net} on {device.label}")
    else:
        backend, sha256 = _open_new(config, network, device, slots, say)
        say(f"judged by a new network ({config.net}) on {device.label}: it has learnt nothing yet")
    return backend, {"net": config.net, "sha256": sha256}


def _open_new(
    config: AnalyseConfig, network: IntegerNet, device: Device, slots: int, say: Say
) -> tuple[Backend, str]:
    with TemporaryDirectory(prefix="vecchess-analyse-") as folder:
        file = Path(folder) / "new.safetensors"
        network.save(file)
        return _open(config, str(file), device, slots, say)


def _open(
    config: AnalyseConfig, net: str, device: Device, slots: int, say: Say
) -> tuple[Backend, str]:
    known = {"net": net, "backend": config.backend, "exits": config.exits}
    share = Share(slots, games=1, movers=1, threads=config.threads or num_cores())
    return open_net(build(SelfplayConfig, known), net, device, share, say)
