"""The parts of a report on one run, as HTML. Text from a run is escaped."""

from collections.abc import Iterable, Sequence
from datetime import UTC
from html import escape
from typing import Any

from vecchess.monitor.charts import Chart, charts, is_number
from vecchess.monitor.run_view import RunView
from vecchess.monitor.timestamps import format_time
from vecchess.report.examples import example_html, examples
from vecchess.report.facts import Fact, differences, facts
from vecchess.report.svg import bar_chart, heat_map, line_chart, shares_bar
from vecchess.store.stats import LENGTH_BIN, GameStats
from vecchess.watch.plain_lines import match_line

NUM_COLUMNS = 60
"""Columns of the map of spike rates at most."""
DECISIVE = ("checkmate", "resignation")
THROUGHPUT = ("speed", "batches", "steps", "searches", "gpu", "power")
LEARNING = ("loss", "top1", "spikes", "entropy", "lr")
STRENGTH = ("score", "elo")
OVER_TIME = ("results", "length")


def run_html(view: RunView, anchor: str) -> str:
    """All parts about a run."""
    drawn = charts(view)
    learning = [*_of(drawn, LEARNING), *_spikes(view)]
    parts = [
        _section("What ran", [*_what_ran(view)]),
        _section("Strength", [_grid(_of(drawn, STRENGTH)), _matches(view)]),
        _section("Learning", [_grid(learning)]),
        _section("Throughput", [_bottleneck(view), _grid(_of(drawn, THROUGHPUT))]),
        _section("Games", [_games(view.stats), _grid(_of(drawn, OVER_TIME))]),
        _section("Examples", [example_html(one) for one in examples(view)]),
        _section("Notes", [_notes(view)]),
    ]
    state = view.status.state
    badge = f'<span class="badge {escape(state)}">{escape(state)}</span>'
    head = f"<h1>{escape(view.name)} {badge}</h1><p class='path'>{escape(str(view.path))}</p>"
    return f'<main id="{anchor}">{head}{"".join(parts)}</main>'


def definitions(pairs: Sequence[Fact]) -> str:
    """Names and values."""
    rows = "".join(f"<div><dt>{escape(n)}</dt><dd>{escape(v)}</dd></div>" for n, v in pairs)
    return f"<dl>{rows}</dl>" if pairs else ""


def _section(title: str, bodies: Iterable[str]) -> str:
    """A part with a heading; "" where it is empty."""
    body = "".join(bodies)
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def _what_ran(view: RunView) -> Iterable[str]:
    yield definitions(facts(view))
    changed = differences(view.config)
    words = "Settings that are not the defaults" if changed else "All settings are the defaults"
    yield f"<h3>{words}</h3>{definitions(changed)}"
    if view.status.resume_command:
        yield f"<p>Resume with: <code>{escape(view.status.resume_command)}</code></p>"


def _of(drawn: Sequence[Chart], keys: Sequence[str]) -> list[str]:
    found = {chart.key: chart for chart in drawn}
    return [line_chart(found[key]) for key in keys if key in found]


def _grid(figures: Sequence[str]) -> str:
    return f'<div class="grid">{"".join(figures)}</div>' if figures else ""


def _spikes(view: RunView) -> list[str]:
    """The spike rate of each layer over time, where the run measured it."""
    lines = [
        line
        for line in view.series.lines("learn", NUM_COLUMNS)
        if isinstance(line.get("spikes"), dict)
    ]
    names = list(dict.fromkeys(name for line in lines for name in line["spikes"]))
    rows = [(name, [_rate(line["spikes"].get(name)) for line in lines]) for name in names]
    return [heat_map("spike rate of each layer", rows, "update")] if rows else []


def _rate(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def _bottleneck(view: RunView) -> str:
    found = view.status.bottleneck
    if not found.label:
        return ""
    words = f"{found.slowest} {found.share:.0%} busy. {found.advice}."
    return f"<p><b>{escape(found.label)}</b>: {escape(words)}</p>"


def _games(stats: GameStats) -> str:
    """Results, reasons for ends, lengths, time steps."""
    if not stats.games:
        return "<p>No game is recorded.</p>"
    results = shares_bar(
        [
            ("White won", stats.white_wins, "white"),
            ("drawn", stats.draws, "drawn"),
            ("Black won", stats.black_wins, "black"),
        ]
    )
    return f"{results}{_grid([_endings(stats), *_histograms(stats)])}"


def _endings(stats: GameStats) -> str:
    """Reasons for ends as a table with bars, those of draws first."""
    most = max(stats.terminations.values(), default=0) or 1
    rows = []
    for name, count in sorted(
        stats.terminations.items(), key=lambda one: (one[0] in DECISIVE, -one[1])
    ):
        kind = "decisive" if name in DECISIVE else "drawn"
        rows.append(
            f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{count:,}</td>"
            f"<td>{count / stats.games:.1%}</td><td class='bars'>"
            f'<i class="{kind}" style="width:{100 * count / most:.1f}%"></i></td></tr>'
        )
    title = "<figcaption>why games ended (blue: by a win)</figcaption>"
    return f"<figure>{title}<table class='endings'>{''.join(rows)}</table></figure>"


def _histograms(stats: GameStats) -> Iterable[str]:
    lengths = {int(low): count for low, count in stats.lengths.items()}
    if lengths:
        lows = range(0, max(lengths) + 1, LENGTH_BIN)
        bars = [(f"{low}", lengths.get(low, 0)) for low in lows]
        yield bar_chart(
            "lengths of games", bars, f"plies, bins of {LENGTH_BIN}", -(-len(bars) // 8)
        )
    steps = {int(step): count for step, count in stats.time_steps.items()}
    if steps:
        bars = [(str(step), steps.get(step, 0)) for step in range(1, max(steps) + 1)]
        yield bar_chart("time steps of a position", bars, "time steps", -(-len(bars) // 16))


def _matches(view: RunView) -> str:
    """The last match of each pairing."""
    lines = view.series.lines("eval")
    newest = {f"{one.get('player')} against {one.get('opponent')}": one for one in lines}
    rows = "".join(f"<li>{escape(match_line(one))}</li>" for one in newest.values())
    return f"<h3>Newest matches</h3><ul>{rows}</ul>" if rows else ""


def _notes(view: RunView) -> str:
    rows = "".join(
        f"<li><time>{format_time(note['time_unix'], '%Y-%m-%d %H:%M:%S', UTC)}</time> "
        f"{escape(note['line'])}</li>"
        for note in view.status.notes
    )
    return f"<ul>{rows}</ul>" if rows else ""
