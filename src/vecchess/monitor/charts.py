"""The charts of a run: ``CHARTS`` says once what is drawn, in the terminal and on pages."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import log10
from statistics import median
from typing import Any

from vecchess.monitor.run_view import RunView
from vecchess.monitor.series import Line
from vecchess.safe_parse import is_number, number

MOST = 400
"""Points of a curve at most."""
GAP = 3
"""A pause between two lines that is longer than this many usual ones counts as one usual one."""
MINUTES = "minutes of play"
UNITS = ("GPU-hours", "core-hours")
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class ChartSpec:
    """One chart of the fields of a kind of metrics lines; others are drawn in ways of their own."""

    key: str
    kind: str
    """ "learn" (figures of updates) or "load" (throughput of play)."""
    title: str
    curves: dict[str, str]
    """Names of curves by field. Load that is 0 all the time is not drawn: nothing was at work."""
    share: bool = False
    """Values are shares of 1."""
    from_zero: bool = False
    """The vertical axis begins at 0: a ripple of a rate would look like a fall."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; curves as [field, name]."""
        return vars(self) | {"curves": list(self.curves.items())}


def _updates(key: str, title: str, curves: dict[str, str], **how: bool) -> ChartSpec:
    return ChartSpec(key, "learn", title, curves, **how)


def _rates(key: str, title: str, curves: dict[str, str], share: bool = False) -> ChartSpec:
    return ChartSpec(key, "load", title, curves, share, from_zero=True)


CHARTS = (
    _updates("loss", "Loss", {"loss": "total", "loss_policy": "policy", "loss_value": "value"}),
    _updates("top1", "Best move predicted", {"top1": "top 1"}, share=True),
    _updates("spikes", "Spike rate", {"spike_rate": "mean"}, share=True, from_zero=True),
    _updates("cross_entropy", "Cross-entropy to the target", {"cross_entropy": "nats"}),
    _updates("entropy", "Entropy of the policy", {"entropy": "nats"}, from_zero=True),
    _updates("kl", "Divergence (KL)", {"kl": "nats"}, from_zero=True),
    _updates("ratios", "Ratios beyond the clip range", {"clipped": "all updates"}, share=True),
    _updates("lr", "Learning rate", {"lr": "rate"}, from_zero=True),
    _updates("samples", "Samples a second", {"samples_per_s": "samples/s"}, from_zero=True),
    _rates("speed", "Speed", {"plies_per_s": "plies/s", "evals_per_s": "evaluations/s"}),
    _rates("games", "Games a second", {"games_per_s": "games/s"}),
    _rates("searches", "Simulations a second", {"sims_per_s": "simulations/s"}),
    _rates("busy", "Busy", {"device_busy": "network", "host_busy": "loop", "mover_busy": "movers",
                            "gpu_util": "GPU"}, share=True),
    _rates("fill", "Batch fill", {"batch_fill": "slots taken", "full_batches": "full batches"},
           share=True),
    _rates("steps", "Time steps a position", {"mean_time_steps": "mean"}),
    _rates("queue", "Queue age, 99th percentile, ms", {"queue_age_p99_ms": "ms"}),
    _rates("cache", "Evaluations known to the cache", {"cache_hit_rate": "hits"}, share=True),
    _rates("memory", "Memory of games and trees, MB", {"games_mb": "MB"}),
    _rates("gpu_memory", "GPU memory, MB", {"gpu_memory_mb": "MB"}),
    _rates("power", "GPU power, W", {"gpu_power_w": "W"}),
)  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    name: str
    points: Points
    """(x, y), x ascending."""


@dataclass(frozen=True)
class Chart:
    """Curves over one axis; each has points."""

    key: str
    title: str
    x: str
    """What the horizontal axis counts: "updates", "minutes of play", "iterations", "samples"."""
    curves: list[Curve] = field(default_factory=list)
    share: bool = False
    from_zero: bool = False
    is_logarithmic: bool = False
    """Places on the horizontal axis are logarithms to base 10."""


def charts(view: RunView) -> list[Chart]:
    """All charts that the run has figures for, those of its purpose first."""
    lines = {"learn": view.series.lines("learn", MOST), "load": _timed_load(view)}
    measured = {
        kind: [_measured(spec, lines[kind]) for spec in CHARTS if spec.kind == kind]
        for kind in lines
    }
    found = [*measured["learn"], *_strength(view), *measured["load"]]
    return [chart for chart in [*found, *_generations(view)] if chart.curves]


def _measured(spec: ChartSpec, lines: list[Line]) -> Chart:
    is_load = spec.kind == "load"
    x, place = (MINUTES, "minutes") if is_load else ("updates", "step")
    curves = [_curve(name, lines, place, _at(key)) for key, name in spec.curves.items()]
    drawn = [one for one in curves if not is_load or any(y for _, y in one.points)]
    return Chart(spec.key, spec.title, x, _with_points(drawn), spec.share, spec.from_zero)


def _strength(view: RunView) -> Iterable[Chart]:
    matches: dict[str, list[Line]] = {}
    for line in view.series.lines("eval"):
        name = f"{line.get('player', '')} against {line.get('opponent', '')}"
        matches.setdefault(name, []).append(line)

    def by_iteration(key: str) -> list[Curve]:
        found = [_curve(name, lines, "iteration", _at(key)) for name, lines in matches.items()]
        return _with_points(found)

    if points := view.costs():
        yield _by_cost(points)
    yield Chart("score", "Score", "iterations", by_iteration("score"), True, True)
    if curve := view.elo():
        x = "samples" if all(is_number(point.get("samples")) for point in curve) else "network"
        points = [point | {"network": place} for place, point in enumerate(curve)]
        yield Chart("elo", "Elo, rated", x, _with_points([_curve("rated", points, x, _at("elo"))]))
    else:
        yield Chart("elo", "Elo difference", "iterations", by_iteration("elo"))


def _by_cost(points: list[Line]) -> Chart:
    """Elo by what a network cost, in the unit that the newest has."""
    costs = [each if isinstance(each := point.get("cost"), dict) else {} for point in points]
    unit = next((name for name in UNITS if is_number(costs[-1].get(name))), UNITS[-1])
    lines = [
        point | {"place": log10(cost[unit])}
        for point, cost in zip(points, costs, strict=True)
        if is_number(cost.get(unit)) and cost[unit] > 0
    ]
    rated = _with_points([_curve("rated", lines, "place", _at("elo"))])
    return Chart("cost", "Elo by cost", unit, rated, is_logarithmic=True)


def _timed_load(view: RunView) -> list[Line]:
    """Lines of load with the minutes of play before each."""
    lines = view.series.lines("load", MOST)
    times = _minutes_of_play([number(line, "time_unix") for line in lines])
    return [line | {"minutes": time} for line, time in zip(lines, times, strict=True)]


def _minutes_of_play(times: list[float]) -> list[float]:
    """Minutes since the first time, with pauses (gaps far longer than the median) cut short."""
    if len(times) < 2:
        return [0.0] * len(times)
    gaps = [max(later - time, 0.0) for time, later in pairwise(times)]
    usual = median(gaps)
    return list(accumulate([0.0, *(min(gap, GAP * usual) / 60 for gap in gaps)]))


def _generations(view: RunView) -> Iterable[Chart]:
    lines = view.series.lines("play", MOST)
    names = {"white_wins": "White", "draws": "draws", "black_wins": "Black"}
    shares = [_curve(name, lines, "iteration", _share(key)) for key, name in names.items()]
    yield Chart("results", "Results", "iterations", _with_points(shares), True, True)
    lengths = _curve("plies a game", lines, "iteration", _at("mean_length"))
    yield Chart("length", "Length of games", "iterations", _with_points([lengths]))


def _curve(name: str, lines: Iterable[Line], x: str, value: Callable[[Line], Any]) -> Curve:
    found: list[tuple[Any, Any]] = [(line.get(x), value(line)) for line in lines]
    return Curve(name, [(float(at), float(y)) for at, y in found if is_number(at) and is_number(y)])


def _with_points(curves: Iterable[Curve]) -> list[Curve]:
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


def interval_of(line: Line, key: str) -> tuple[float, float] | None:
    """(low, high) of a figure, in either of the ways in which one is written; None where it is
    not known."""
    found = line.get(f"{key}_interval") or [line.get(f"{key}_low"), line.get(f"{key}_high")]
    if not isinstance(found, list) or len(found) != 2 or not all(map(is_number, found)):
        return None
    return found[0], found[1]
