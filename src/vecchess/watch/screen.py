"""What the full screen shows of a run: its pages, made of frames, text and charts.

headline, progress     name, state, what is done
a page                 overview, charts, games or notes
note, keys             the newest note; what the keys do, the page, the rows in sight
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.align import Align
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.layout import Layout
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.text import Text

from vecchess.monitor.charts import charts
from vecchess.monitor.run_status import RunStatus
from vecchess.monitor.run_view import RunView
from vecchess.runtime.reporting import format_time, rounded_duration
from vecchess.selfplay.supervisor.status_view import (
    GOOD,
    LIVE,
    QUIET,
    STATE_STYLE,
    WARM,
    learning_text,
    progress_text,
    worker_table,
)
from vecchess.store.run_folder import flat_settings
from vecchess.store.stats import LENGTH_BIN, GameStats
from vecchess.watch.curves import ChartBox
from vecchess.watch.plain_lines import progress_match

LARGE = (120, 36)
"""From this size on (columns, rows) one page shows nearly all."""
PAGES = ("overview", "charts", "games", "notes")
FIRST_CHARTS = {
    "train": ("loss", "spikes", "score", "elo", "speed", "results", "top1", "busy"),
    "selfplay": ("speed", "busy", "fill", "steps", "searches", "power"),
}
"""What the overview shows, as far as there is room and figures."""
KEYS = "q quit  tab page  ↑ ↓ scroll  p pause  ? help"
HELP = """vecchess watch reads a run and changes nothing.

tab, shift+tab    overview, charts, games, notes
↑ ↓, page up ...  scroll
p                 pause, and resume
q                 quit; the run goes on
ctrl+c            quit, exit code 130
?                 this help; any key closes it

steps  time steps of the network for a position
fill   slots of the network that are occupied
net    share of the time in which the network is computed
mov    share of the time in which moves are made

The busier of the two limits the speed. Where neither is
busy, each waits for the other: starved.

Results, lengths and time steps are of recorded games:
games are recorded every half a minute."""
CHART_ROWS = 11
BARS = " ▁▂▃▄▅▆▇█"


@dataclass
class Pane:
    """A page that scrolls: so many rows of ``inner`` as there is room for, from ``first`` on."""

    inner: RenderableType = ""
    first: int = 0
    height: int = 0
    """Rows in sight when it was last drawn."""
    total: int = 0
    """Rows that there were."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = console.render_lines(self.inner, options.update(height=None), pad=True)
        self.height, self.total = options.height or len(rows), len(rows)
        self.first = max(0, min(self.first, self.total - self.height))
        for row in rows[self.first : self.first + self.height]:
            yield from row
            yield Segment.line()

    def scroll(self, rows: int) -> None:
        """Go down by so many rows, or up."""
        self.first = max(0, self.first + rows)


@dataclass
class Screen:
    """What is chosen to be seen: a page, how far it is scrolled, and whether help or a pause."""

    page: int = 0
    is_paused: bool = False
    is_helping: bool = False
    pane: Pane = field(default_factory=Pane)

    def turn(self, pages: int) -> None:
        """Turn to the page so many further."""
        self.page = (self.page + pages) % len(PAGES)
        self.pane.first = 0

    def draw(self, view: RunView | None, waiting: str, width: int, height: int) -> RenderableType:
        """The whole screen; ``waiting`` is the line where there is no run yet."""
        if view is None:
            lines = Text(f"{waiting}\n\nit appears here as soon as one begins", justify="center")
            return Align.center(Group(lines, "", KEYS), vertical="middle", height=height)
        status = view.status.to_dict()
        screen, rows = Layout(), Layout(name="page")
        top = Group(
            headline(view, width, self.is_paused),
            progress_text(status | {"stats": {}}, width),
        )
        is_large = width >= LARGE[0] and height >= LARGE[1]
        bottom: list[RenderableType] = []
        if view.status.notes and not (is_large and self.page == 0):
            bottom.append(one_line(_note(view.status.notes[-1])))
        bottom.append(Keys(self))
        draw = getattr(self, f"_{PAGES[self.page]}")
        rows.update(_help() if self.is_helping else draw(view, status, width, height, is_large))
        screen.split_column(
            Layout(top, size=2), rows, Layout(Group(*bottom), size=len(bottom)),
        )  # fmt: skip
        return screen

    def _overview(
        self, view: RunView, status: dict[str, Any], width: int, height: int, is_large: bool
    ) -> Layout:
        now = view.status
        self.pane.inner = _activity(view, status, width - 4)
        workers = len(now.workers) + (len(now.workers) > 1) + 3
        room = max(height // 3 - (0 if is_large else 1), 6)
        top = Layout(_box("over" if now.is_over else "workers", self.pane))
        top.size = min(max(workers if now.workers else 6, 6), 16 if is_large else room)
        middle, bottom = Layout(), Layout(size=10 if is_large else 7)
        _fill(middle, self._first_charts(view, 6 if is_large else 2), 3 if is_large else 2)
        right = _totals(view) if now.is_over else _bottleneck(now)
        count = 3 if is_large else 2
        parts = [
            Layout(_box("results", _results(view, width // count - 4))),
            Layout(_box("in all" if now.is_over else "bottleneck", right)),
        ]
        if is_large:
            parts.append(Layout(_box("notes", _newest(view))))
        bottom.split_row(*parts)
        page = Layout()
        page.split_column(top, middle, bottom)
        return page

    def _first_charts(self, view: RunView, most: int) -> list[ChartBox]:
        found = {chart.key: chart for chart in charts(view)}
        wanted = dict.fromkeys([*FIRST_CHARTS[view.status.kind], *found])
        return [ChartBox(found[key]) for key in wanted if key in found][:most]

    def _charts(self, view: RunView, *_: Any) -> Pane:
        found = [ChartBox(chart) for chart in charts(view)]
        self.pane.inner = ChartGrid(found)
        return self.pane

    def _games(self, view: RunView, status: dict[str, Any], width: int, *_: Any) -> Panel:
        self.pane.inner = Group(*_games(view, width - 4))
        return _box("games", self.pane)

    def _notes(self, view: RunView, *_: Any) -> Panel:
        self.pane.inner = Group(*_notes(view))
        return _box("notes", self.pane)


@dataclass
class Keys:
    """The last row: the keys, the page, and which of its rows are in sight."""

    screen: Screen

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        pane, page = self.screen.pane, self.screen.page
        here = f"{PAGES[page]} {page + 1}/{len(PAGES)}"
        if pane.total > pane.height:
            last = min(pane.first + pane.height, pane.total)
            here = f"rows {pane.first + 1} to {last} of {pane.total}  {here}"
        gap = max(options.max_width - cell_len(KEYS) - len(here), 2)
        yield one_line(Text(f"{KEYS}{' ' * gap}{here}", QUIET))


@dataclass
class ChartGrid:
    """All charts, two or three beside each other."""

    boxes: list[ChartBox]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = 3 if options.max_width >= LARGE[0] else 2
        for first in range(0, len(self.boxes), columns):
            row = Layout()
            _fill(row, self.boxes[first : first + columns], columns)
            yield from console.render(row, options.update(height=CHART_ROWS))


def _fill(place: Layout, boxes: Iterable[RenderableType], columns: int) -> None:
    """Put ``boxes`` into rows of so many ``columns``."""
    found = list(boxes)
    rows = []
    for first in range(0, max(len(found), 1), columns):
        row = Layout()
        part = [Layout(box) for box in found[first : first + columns]]
        row.split_row(*part, *(Layout(Text(" ")) for _ in range(columns - len(part))))
        rows.append(row)
    place.split_column(*rows)


def _box(title: str, inner: RenderableType) -> Panel:
    return Panel(inner, title=Text(title), title_align="left", border_style=QUIET)


def _help() -> RenderableType:
    return Align.center(Panel(Text(HELP), border_style=LIVE, width=64), vertical="middle")


def one_line(text: Text) -> Text:
    """``text``, cut where the row ends."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def headline(view: RunView, width: int, is_paused: bool) -> Text:
    """Name and facts of the run on the left of a line, its state on the right."""
    now = view.status
    mark = "■" if now.is_over else "●"
    right = Text(f"{mark} {now.state}", style=f"bold {STATE_STYLE.get(now.state, QUIET)}")
    if is_paused:
        right = Text("‖ paused  ", style=f"bold {WARM}") + right
    left = Text.assemble(("vecchess ", QUIET), (view.name, "bold"))
    facts = [now.kind, now.net, now.host]
    for fact in facts:
        if fact and left.cell_len + right.cell_len + len(fact) + 4 <= width:
            left.append(f"  {fact}", style=QUIET)
    gap = max(width - left.cell_len - right.cell_len, 1)
    return one_line(Text.assemble(left, " " * gap, right))


def _activity(view: RunView, status: dict[str, Any], width: int) -> RenderableType:
    """Workers that play, figures of learning, how the run ended, or what it is about."""
    now = view.status
    if now.is_over:
        return _ending(now)
    if now.workers or now.load:
        return worker_table(status, width)
    if now.learning:
        return learning_text(status)
    words = {
        "starting": "network, kernels and workers are being prepared",
        "evaluating": "the newest network plays matches",
    }.get(now.state, now.why)
    return Text.assemble((now.state, STATE_STYLE.get(now.state, QUIET)), f"  {words}")


def _ending(now: RunStatus) -> Text:
    """Why a run is over, since when, and how to resume it."""
    text = Text.assemble((now.why, f"bold {STATE_STYLE.get(now.state, QUIET)}"))
    if now.age_s is not None and now.state not in ("gone", "unknown"):
        text.append(f"  {rounded_duration(now.age_s)} ago", style=QUIET)
    if now.resume_command:
        text.append("\n\nresume with:\n", style=QUIET).append(now.resume_command, style=LIVE)
    return text


def _bottleneck(now: RunStatus) -> Text:
    """The stage that limits the speed, and advice."""
    found = now.bottleneck
    if found.slowest == "learning":
        return Text("learning: no games are played meanwhile", style=QUIET)
    if not found.label:
        words = "no figures yet" if now.state == "playing" else "no games are played now"
        return Text(words, style=QUIET)
    return Text.assemble(
        (found.label, f"bold {GOOD if found.code == 'gpu-bound' else WARM}"),
        (f"  {found.slowest} {found.share:.0%} busy\n", QUIET),
        found.advice,
    )


def _totals(view: RunView) -> Text:
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


def _note(note: dict[str, Any]) -> Text:
    return Text.assemble((f"{format_time(note['time_unix'])} ", WARM), note["line"])


def _notes_text(now: RunStatus) -> Text:
    lines = [_note(note) for note in now.notes]
    return Text("\n").join(lines) if lines else Text("nothing out of the ordinary", style=QUIET)


def _matches(view: RunView, most: int) -> Text:
    """The newest matches for progress, the newest first."""
    lines = view.series.lines("eval")[-most:][::-1]
    return Text("\n".join(progress_match(line) for line in lines))


def _newest(view: RunView) -> RenderableType:
    """The newest matches where there are any, and notes."""
    played = _matches(view, 6)
    return Group(played, "", _notes_text(view.status)) if played else _notes_text(view.status)


def _notes(view: RunView) -> Iterator[RenderableType]:
    """Notes, matches, settings."""
    parts = [("notes", _notes_text(view.status))]
    if view.series.kinds.get("eval"):
        parts.append(("matches", _matches(view, 20)))
    settings = (f"{name} = {value}" for name, value in flat_settings(view.config).items())
    parts.append(("settings", Text("\n".join(settings))))
    for title, body in parts:
        yield Text(title, style=f"bold {LIVE}")
        yield Padding(body, (0, 0, 1, 0))


def _results(view: RunView, width: int) -> Text:
    """Results of the newest generation where there is one, else of all games."""
    now = view.status.stats if view.status.stats.games else view.stats
    if not now.games:
        return Text(_none_yet(view), style=QUIET)
    reasons = sorted(now.terminations.items(), key=lambda item: -item[1])
    ended = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in reasons)
    lengths = sparkline({int(low): count for low, count in now.lengths.items()}, LENGTH_BIN)
    return Text.assemble(
        _outcome(now, width), "\n",
        ("lengths ", QUIET), (lengths, LIVE), f"  mean {now.mean_length:.0f}\n",
        ("ended by ", QUIET), ended,
    )  # fmt: skip


def _none_yet(view: RunView) -> str:
    """Why there are no results, though games may be finished."""
    if not view.status.games:
        return "no game is finished yet"
    return f"{view.status.games:,} games are finished; results follow when they are recorded"


def _outcome(stats: GameStats, width: int) -> Text:
    """White's wins, draws, Black's wins: parts of a line, and figures."""
    parts = (("White", stats.white_wins), ("draws", stats.draws), ("Black", stats.black_wins))
    total = sum(count for _, count in parts) or 1
    bar, names, used = Text(), [], 0
    for place, (name, count) in enumerate(parts):
        cells = round(sum(p[1] for p in parts[: place + 1]) / total * width) - used
        bar.append(("█", "▒", "░")[place] * cells)
        used += cells
        figures = f" ({count:,})" if width >= 50 else ""
        names.append(f"{name} {count / total:.0%}{figures}")
    return Text.assemble(bar, "\n", "  ".join(names))


def sparkline(counts: dict[int, int], width: int) -> str:
    """A histogram, a character a bin of ``width``."""
    if not counts:
        return ""
    bins = [counts.get(low, 0) for low in range(0, max(counts) + 1, width)]
    most = max(bins) or 1
    return "".join(BARS[-(-8 * count // most)] for count in bins)


def _games(view: RunView, width: int) -> Iterator[RenderableType]:
    """All counts of the recorded games."""
    stats, room = view.stats, max(min(width - 40, 80), 8)
    if not stats.games:
        yield Text(_none_yet(view), style=QUIET)
        return
    yield Text(f"{stats.games:,} games recorded, {stats.plies:,} plies\n", "bold")
    yield Padding(_outcome(stats, min(width, 100)), (0, 0, 1, 0))
    ended = sorted(stats.terminations.items(), key=lambda item: -item[1])
    yield from _histogram("ended by", ended, room, lambda name: name.replace("_", " "))
    for title, counts, name in (
        ("length, plies", stats.lengths, lambda low: f"{low}-{int(low) + LENGTH_BIN - 1}"),
        ("time steps of a position", stats.time_steps, str),
    ):
        yield from _histogram(
            title, sorted(counts.items(), key=lambda one: int(one[0])), room, name
        )
    if stats.resign_checks:
        wrong = stats.resign_false_positives / stats.resign_checks
        yield Text(f"resigning checked in {stats.resign_checks:,} games, wrong in {wrong:.0%}")


def _histogram(
    title: str, counts: list[tuple[str, int]], width: int, name: Callable[[str], str]
) -> Iterator[Text]:
    """Counts as bars, one a line, and an empty line; nothing where nothing was counted."""
    if not counts:
        return
    yield Text(title, style=QUIET)
    total, most = sum(n for _, n in counts) or 1, max(n for _, n in counts) or 1
    for key, count in counts:
        bar = ("█" * round(count / most * width), LIVE)
        yield Text.assemble(f"{name(key):>12} ", bar, f" {count:,} ({count / total:.0%})")
    yield Text()
