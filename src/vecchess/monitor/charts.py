"""The charts of a run: which measurements they show, whichever program draws them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil, floor, log10
from statistics import median
from typing import Any

from vecchess.monitor.axis import bounds, format_figure, ticks
from vecchess.monitor.run_view import RunView
from vecchess.monitor.series import Line
from vecchess.monitor.status_reader import MOST as LARGEST
from vecchess.monitor.status_reader import number

MOST = 400
"""Points of a curve at most."""
GAP = 3
"""A pause between two lines that is longer than this many usual ones counts as one usual one."""
MINUTES = "minutes of play"
UNITS = ("GPU-hours", "core-hours")
LEARNING: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("loss", "loss", "", {"total": "loss", "policy": "loss_policy", "value": "loss_value"}),
    ("top1", "best move predicted", "share", {"top 1": "top1"}),
    ("spikes", "spike rate", "share", {"all layers": "spike_rate"}),
    ("entropy", "entropy of the policy", "", {"nats": "entropy"}),
    ("ratios", "ratios beyond the clip range", "share", {"all updates": "clipped"}),
    ("lr", "learning rate", "", {"rate": "lr"}),
)
"""Charts of updates: key, title, unit, fields of metrics by the names of their curves."""
LOAD: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("speed", "speed", "", {"plies/s": "plies_per_s"}),
    ("batches", "batches", "share",
     {"fill": "batch_fill", "network": "device_busy", "loop": "host_busy", "movers": "mover_busy"}),
    ("steps", "time steps a position", "", {"mean": "mean_time_steps"}),
    ("searches", "searches", "", {"simulations/s": "sims_per_s"}),
    ("gpu", "GPU", "share", {"in use": "gpu_util"}),
    ("power", "power of the GPUs", "", {"watts": "gpu_power_w"}),
)  # fmt: skip
"""Charts of play, in the same way."""
ALWAYS_ABOVE_0 = ("mean_time_steps", "sims_per_s", "host_busy")
"""Curves that are left out where all figures are 0: no network, search or GPU was at work."""
FROM_ZERO = ("speed", "searches", "power")
"""Charts whose vertical axis begins at 0 though no share is drawn."""
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
    """Curves over one axis; each has points."""

    key: str
    title: str
    x: str
    """What the horizontal axis counts: "updates", "minutes of play", "iterations", "samples"."""
    unit: str
    """ "share" of 1, or "" for plain numbers."""
    curves: list[Curve]
    is_logarithmic: bool = False
    """Places on the horizontal axis are logarithms to base 10."""

    def x_bounds(self) -> tuple[float, float]:
        """First and last place on the horizontal axis; they differ."""
        places = [x for curve in self.curves for x, _ in curve.points]
        first, last = min(places), max(places)
        return first, last if last > first else first + 1

    def x_ticks(self, most: int) -> list[float]:
        """About ``most`` round places on the horizontal axis, whole where it counts something."""
        if self.is_logarithmic:
            return _decade_ticks(*self.x_bounds(), most)
        found = ticks(*self.x_bounds(), most)
        return [tick for tick in found if self.x == MINUTES or tick == round(tick)]

    def x_figure(self, tick: float) -> str:
        """What stands below a place on the horizontal axis."""
        return f"{10**tick:.3g}" if self.is_logarithmic else format_figure(tick)

    def y_bounds(self) -> tuple[float, float]:
        """Round bounds of the vertical axis. Shares and rates begin at 0, or a ripple would look
        like a fall; scores go from 0 to 1."""
        values = [y for curve in self.curves for _, y in curve.points]
        values += [y for curve in self.curves for band in curve.bands or [] for y in band]
        if self.key == "score":
            values += [0.0, 1.0]
        return bounds(values, self.unit == "share" or self.key in FROM_ZERO)


def charts(view: RunView, most: int = MOST) -> list[Chart]:
    """All charts that the run has figures for, those of its purpose first."""
    found = [*_learning(view, most), *_strength(view, most)]
    found += [*_playing(view, most), *_generations(view, most)]
    return [chart for chart in found if chart.curves]


def _learning(view: RunView, most: int) -> Iterable[Chart]:
    lines = view.series.lines("learn", most)
    for key, title, unit, names in LEARNING:
        curves = [_curve(name, lines, "step", _at(field)) for name, field in names.items()]
        yield Chart(key, title, "updates", unit, _drawn(curves))


def _strength(view: RunView, most: int) -> Iterable[Chart]:
    matches: dict[str, list[Line]] = {}
    for line in view.series.lines("eval", most):
        name = f"{line.get('player', '')} against {line.get('opponent', '')}"
        matches.setdefault(name, []).append(line)
    if curve := view.costs():
        yield _by_cost(curve)
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


def _by_cost(points: list[Line]) -> Chart:
    """Elo by what a network cost, in the unit that the newest has."""
    costs = [each if isinstance(each := point.get("cost"), dict) else {} for point in points]
    unit = next((name for name in UNITS if is_number(costs[-1].get(name))), UNITS[-1])
    lines = [
        point | {"place": log10(cost[unit])}
        for point, cost in zip(points, costs, strict=True)
        if is_number(cost.get(unit)) and cost[unit] > 0
    ]
    rated = _curve("rated", lines, "place", _at("elo"), _interval("elo"))
    return Chart("cost", "Elo by cost", unit, "", _drawn([rated]), is_logarithmic=True)


def _decade_ticks(first: float, last: float, most: int) -> list[float]:
    """Logarithms of 1, 2, 5, 10, 20 ... from ``first`` to ``last``, about ``most`` of them; both
    ends where there are too few."""
    decades = range(floor(first), ceil(last) + 1)
    found = [decade + log10(digit) for decade in decades for digit in (1, 2, 5)]
    inside = [tick for tick in found if first <= tick <= last]
    return inside[:: -(-len(inside) // max(most, 1))] if len(inside) > 1 else [first, last]


def _playing(view: RunView, most: int) -> Iterable[Chart]:
    lines = view.series.lines("load", most)
    times = _minutes_of_play([number(line, "time_unix") for line in lines])
    lines = [line | {"minutes": time} for line, time in zip(lines, times, strict=True)]
    yield from _load_charts(lines, "minutes", _at)


def _minutes_of_play(times: list[float]) -> list[float]:
    """Minutes since the first time, with pauses (gaps far longer than the median) cut short."""
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
    lines: list[Line], x: str, figure: Callable[[str], Callable[[Line], Any]]
) -> Iterable[Chart]:
    axis = "iterations" if x == "iteration" else MINUTES
    for key, title, unit, names in LOAD:
        curves = [
            _curve(name, lines, x, figure(field))
            for name, field in names.items()
            if field not in ALWAYS_ABOVE_0 or any(map(figure(field), lines))
        ]
        yield Chart(key, title, axis, unit, _drawn(curves))


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
    """The field ``key`` of a line; of a list, the mean."""

    def value(line: Line) -> Any:
        found = line.get(key)
        if isinstance(found, list):
            numbers = [one for one in found if is_number(one)]
            return sum(numbers) / len(numbers) if numbers else None
        return found

    return value


def _share(key: str) -> Callable[[Line], Any]:
    """A count of games as a share of the line's games."""

    def value(line: Line) -> Any:
        part, games = line.get(key), line.get("games")
        return part / games if is_number(part) and is_number(games) and games else None

    return value


def _in_loads(key: str) -> Callable[[Line], Any]:
    """A field of a generation's machines: rates added up, others averaged."""

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
    """Whether ``value`` can be drawn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST
