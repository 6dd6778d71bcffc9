"""The curve of a run as a picture. Needs matplotlib (extra ``plots``)."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from vecchess.errors import ConfigError, DataError
from vecchess.evaluate.checkpoint_ratings import RatedCheckpoint, RatingHistory
from vecchess.runtime.cost_meter import Cost

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_MATPLOTLIB = 'no plot: matplotlib is not installed (pip install "vecchess[plots]")'


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def require_plots() -> None:
    """Raise ConfigError where matplotlib is not installed."""
    if not can_plot():
        raise ConfigError(NO_MATPLOTLIB)


def plot(history: RatingHistory, file: Path) -> None:
    """Draw Elo by samples or by cost, with 95 % intervals, and the rungs of the ladder as lines.

    The kind of picture follows from the name. Raises ConfigError where matplotlib is not installed
    or does not support the kind, DataError where writing fails.
    """
    require_plots()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    points = history.curve
    label, places = _costs(points) if history.is_by_cost else _places(points)
    _draw_curve(axes, points, places)
    if history.is_by_cost:
        axes.set_xscale("log")
        axes.set_xticks(places, [f"{place:.3g}" for place in places])
        axes.minorticks_off()
    _draw_rungs(axes, history)
    axes.set(xlabel=label, ylabel=f"Elo above {history.evaluation.ratings.anchor}")
    axes.set_title(history.run.resolve().name)
    axes.legend(loc="best", fontsize="small")
    try:
        figure.savefig(file, dpi=110)
    except ValueError as error:
        raise ConfigError(f"cannot draw {file}: {error}") from None
    except OSError as error:
        raise DataError(f"cannot write {file}: {error.strerror}") from None


def _places(points: list[RatedCheckpoint]) -> tuple[str, list[float]]:
    """What the horizontal axis shows: samples where all names give them, else numbers."""
    samples = [point.checkpoint.samples for point in points]
    if any(count is None for count in samples):
        return "network", [float(number) for number in range(1, len(points) + 1)]
    return "samples", [float(count or 0) for count in samples]


def _costs(points: list[RatedCheckpoint]) -> tuple[str, list[float]]:
    costs = [point.checkpoint.cost or Cost() for point in points]
    return costs[-1].unit, [cost.hours for cost in costs]


def _draw_curve(axes: "Axes", points: list[RatedCheckpoint], places: list[float]) -> None:
    from matplotlib.ticker import EngFormatter

    axes.plot(places, [point.rating.elo for point in points], marker=".", label="networks")
    low, high = [point.rating.low for point in points], [point.rating.high for point in points]
    axes.fill_between(places, low, high, alpha=0.2, label="95 %")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def _draw_rungs(axes: "Axes", history: RatingHistory) -> None:
    ratings = history.evaluation.ratings
    own = {one.name for one in history.evaluation.rated}
    for name, elo in zip(ratings.players, ratings.elo.tolist(), strict=True):
        if name not in own:
            axes.axhline(elo, color="grey", lw=0.7, ls="--")
            axes.annotate(
                name, (1, elo), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                color="grey", fontsize="small",
            )  # fmt: skip
