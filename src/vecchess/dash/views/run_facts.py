"""Facts about a run as text: state, times, devices, network, settings that are not defaults."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from typing import Any

from pydantic import ValidationError

from vecchess.config import SelfplayConfig, TrainConfig
from vecchess.errors import NetworkError
from vecchess.monitor.run_view import RunView
from vecchess.monitor.status_reader import FRESH_S
from vecchess.runtime.cost_meter import Cost
from vecchess.runtime.reporting import as_clock, format_time, rounded_duration
from vecchess.safe_parse import number
from vecchess.snn.integer.net_file import load_net
from vecchess.store.run_folder import flat_settings

Fact = tuple[str, str]


def run_facts(view: RunView) -> dict[str, list[Fact]]:
    """Plain values for JSON: facts, and the settings that are not the defaults."""
    return {"facts": facts(view), "settings": differences(view.config)}


def facts(view: RunView) -> list[Fact]:
    """Names and values, the most important first; unknown ones are left out."""
    now, stats = view.status, view.stats
    seconds = duration_s(view)
    is_resumed = began_unix(view) < now.started_unix
    rate = f"{stats.games / seconds:,.2f}" if seconds and stats.games and not is_resumed else ""
    took = f"{as_clock(seconds)}{', since it was resumed' if is_resumed else ''}"
    found = [
        ("state", state_words(view)),
        ("began", _date(began_unix(view))),
        ("took", took if seconds else ""),
        ("cost", _cost(view)),
        ("memory", _memory(view)),
        ("devices", _devices(now.devices) or str(view.config.get("gpus", ""))),
        ("host", now.host),
        ("network", _network(view)),
        ("iterations", f"{now.iteration:,} of {now.iterations:,}" if now.iterations else ""),
        ("games", f"{stats.games:,}" if stats.games else ""),
        ("positions", f"{stats.plies:,}" if stats.games else ""),
        ("mean length", f"{stats.mean_length:.1f} plies" if stats.games else ""),
        ("time steps", f"{stats.mean_time_steps:.2f} a position" if stats.time_steps else ""),
        ("simulations", f"{stats.mean_visits:,.1f} a search" if stats.searched_plies else ""),
        ("games a second, start included", rate),
        ("workers replaced", f"{now.restarts:,}" if now.restarts else ""),
    ]
    return [(name, value) for name, value in found if value]


def state_words(view: RunView) -> str:
    """The reason for the end, or state and progress."""
    now = view.status
    if now.is_over:
        return now.why
    share = "" if now.progress is None else f", {now.progress:.0%} of this stage"
    age = now.age_s or 0.0
    ago = f"; written {rounded_duration(age)} ago by {now.host}'s clock" if age > FRESH_S else ""
    return f"{now.state}{share}{ago}"


def began_unix(view: RunView) -> float:
    """Time of the start, of a run that was resumed the first one; 0 where unknown."""
    known = [view.status.started_unix, *_times(view)]
    return min(filter(None, known), default=0.0)


def duration_s(view: RunView) -> float:
    """Seconds from the start, or from the last time it was resumed, to the last status; 0 where
    unknown."""
    times = list(_times(view))
    return view.status.seconds or (max(times) - min(times) if times else 0.0)


def differences(config: dict[str, Any]) -> list[Fact]:
    """The settings that are not the defaults, "tree.sims" for those of a table."""
    usual, given = flat_settings(_defaults(config)), flat_settings(config)
    return [(name, _words(value)) for name, value in given.items() if value != usual.get(name)]


def _cost(view: RunView) -> str:
    """What a training had cost when its newest network was published."""
    cost = Cost.from_dict((view.series.last("publish") or {}).get("cost"))
    return "" if cost is None else str(cost)


def _memory(view: RunView) -> str:
    """Resident memory of a training when its newest network was published."""
    memory = (view.series.last("publish") or {}).get("memory_bytes")
    return f"{memory / 1e6:,.0f} MB" if isinstance(memory, int) else ""


def _devices(devices: list[str]) -> str:
    """Devices of one kind together: "8 x NVIDIA H200, 2 x cpu"."""
    kinds = Counter(device.partition("(")[2].rstrip(")") or device for device in devices)
    return ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items())


def _defaults(config: dict[str, Any]) -> dict[str, Any]:
    try:
        if "objective" not in config:
            return SelfplayConfig().model_dump(mode="json", exclude_none=True)
        needed = {key: config[key] for key in ("objective", "data") if key in config}
        usual = TrainConfig.model_validate(needed).model_dump(mode="json", exclude_none=True)
        return usual | {"objective": TrainConfig().objective, "data": []}
    except ValidationError:  # of another version: then all settings are shown
        return {}


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _network(view: RunView) -> str:
    """The newest network's name, and its size where the file can be read."""
    networks = view.networks()
    if not networks:
        return view.status.net or str(view.config.get("net", ""))
    newest = networks[-1]
    count = f", the newest of {len(networks):,}" if len(networks) > 1 else ""
    try:
        config = load_net(newest).config
    except NetworkError:
        return newest.name + count
    size = f"{config.blocks} blocks of {config.channels} channels, T = {config.time_steps}"
    return f"{newest.name}{count}" + (f"; {size}" if config.kind == "residual" else "")


def _times(view: RunView) -> Iterator[float]:
    for kind in view.series.kinds:
        for line in view.series.ends(kind):
            if time := number(line, "time_unix"):
                yield time


def _date(unix: float) -> str:
    return format_time(unix, "%Y-%m-%d %H:%M UTC", UTC) if unix else ""
