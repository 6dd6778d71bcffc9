"""What of a run's measurements belongs together in a chart, whoever draws it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median
from typing import Any

from vecchess.monitor.run_view import RunView
from vecchess.monitor.series import Line
from vecchess.monitor.status_reader import MOST as LARGEST
from vecchess.monitor.status_reader import number

MOST = 400
"""Points of a curve at most."""
GAP = 3
"""A gap between lines that is so many times the usual one is none of playing."""
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    name: str
    points: Points
    """(x, y), x ascending."""
    bands: Points | None = None
    """95 % interval (low, high) of each point, where one is known."""


@dataclass(frozen=True)
class Chart:
    """Curves over one axis. Those without points are not there."""

    key: str
    title: str
    x: str
    """What the horizontal axis counts: "updates", "minutes of play", "iterations", "samples"."""
    unit: str
    """ "share" of 1, or "" for plain numbers."""
    curves: list[Curve]


def charts(view: RunView, most: int = MOST) -> list[Chart]:
    """All charts that the run has figures for, what it is about first."""
    found = [*_learning(view, most), *_strength(view, most)]
    found += [*_playing(view, most), *_generations(view, most)]
    return [chart for chart in found if chart.curves]


def _learning(view: RunView, most: int) -> Iterable[Chart]:
    lines = view.series.lines("learn", most)

    def chart(key: str, title: str, unit: str = "", **names: str) -> Chart:
        curves = [
            _curve(name.replace("_", " "), lines, "step", _at(k)) for name, k in names.items()
        ]
        return Chart(key, title, "updates", unit, _drawn(curves))

    yield chart("loss", "loss", total="loss", policy="loss_policy", value="loss_value")
    yield chart("top1", "best move foretold", "share", top_1="top1")
    yield chart("spikes", "spike rate", "share", all_layers="spike_rate")
    yield chart("entropy", "entropy of the policy", nats="entropy")
    yield chart("lr", "learning rate", rate="lr")


def _strength(view: RunView, most: int) -> Iterable[Chart]:
    matches: dict[str, list[Line]] = {}
    for line in view.series.lines("eval", most):
        name = f"{line.get('player', '')} against {line.get('opponent', '')}"
        matches.setdefault(name, []).append(line)
    scores = [
        _curve(name, lines, "iteration", _at("score"), _interval("score"))
        for name, lines in matches.items()
    ]
    yield Chart("score", "score", "iterations", "share", _drawn(scores))
    if curve := view.elo():
        x = "samples" if all(is_number(point.get("samples")) for point in curve) else "network"
        points = [point | {"network": place} for place, point in enumerate(curve)]
        rated = _curve("rated", points, x, _at("elo"), _interval("elo"))
        yield Chart("elo", "Elo, rated", x, "", _drawn([rated]))
    else:
        elos = [
            _curve(name, lines, "iteration", _at("elo"), _interval("elo"))
            for name, lines in matches.items()
        ]
        yield Chart("elo", "Elo difference", "iterations", "", _drawn(elos))


def _playing(view: RunView, most: int) -> Iterable[Chart]:
    lines = view.series.lines("load", most)
    times = _minutes_of_play([number(line, "time_unix") for line in lines])
    lines = [line | {"minutes": time} for line, time in zip(lines, times, strict=True)]
    yield from _load_charts(lines, "minutes", _at)


def _minutes_of_play(times: list[float]) -> list[float]:
    """Times without the gaps in which nothing was played: those far longer than others."""
    if len(times) < 2:
        return [0.0] * len(times)
    gaps = [max(later - time, 0.0) for time, later in pairwise(times)]
    usual = median(gaps)
    return list(accumulate([0.0, *(min(gap, GAP * usual) / 60 for gap in gaps)]))


def _generations(view: RunView, most: int) -> Iterable[Chart]:
    lines = view.series.lines("play", most)
    if not view.series.kinds.get("load"):
        yield from _load_charts(lines, "iteration", _in_loads)

    shares = [
        _curve(name, lines, "iteration", _share(key))
        for name, key in (("White", "white_wins"), ("draws", "draws"), ("Black", "black_wins"))
    ]
    yield Chart("results", "results", "iterations", "share", _drawn(shares))
    lengths = _curve("plies a game", lines, "iteration", _at("mean_length"))
    yield Chart("length", "length of games", "iterations", "", _drawn([lengths]))


def _load_charts(
    lines: list[Line], x: str, of: Callable[[str], Callable[[Line], Any]]
) -> Iterable[Chart]:
    axis = "iterations" if x == "iteration" else "minutes of play"

    def chart(key: str, title: str, unit: str, **names: str) -> Chart:
        curves = [_curve(name.replace("_", " "), lines, x, of(key)) for name, key in names.items()]
        return Chart(key, title, axis, unit, _drawn(curves))

    yield chart("speed", "speed", "", plies_per_s="plies_per_s")
    yield chart(
        "batches", "batches", "share", fill="batch_fill", network="device_busy", movers="mover_busy"
    )
    yield chart("steps", "time steps a position", "", mean="mean_time_steps")
    searches = chart("searches", "searches", "", simulations_per_s="sims_per_s")
    if any(y for curve in searches.curves for _, y in curve.points):
        yield searches
    yield chart("gpu", "GPU", "share", in_use="gpu_util")
    yield chart("power", "power of the GPUs", "", watts="gpu_power_w")


def _curve(
    name: str,
    lines: Iterable[Line],
    x: str,
    value: Callable[[Line], Any],
    interval: Callable[[Line], tuple[float, float] | None] = lambda line: None,
) -> Curve:
    points, bands = Points(), Points()
    for line in lines:
        place, y = line.get(x), value(line)
        if place is None or not (is_number(place) and is_number(y)):
            continue
        points.append((float(place), float(y)))
        bands.append(interval(line) or (y, y))
    has_bands = any(low < high for low, high in bands)
    return Curve(name, points, bands if has_bands else None)


def _drawn(curves: Iterable[Curve]) -> list[Curve]:
    return [curve for curve in curves if curve.points]


def _at(key: str) -> Callable[[Line], Any]:
    """A figure of a line, the mean of several."""

    def value(line: Line) -> Any:
        found = line.get(key)
        if isinstance(found, list):
            numbers = [one for one in found if is_number(one)]
            return sum(numbers) / len(numbers) if numbers else None
        return found

    return value


def _share(key: str) -> Callable[[Line], Any]:
    """A count of games as part of all of them."""

    def value(line: Line) -> Any:
        part, games = line.get(key), line.get("games")
        return part / games if is_number(part) and is_number(games) and games else None

    return value


def _in_loads(key: str) -> Callable[[Line], Any]:
    """A figure of a generation's machines: rates added up, others averaged."""

    def value(line: Line) -> Any:
        loads = line.get("loads")
        loads = [one for one in loads if isinstance(one, dict)] if isinstance(loads, list) else []
        numbers = [one[key] for one in loads if is_number(one.get(key))]
        if not numbers:
            return None
        return sum(numbers) / (1 if key.endswith("_per_s") else len(numbers))

    return value


def interval_of(line: Line, key: str) -> tuple[float, float] | None:
    """(low, high) of a figure, in either of the ways in which one is written; None where it is
    not known."""
    found = line.get(f"{key}_interval") or [line.get(f"{key}_low"), line.get(f"{key}_high")]
    if not isinstance(found, list) or len(found) != 2 or not all(map(is_number, found)):
        return None
    return found[0], found[1]


def _interval(key: str) -> Callable[[Line], tuple[float, float] | None]:
    return lambda line: interval_of(line, key)


def is_number(value: Any) -> bool:
    """Whether it can be drawn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST
