"""``vecchess tune``: the number of positions a network should hold at a time."""

from typing import Annotated, Any

import typer

from vecchess.config import SelfplayConfig
from vecchess_cli.option_panels import command_app
from vecchess_cli.output import Json, note, print_json, print_rows, results
from vecchess_cli.settings_options import settings_options


@settings_options(SelfplayConfig, {"Options": "gpus backend threads memory_gb latency_ms json"})
def tune(
    settings: dict[str, Any],
    net: Annotated[str, typer.Argument(help="A network file, default, or a preset.")],
    memory_gb: Annotated[
        float | None,
        typer.Option(help="Memory for the network in GB.", show_default="most of the free memory"),
    ] = None,
    latency_ms: Annotated[
        float | None, typer.Option(help="Longest time to an answer in ms.", show_default="2000")
    ] = None,
    json: Json = False,
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
        if value is not None and not value > 0:
            raise ConfigError(f"{name} must be above 0, got {value:g}")
    limits = SlotLimits(None if memory_gb is None else int(memory_gb * 1e9), latency_ms)
    config = build_from_flags(SelfplayConfig, settings | {"net": net})
    devices = parse_gpus(config.gpus)
    see_only(devices[0])
    tuned = library(config, configured_network(config), devices, limits)
    _show(results(json), tuned)
    if json:
        print_json({"schema": 1, "net": net, **tuned.to_dict()})


app = command_app(tune)


def _show(console: Any, tuned: Any) -> None:
    """Print the measurements, with a mark at the chosen one."""
    rows = [
        [
            f"{rung.slots:,}",
            f"{rung.positions_per_s:,.0f}",
            f"{rung.latency_ms:,.2f}",
            f"{rung.nbytes / 1e6:,.1f}",
            "chosen" if rung is tuned.chosen else "" if rung.within(tuned.limits) else "too much",
        ]
        for rung in tuned.rungs
    ]
    print_rows(console, tuned.device, ["slots", "positions/s", "ms to answer", "MB", ""], rows)
    if not tuned.remembered:
        note("not stored: the cache directory cannot be written to")
