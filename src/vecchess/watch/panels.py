"""What stands in the parts of the screen, as rich renders it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from vecchess.monitor.run_view import RunView
from vecchess.monitor.standing import Standing, as_words
from vecchess.monitor.status import Values, number
from vecchess.selfplay.progress import as_clock
from vecchess.store.stats import GameStats
from vecchess.watch.lines import LOSSES, match_line

GOOD, WARM, BAD, QUIET, LIVE = "#8ddb8c", "#f0b35e", "#f69d9d", "#8b98a5", "#6cb6ff"
WHITE, DRAW, BLACK = "#e6edf3", "#8b98a5", "#57606a"
STATE_STYLE = {
    "starting": LIVE, "playing": GOOD, "learning": LIVE, "evaluating": LIVE, "done": GOOD,
    "stopped": WARM, "failed": BAD, "gone": BAD, "unknown": QUIET,
}  # fmt: skip
BARS = " ▁▂▃▄▅▆▇█"


def headline(view: RunView, width: int, is_paused: bool) -> Text:
    """Which run it is, and its state, at both ends of a line."""
    now = view.standing
    mark = "■" if now.is_over else "●"
    right = Text(f"{mark} {now.state}", style=f"bold {STATE_STYLE.get(now.state, QUIET)}")
    if is_paused:
        right = Text("‖ paused  ", style=f"bold {WARM}") + right
    left = Text.assemble(("vecchess ", QUIET), (view.name, "bold"))
    facts = [now.kind, now.net, now.host]
    if now.machines > 1:
        facts.append(f"{now.machines} machines")
    for fact in facts:
        if fact and left.cell_len + right.cell_len + len(fact) + 6 <= width:
            left.append(f"  {fact}", style=QUIET)
    gap = max(width - left.cell_len - right.cell_len, 1)
    return Text.assemble(left, " " * gap, right)


def progress(now: Standing, width: int) -> Text:
    """How far the stage is, with a bar as long as there is room for."""
    words = []
    if now.iterations:
        words.append(f"iteration {now.iteration} of {now.iterations}")
    if now.state == "learning":
        words.append(
            f"{number(now.learning, 'step'):,.0f}/{number(now.learning, 'steps'):,.0f} updates"
        )
    elif now.target:
        words.append(f"{now.games:,}/{now.target:,} games")
    clock = as_clock(now.seconds) if now.seconds else ""
    if now.eta_s is not None:
        clock += f"  ETA {as_clock(now.eta_s)}"
    left, share = "  ".join(words), now.progress
    room = width - len(left) - len(clock) - 10
    line = Text(left)
    if share is not None and room >= 8:
        full = round(share * room)
        line.append("  ").append("━" * full, style=STATE_STYLE.get(now.state, LIVE))
        line.append("━" * (room - full), style=BLACK).append(f" {share:>4.0%}")
    gap = max(width - line.cell_len - len(clock), 1)
    return line.append(" " * gap).append(clock, style=QUIET)


def workers(now: Standing, width: int) -> Table:
    """A line for all together, which is to be seen however many there are, and one for each."""
    has_gpu = any(isinstance(one.get("gpu"), dict) for one in now.workers)
    searches = number(now.load, "sims_per_s") > 0
    table = Table(box=None, pad_edge=False, header_style=QUIET, padding=(0, 1, 0, 0), expand=True)
    table.add_column("worker", no_wrap=True)
    table.add_column("stage", no_wrap=True)
    for title in _columns(searches, has_gpu, width):
        table.add_column(title, justify="right", no_wrap=True)
    if len(now.workers) > 1 or (now.load and not now.workers):
        cells = [f"{now.games:,}", *_figures(now.load, searches)]
        gpu = _gpus(now, width) if has_gpu else []
        table.add_row("all", "", *cells, *gpu, style="bold")
    for worker in now.workers:
        name = f"{worker.get('index', '')} {worker.get('device', '')}"
        machine = worker.get("machine", 0)
        name = f"{machine}.{name}" if now.machines > 1 else name
        cells = [f"{number(worker, 'games'):,.0f}", *_figures(worker.get("load"), searches)]
        seated = f" {number(worker, 'seated'):,.0f}" if number(worker, "seated") else ""
        gpu = _gpu(worker.get("gpu"), width) if has_gpu else []
        table.add_row(name, f"{worker.get('stage', '')}{seated}", *cells, *gpu)
    return table


def _columns(searches: bool, has_gpu: bool, width: int) -> list[str]:
    found = ["games", "plies/s", *(["sims/s"] if searches else []), "steps", "fill", "net", "mov"]
    if has_gpu:
        found += ["GPU", "W"] if width < 100 else ["GPU", "memory", "power", "heat"]
    return found


def _figures(load: Any, searches: bool) -> list[str]:
    load = load if isinstance(load, dict) else {}
    if not load:
        return [""] * (6 if searches else 5)
    return [
        f"{number(load, 'plies_per_s'):,.0f}",
        *([f"{number(load, 'sims_per_s'):,.0f}"] if searches else []),
        f"{number(load, 'mean_time_steps'):.2f}",
        f"{number(load, 'batch_fill'):.0%}",
        f"{number(load, 'device_busy'):.0%}",
        f"{number(load, 'mover_busy'):.0%}",
    ]


def _gpu(gpu: Any, width: int) -> list[str]:
    if not isinstance(gpu, dict):
        return [""] * (2 if width < 100 else 4)
    use, power = f"{number(gpu, 'util'):.0%}", f"{number(gpu, 'power_w'):.0f}"
    if width < 100:
        return [use, power]
    memory = (
        f"{number(gpu, 'memory_mb') / 1e3:.1f} of {number(gpu, 'memory_total_mb') / 1e3:.0f} GB"
    )
    return [use, memory, f"{power} W", f"{number(gpu, 'temperature_c'):.0f} °C"]


def _gpus(now: Standing, width: int) -> list[str]:
    """All GPUs: mean use, and power together."""
    gpus = [one["gpu"] for one in now.workers if isinstance(one.get("gpu"), dict)]
    use = sum(number(gpu, "util") for gpu in gpus) / len(gpus)
    power = f"{sum(number(gpu, 'power_w') for gpu in gpus):,.0f}"
    return [f"{use:.0%}", power] if width < 100 else [f"{use:.0%}", "", f"{power} W", ""]


def learning(now: Standing) -> Text:
    """The updates that are being made."""
    told = now.learning
    text = Text.assemble(
        ("learning  ", LIVE),
        f"update {number(told, 'step'):,.0f} of {number(told, 'steps'):,.0f}  ",
        f"{number(told, 'samples_per_s'):,.0f} samples/s\n\n",
    )
    for name, key in (*LOSSES, ("entropy", "entropy"), ("lr", "lr")):
        if key in told:
            text.append(f"{name} ", style=QUIET).append(f"{number(told, key):.3g}   ")
    return text


def waiting(now: Standing) -> Text:
    """What is done while nothing is played or learnt."""
    words = {
        "starting": "network, kernels and workers are made ready",
        "evaluating": "the newest network plays matches",
    }.get(now.state, now.why)
    return Text.assemble((now.state, STATE_STYLE.get(now.state, QUIET)), f"  {words}")


def ending(now: Standing) -> Text:
    """That a run is over, why, and how to go on."""
    style = STATE_STYLE.get(now.state, QUIET)
    text = Text.assemble((f"{now.why}\n", f"bold {style}"))
    if now.age_s is not None and now.state not in ("gone", "unknown"):
        text.append(f"{as_words(now.age_s)} ago\n", style=QUIET)
    if now.go_on:
        text.append("\nto go on:\n", style=QUIET).append(now.go_on, style=LIVE)
    return text


def verdict(now: Standing) -> Text:
    """What limits the speed, and what to do."""
    found = now.verdict
    if found.slowest == "learning":
        return Text("learning: no games are played meanwhile", style=QUIET)
    if not found.words:
        words = "no figures yet" if now.state == "playing" else "no games are played now"
        return Text(words, style=QUIET)
    style = GOOD if found.code == "gpu-bound" else WARM
    return Text.assemble(
        (found.words, f"bold {style}"),
        (f"  {found.slowest} {found.share:.0%} busy\n", QUIET),
        found.advice,
    )


def totals(view: RunView) -> Text:
    """What a run that is over came to."""
    now, stats = view.standing, view.stats
    lines = [f"{stats.games:,} games recorded, {stats.plies:,} plies"]
    if stats.games:
        lines.append(f"mean {stats.mean_length:.0f} plies, {stats.mean_time_steps:.2f} time steps")
    if networks := len(view.networks()):
        lines.append(f"{networks:,} networks")
    if now.restarts:
        lines.append(f"{now.restarts:,} workers replaced")
    return Text("\n".join(lines))


def results(view: RunView, width: int) -> Text:
    """How games went: the newest generation's where there is one, else all."""
    now = view.standing.stats if view.standing.stats.games else view.stats
    if not now.games:
        return Text("no game is finished yet", style=QUIET)
    text = outcome_bar(now, width).append("\n")
    text.append_text(_ended(now, 2 * width)).append("\n")
    lengths = {int(length): count for length, count in now.lengths.items() if length.isdecimal()}
    return text.append_text(
        Text.assemble(
            ("lengths ", QUIET), (_sparkline(lengths, 32), LIVE), f"  mean {now.mean_length:.0f}"
        )
    )


def outcome_bar(stats: GameStats, width: int) -> Text:
    """White's wins, draws, Black's wins: figures, and parts of a line."""
    parts = (
        ("White", stats.white_wins, WHITE),
        ("draws", stats.draws, DRAW),
        ("Black", stats.black_wins, BLACK),
    )
    text, used = Text(), 0
    for place, (_, _, style) in enumerate(parts):
        cells = round(sum(p[1] for p in parts[: place + 1]) / stats.games * width) - used
        text.append(("█", "▒", "░")[place] * cells, style=style)
        used += cells
    text.append("\n")
    has_room = width >= 50
    for name, count, _ in parts:
        share = f"{count / stats.games:.0%}"
        text.append(f"{name} ", style=QUIET)
        text.append(f"{count:,} ({share})  " if has_room else f"{share}  ")
    return text


def _ended(stats: GameStats, width: int) -> Text:
    """Why games ended, the commonest first, as many as fit into about so many characters."""
    told, left = "", width - 16
    for name, count in sorted(stats.terminations.items(), key=lambda item: -item[1]):
        reason = f"{', ' if told else ''}{name.replace('_', ' ')} {count:,}"
        left -= len(reason)
        if left < 0:
            told += ", ..."
            break
        told += reason
    return Text.assemble(("ended by ", QUIET), told)


def _sparkline(counts: dict[int, int], width: int) -> str:
    """A histogram, a character a bin of ``width``."""
    if not counts:
        return ""
    bins = [counts.get(low, 0) for low in range(0, max(counts) + 1, width)]
    return "".join(BARS[-(-8 * count // max(bins))] for count in bins)


def histogram(title: str, counts: dict[int, int], width: int, name: Any) -> Text:
    """Counts as bars of text, one a line."""
    text = Text(f"{title}\n", style=QUIET)
    total, most = sum(counts.values()), max(counts.values(), default=1)
    for key, count in sorted(counts.items()):
        label = f"{name(key):>12} "
        text.append(label, style="default").append("█" * round(count / most * width), style=LIVE)
        text.append(f" {count:,} ({count / total:.0%})\n", style="default")
    return text


def games_page(view: RunView, width: int) -> Text:
    """All that is known of the games that are recorded."""
    stats, room = view.stats, max(min(width - 40, 80), 8)
    if not stats.games:
        return Text("no game is recorded yet", style=QUIET)
    reasons = sorted(stats.terminations.items(), key=lambda item: -item[1])
    names = [name.replace("_", " ") for name, _ in reasons]
    text = Text.assemble((f"{stats.games:,} games recorded, {stats.plies:,} plies\n\n", "bold"))
    text.append_text(outcome_bar(stats, min(width, 100))).append("\n\n")
    ended = {place: count for place, (_, count) in enumerate(reasons)}
    text.append_text(_histogram("ended by", ended, room, lambda place: names[place]))
    lengths = {int(key): count for key, count in stats.lengths.items()}
    text.append_text(_histogram("length, plies", lengths, room, lambda low: f"{low}-{low + 31}"))
    steps = {int(key): count for key, count in stats.time_steps.items()}
    text.append_text(_histogram("time steps of a position", steps, room, str))
    if stats.resign_checks:
        wrong = stats.resign_false_positives / stats.resign_checks
        text.append(f"resigning checked in {stats.resign_checks:,} games, wrong in {wrong:.0%}\n")
    return text


def _histogram(title: str, counts: dict[int, int], width: int, name: Any) -> Text:
    return histogram(title, counts, width, name).append("\n") if counts else Text()


def notes(now: Standing) -> Text:
    """What happened, the newest last."""
    lines = [_note(note) for note in now.notes]
    return Text("\n").join(lines) if lines else Text("nothing out of the ordinary", style=QUIET)


def newest_note(now: Standing) -> Text:
    """The last of them, in a line."""
    return _note(now.notes[-1]) if now.notes else Text()


def _note(note: Values) -> Text:
    when = datetime.fromtimestamp(note["time_unix"])
    return Text.assemble((f"{when:%H:%M:%S} ", WARM), note["line"], end="")


def matches(view: RunView, most: int) -> Text:
    """The newest matches for progress, the newest first."""
    lines = view.series.lines("eval")[-most:][::-1]
    return Text("\n".join(match_line(line) for line in lines)) if lines else Text()


def notes_short(view: RunView) -> Text:
    """Notes, and the newest matches where there are any."""
    text = notes(view.standing)
    played = matches(view, 6)
    return Text("\n\n").join([played, text]) if played else text


def settings(config: Values) -> Iterable[str]:
    """The settings of a run, a line each, those of a table after the table's name."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from (f"{key}.{line}" for line in settings(value))
        else:
            yield f"{key} = {value}"


def notes_page(view: RunView) -> Text:
    """Notes, matches, settings."""
    parts = [("notes", notes(view.standing))]
    if view.series.kinds.get("eval"):
        parts.append(("matches", matches(view, 20)))
    parts.append(("settings", Text("\n".join(settings(view.config)))))
    text = Text()
    for title, body in parts:
        text.append(f"{title}\n", style=f"bold {LIVE}").append_text(body).append("\n\n")
    return text
