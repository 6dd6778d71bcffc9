"""``vecchess tune``: the number of positions a network should hold at a time."""

from typing import Annotated, Any

import typer

from vecchess.config import SelfplayConfig
from vecchess_cli.options import command_app, settings_options
from vecchess_cli.output import note, print_result

MOST_LIMIT = 1e9
"""Largest number for --memory-gb and --latency-ms."""


@settings_options(SelfplayConfig, {"Options": "gpus backend threads memory_gb latency_ms json"})
def tune(
    flags: dict[str, Any],
    net: Annotated[str, typer.Argument(help="A network file, default, or a preset.")],
    memory_gb: Annotated[
        float | None,
        typer.Option(help="Memory for the network in GB.", show_default="most of the free memory"),
    ] = None,
    latency_ms: Annotated[
        float | None, typer.Option(help="Longest time to an answer in ms.", show_default="2000")
    ] = None,
) -> None:
    """Measure the speed of a network by its number of slots, and store the best number.

    The fewest slots within 2 % of the highest speed are stored for this device and networks of
    these sizes; "vecchess selfplay" uses them where --slots is not given. With several devices
    the first one is measured, as a worker would use it beside the others.

    Example:  vecchess tune base --gpus 0 --memory-gb 40
    """
    from vecchess.config.settings import build_from_flags
    from vecchess.errors import ConfigError
    from vecchess.inference.tune.slot_search import SlotLimits
    from vecchess.runtime.devices import parse_gpus, see_only
    from vecchess.selfplay.worker.networks import configured_network
    from vecchess.selfplay.worker.slot_tuning import tune as library

    for name, value in (("--memory-gb", memory_gb), ("--latency-ms", latency_ms)):
        if value is not None and not 0 < value <= MOST_LIMIT:
            raise ConfigError(f"{name} must be above 0, up to {MOST_LIMIT:g}, got {value:g}")
    limits = SlotLimits(None if memory_gb is None else int(memory_gb * 1e9), latency_ms)
    config = build_from_flags(SelfplayConfig, flags)
    devices = parse_gpus(config.gpus)
    see_only(devices[0])
    tuned = library(config, configured_network(config), devices, limits)
    print_result({"schema": 1, "net": net, **tuned.to_dict()}, flags["json"])
    if not tuned.remembered:
        note("not stored: the cache directory cannot be written to")


app = command_app(tune)
