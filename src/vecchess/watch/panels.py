"""The panels of the screen, as rich text."""

from collections.abc import Iterable

from rich.text import Text

from vecchess.monitor.run_status import RunStatus
from vecchess.monitor.run_view import RunView
from vecchess.monitor.status_reader import Values, number
from vecchess.monitor.timestamps import format_time, rounded_duration
from vecchess.runtime.reporting import as_clock
from vecchess.watch.palette import BLACK, GOOD, LIVE, QUIET, STATE_STYLE, WARM
from vecchess.watch.plain_lines import LOSSES, match_line


def headline(view: RunView, width: int, is_paused: bool) -> Text:
    """Name and facts of the run on the left of a line, its state on the right."""
    now = view.status
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


def progress(now: RunStatus, width: int) -> Text:
    """Progress of the stage, with a bar as long as there is room for."""
    words = []
    if now.iterations:
        words.append(f"iteration {now.iteration} of {now.iterations}")
    if now.state == "learning":
        words.append(
            f"{number(now.learning, 'step'):,.0f}/{number(now.learning, 'steps'):,.0f} updates"
        )
    elif now.games_text:
        words.append(now.games_text)
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


def learning(now: RunStatus) -> Text:
    """Updates, speed and losses of a network that learns."""
    values = now.learning
    text = Text.assemble(
        ("learning  ", LIVE),
        f"update {number(values, 'step'):,.0f} of {number(values, 'steps'):,.0f}  ",
        f"{number(values, 'samples_per_s'):,.0f} samples/s\n\n",
    )
    for name, key in (*LOSSES, ("entropy", "entropy"), ("lr", "lr")):
        if key in values:
            text.append(f"{name} ", style=QUIET).append(f"{number(values, key):.3g}   ")
    return text


def waiting(now: RunStatus) -> Text:
    """The activity while nothing is played or learnt."""
    words = {
        "starting": "network, kernels and workers are being prepared",
        "evaluating": "the newest network plays matches",
    }.get(now.state, now.why)
    return Text.assemble((now.state, STATE_STYLE.get(now.state, QUIET)), f"  {words}")


def ending(now: RunStatus) -> Text:
    """Why a run is over, since when, and how to resume it."""
    style = STATE_STYLE.get(now.state, QUIET)
    text = Text.assemble((now.why, f"bold {style}"))
    if now.age_s is not None and now.state not in ("gone", "unknown"):
        text.append(f"  {rounded_duration(now.age_s)} ago", style=QUIET)
    if now.resume_command:
        text.append("\n\nresume with:\n", style=QUIET).append(now.resume_command, style=LIVE)
    return text


def bottleneck(now: RunStatus) -> Text:
    """The stage that limits the speed, and advice."""
    found = now.bottleneck
    if found.slowest == "learning":
        return Text("learning: no games are played meanwhile", style=QUIET)
    if not found.label:
        words = "no figures yet" if now.state == "playing" else "no games are played now"
        return Text(words, style=QUIET)
    style = GOOD if found.code == "gpu-bound" else WARM
    return Text.assemble(
        (found.label, f"bold {style}"),
        (f"  {found.slowest} {found.share:.0%} busy\n", QUIET),
        found.advice,
    )


def totals(view: RunView) -> Text:
    """Totals of a run that is over."""
    now, stats = view.status, view.stats
    lines = [f"{stats.games:,} games recorded, {stats.plies:,} plies"]
    if stats.games:
        steps = f", {stats.mean_time_steps:.2f} time steps" if stats.time_steps else ""
        lines.append(f"mean {stats.mean_length:.0f} plies{steps}")
    if networks := len(view.networks()):
        lines.append(f"{networks:,} networks")
    if now.restarts:
        lines.append(f"{now.restarts:,} workers replaced")
    return Text("\n".join(lines))


def notes(now: RunStatus) -> Text:
    """Notes, the newest last."""
    lines = [_note(note) for note in now.notes]
    return Text("\n").join(lines) if lines else Text("nothing out of the ordinary", style=QUIET)


def newest_note(now: RunStatus) -> Text:
    """The newest note, in a line."""
    return _note(now.notes[-1]) if now.notes else Text()


def _note(note: Values) -> Text:
    return Text.assemble((f"{format_time(note['time_unix'])} ", WARM), note["line"], end="")


def matches(view: RunView, most: int) -> Text:
    """The newest matches for progress, the newest first."""
    lines = view.series.lines("eval")[-most:][::-1]
    return Text("\n".join(match_line(line) for line in lines)) if lines else Text()


def notes_short(view: RunView) -> Text:
    """Notes, and the newest matches where there are any."""
    text = notes(view.status)
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
    parts = [("notes", notes(view.status))]
    if view.series.kinds.get("eval"):
        parts.append(("matches", matches(view, 20)))
    parts.append(("settings", Text("\n".join(settings(view.config)))))
    text = Text()
    for title, body in parts:
        text.append(f"{title}\n", style=f"bold {LIVE}").append_text(body).append("\n\n")
    return text
