"""``vecchess tune``: how many positions should the network hold at a time?"""

from typing import Annotated, Any

import typer

from vecchess_cli.output import Json, people, print_json, print_rows
from vecchess_cli.shared_options import Device, NamedBackend, Threads


def tune(
    net: Annotated[str, typer.Argument(help="A network file, or a preset.")],
    gpus: Device = "auto",
    backend: NamedBackend = "auto",
    threads: Threads = 0,
    memory_gb: Annotated[
        float | None, typer.Option(help="Memory for the network. [most of what is free]")
    ] = None,
    latency_ms: Annotated[
        float | None, typer.Option(help="Longest time to an answer. [2000]")
    ] = None,
    json: Json = False,
) -> None:
    """Measure the speed of a network by its number of slots, and remember the one to use.

    The fewest slots within 2 % of the highest speed are kept for this device and networks of
    these sizes; "vecchess selfplay" then takes them where --slots is not given. With several
    devices the first one is measured, as a worker would use it beside the others.

    Example:  vecchess tune base --gpus 0 --memory-gb 40
    """
    flags: dict[str, Any] = {"net": net, "gpus": gpus, "backend": backend, "threads": threads}
    from vecchess.config import SelfplayConfig, build
    from vecchess.errors import ConfigError
    from vecchess.inference.tune.slot_search import SlotLimits
    from vecchess.runtime.devices import parse_gpus, see_only
    from vecchess.selfplay.worker.networks import configured_network
    from vecchess.selfplay.worker.slot_tuning import tune as library

    for name, value in (("--memory-gb", memory_gb), ("--latency-ms", latency_ms)):
        if value is not None and not value > 0:
            raise ConfigError(f"{name} {value:g}: there must be some")
    limits = SlotLimits(None if memory_gb is None else int(memory_gb * 1e9), latency_ms)
    config = build(SelfplayConfig, flags)
    devices = parse_gpus(config.gpus)
    see_only(devices[0])
    network = configured_network(config)
    if network is None:
        raise ConfigError(f'"{net}" computes nothing: there is nothing to tune')
    tuned = library(config, network, devices, limits)
    _show(tuned)
    if json:
        print_json({"schema": 1, "net": net, **tuned.to_dict()})


def _show(tuned: Any) -> None:
    """The ladder, with a mark at the chosen rung."""
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
    print_rows(tuned.device, ["slots", "positions/s", "ms to answer", "MB", ""], rows)
    if not tuned.remembered:
        people().print("not remembered: the cache directory cannot be written to")
