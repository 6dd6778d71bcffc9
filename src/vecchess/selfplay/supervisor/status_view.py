"""The state of a run in the terminal: a line of text, or workers and progress as a picture.

Both draw the facts that a run writes to ``status.json`` every second (``status_watcher.py``),
for the live display of a command and for ``vecchess watch``. A status may come from another
program: what is no number counts as 0. rich is imported when a picture is drawn.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.reporting import as_clock
from vecchess.safe_parse import Values, mapping, mappings, number

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

GOOD, WARM, BAD, LIVE, QUIET = "green", "yellow", "red", "cyan", "dim"
"""Colours of the terminal's own palette, which suit its background (decision 157)."""
STATE_STYLE = {
    "starting": LIVE, "playing": GOOD, "learning": LIVE, "evaluating": LIVE, "done": GOOD,
    "stopped": WARM, "failed": BAD, "gone": BAD, "unknown": QUIET,
}  # fmt: skip
LEARNT = (
    ("loss", "loss"), ("policy", "loss_policy"), ("value", "loss_value"), ("entropy", "entropy"),
    ("top-1", "top1"), ("kl", "kl"), ("clipped", "clipped"), ("spikes", "spike_rate"), ("lr", "lr"),
)  # fmt: skip
"""Heading and metric of the figures of an update."""
WIDE = 100
"""Columns from which on memory and heat of GPUs are shown."""
LEAST_BAR = 8
LEFT, GAP = 2, 2
"""Columns of texts, which stand on the left of the table of workers; spaces between columns."""


def seconds_of(status: Values) -> float:
    """Seconds from the start of the run to its last status."""
    return max(number(status, "updated_unix") - number(status, "started_unix"), 0.0)


def done_of(status: Values) -> tuple[float, float, str]:
    """What is done of this stage, what is wanted (0: not known), and of what: games, or positions
    of a training, or updates."""
    if status.get("state") == "learning":
        learning = mapping(status, "learning")
        return number(learning, "step"), number(learning, "steps"), "updates"
    if wanted := number(status, "positions_target"):
        return number(status, "positions"), wanted, "positions"
    return number(status, "games"), number(status, "target"), "games"


def progress_of(status: Values) -> float | None:
    """Share of this stage that is done, 0 to 1; None where that is not known."""
    done, wanted, _ = done_of(status)
    if not wanted or status.get("state") == "evaluating":
        return None
    return min(done / wanted, 1.0)


def show_status(display: ProgressDisplay, status: Callable[[], Values], *more: str) -> None:
    """Show a status on ``display`` if it is time to, and ``more`` lines below."""
    display.update(
        lambda: "\n".join([status_line(status()), *more]),
        lambda: status_picture(status(), display.console.width, *more),
    )


def status_line(status: Values) -> str:
    """The state of a run in a line."""
    parts = [f"{as_clock(seconds_of(status)):>8}"]
    if number(status, "iterations"):
        parts.append(f"[{number(status, 'iteration'):.0f}/{number(status, 'iterations'):.0f}]")
    parts += [str(status.get("state", "")), *_done_text(status)]
    if status.get("state") == "learning":
        parts += learning_figures(mapping(status, "learning"))
    parts += _load_figures(mapping(status, "load"))
    parts += [*_results(status), *_eta(status)]
    if checked := number(status, "blocks_checked"):
        parts.append(f"{checked:,.0f} blocks checked")
    if workers := mappings(status, "workers"):
        parts.append(f"[{'  '.join(map(_worker_text, workers))}]")
    parts.append(str(mapping(status, "bottleneck").get("label", "")))
    if status.get("state") == "unknown":
        parts.append(str(status.get("why", "")))
    return "  ".join(part for part in parts if part)


def learning_figures(learning: Values) -> Iterator[str]:
    """Speed, losses and other figures of the newest update."""
    if rate := number(learning, "samples_per_s"):
        yield f"{rate:,.0f} samples/s"
    yield from metric_figures(learning)


def metric_figures(means: Values) -> Iterator[str]:
    """Losses, entropy, spike rate and learning rate, as far as ``means`` has them."""
    for name, key in LEARNT:
        if key in means:
            yield f"{name} {number(means, key):.3g}"


def match_line(title: str, match: Values, interval: tuple[float, float] | None) -> str:
    """The line about a progress match, from the network's view."""
    line = f"{title}  {match.get('player')} against {match.get('opponent')}: "
    line += f"{number(match, 'score'):.1%}"
    if interval:
        line += f" [{interval[0]:.1%}, {interval[1]:.1%}]"
    if "wins" in match:
        won, drawn, lost = (number(match, key) for key in ("wins", "draws", "losses"))
        line += f"  +{won:.0f} ={drawn:.0f} -{lost:.0f}"
    return line


def status_picture(status: Values, width: int, *more: str) -> "Group":
    """Workers, or figures of learning, the progress below in ``width`` columns, and ``more``."""
    from rich.console import Group
    from rich.text import Text

    is_learning = status.get("state") == "learning"
    upper = learning_text(status) if is_learning else worker_table(status, width)
    return Group(upper, progress_text(status, width), *map(Text, more))


def learning_text(status: Values) -> "Text":
    """Updates, speed and losses of a network that learns."""
    from rich.text import Text

    text = Text.assemble(("learning  ", LIVE), "  ".join(_done_text(status)))
    for figure in learning_figures(mapping(status, "learning")):
        text.append("  ").append(figure)
    return text


def progress_text(status: Values, width: int) -> "Text":
    """Progress of the stage in a line, with a bar as long as there is room for."""
    from rich.text import Text

    words = [*_iteration(status), *_done_text(status)]
    clock = as_clock(seconds_of(status)) if seconds_of(status) else ""
    clock = "  ".join([*_results(status), clock, *_eta(status)]).strip()
    line, share = Text("  ".join(words)), progress_of(status)
    room = width - line.cell_len - len(clock) - 10
    if share is not None and room >= LEAST_BAR:
        full = round(share * room)
        line.append("  ").append("━" * full, style=STATE_STYLE.get(str(status.get("state")), LIVE))
        line.append("━" * (room - full), style=QUIET).append(f" {share:>4.0%}")
    gap = max(width - line.cell_len - len(clock), 1)
    return line.append(" " * gap).append(clock, style=QUIET)


def worker_table(status: Values, width: int) -> "Table":
    """A line for all workers together, above all others, and one for each; of the figures as many
    as ``width`` columns have room for, the first ones."""
    from rich.table import Table

    titles, rows = _worker_figures(status, width)
    most = _fitting([titles, *rows], width)
    table = Table(box=None, pad_edge=False, header_style=QUIET, padding=(0, GAP, 0, 0))
    for place, title in enumerate(titles[:most]):
        table.add_column(title, justify="left" if place < LEFT else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row[:most], style="bold" if row[0] == "all" else "")
    return table


def _worker_figures(status: Values, width: int) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of the table of workers, the most important columns first."""
    workers, load = mappings(status, "workers"), mapping(status, "load")
    gpus = [gpu for one in workers if (gpu := mapping(one, "gpu"))]
    searches = number(load, "sims_per_s") > 0
    titles = ["worker", "stage", "games", "plies/s", *(["sims/s"] if searches else [])]
    titles += ["steps", "fill", "net", "mov"]
    if gpus:
        titles += ["GPU", "W"] if width < WIDE else ["GPU", "memory", "power", "heat"]
    rows = []
    if len(workers) > 1 or (load and not workers):
        cells = [f"{number(status, 'games'):,.0f}", *_figures(load, searches)]
        rows.append(["all", "", *cells, *_gpus(gpus, width)])
    for worker in workers:
        name = f"{worker.get('index', '')} {worker.get('device', '')}"
        cells = [f"{number(worker, 'games'):,.0f}", *_figures(mapping(worker, "load"), searches)]
        seated = f" {number(worker, 'seated'):,.0f}" if number(worker, "seated") else ""
        cells += _gpu(mapping(worker, "gpu"), width) if gpus else []
        rows.append([name, f"{worker.get('stage', '')}{seated}", *cells])
    return titles, rows


def _fitting(rows: list[list[str]], width: int) -> int:
    """How many columns of ``rows`` stand side by side in ``width``, those on the left at least."""
    sizes = [max(map(len, column)) + GAP for column in zip(*rows, strict=True)]
    return max([n for n in range(len(sizes) + 1) if sum(sizes[:n]) - GAP <= width] + [LEFT])


def _iteration(status: Values) -> Iterator[str]:
    if number(status, "iterations"):
        now, last = number(status, "iteration"), number(status, "iterations")
        yield f"iteration {now:.0f} of {last:.0f}"


def _done_text(status: Values) -> Iterator[str]:
    done, wanted, unit = done_of(status)
    if wanted:
        yield f"{done:,.0f}/{wanted:,.0f} {unit}"
    elif done:
        yield f"{done:,.0f} {unit}"


def _results(status: Values) -> Iterator[str]:
    """Wins, draws and losses of White among the games of this generation that are recorded."""
    stats = mapping(status, "stats")
    if status.get("state") != "learning" and number(stats, "games"):
        won, drawn, lost = (number(stats, key) for key in ("white_wins", "draws", "black_wins"))
        yield f"+{won:.0f} ={drawn:.0f} -{lost:.0f}"


def _eta(status: Values) -> Iterator[str]:
    is_learning = status.get("state") == "learning"
    found = mapping(status, "learning") if is_learning else status
    if found.get("eta_s") is not None:
        yield f"ETA {as_clock(number(found, 'eta_s'))}"


def _worker_text(worker: Values) -> str:
    name = f"{worker.get('device', '')}#{worker.get('index', '')}"
    games, stage = number(worker, "games"), worker.get("stage", "")
    return f"{name} {games:,.0f} games" if games or stage == "playing" else f"{name} {stage}"


def _load_figures(load: Values) -> Iterator[str]:
    if not load:
        return
    yield f"{number(load, 'plies_per_s'):,.0f} plies/s"
    if rate := number(load, "sims_per_s"):
        yield f"{rate:,.0f} sims/s  cache {number(load, 'cache_hit_rate'):.0%}"
    yield f"fill {number(load, 'batch_fill'):.0%}"
    yield f"network {number(load, 'device_busy'):.0%}"
    yield f"movers {number(load, 'mover_busy'):.0%}"
    if steps := number(load, "mean_time_steps"):
        yield f"{steps:.2f} steps"


def _figures(load: Values, searches: bool) -> list[str]:
    if not load:
        return [""] * (6 if searches else 5)
    return [
        f"{number(load, 'plies_per_s'):,.0f}",
        *([f"{number(load, 'sims_per_s'):,.0f}"] if searches else []),
        f"{steps:.2f}" if (steps := number(load, "mean_time_steps")) else "-",
        f"{number(load, 'batch_fill'):.0%}",
        f"{number(load, 'device_busy'):.0%}",
        f"{number(load, 'mover_busy'):.0%}",
    ]


def _gpu(gpu: Values, width: int) -> list[str]:
    if not gpu:
        return [""] * (2 if width < WIDE else 4)
    use, power = f"{number(gpu, 'util'):.0%}", f"{number(gpu, 'power_w'):.0f}"
    if width < WIDE:
        return [use, power]
    used, total = number(gpu, "memory_mb") / 1e3, number(gpu, "memory_total_mb") / 1e3
    heat = f"{number(gpu, 'temperature_c'):.0f} °C"
    return [use, f"{used:.1f} of {total:.0f} GB", f"{power} W", heat]


def _gpus(gpus: list[Values], width: int) -> list[str]:
    """All GPUs: mean use, and power together."""
    if not gpus:
        return []
    use = sum(number(gpu, "util") for gpu in gpus) / len(gpus)
    power = f"{sum(number(gpu, 'power_w') for gpu in gpus):,.0f}"
    return [f"{use:.0%}", power] if width < WIDE else [f"{use:.0%}", "", f"{power} W", ""]
