"""The full screen: pages of panels that follow a run."""

import asyncio
import signal
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from vecchess.monitor.charts import charts
from vecchess.monitor.run_view import RunView
from vecchess.watch import game_panels, panels, worker_table
from vecchess.watch.chart_box import ChartBox
from vecchess.watch.follow import RunFollower

REFRESH_S = 1.0
LARGE = (120, 36)
"""From this size on (columns, rows) one page shows nearly all."""
NUM_SMALL, NUM_PLOTS = 6, 15
PAGES = ("overview", "charts", "games", "notes")
FIRST_CHARTS = {
    "train": ("loss", "spikes", "score", "elo", "speed", "results", "top1", "batches"),
    "selfplay": ("speed", "batches", "steps", "searches", "gpu", "power"),
}
"""What the overview shows, as far as there is room and figures."""
KEYS = "q quit  tab page  ↑ ↓ scroll  p pause  ? help"
HELP = """[b]vecchess watch[/b] reads a run and changes nothing.

tab, shift+tab    overview, charts, games, notes
↑ ↓, page up ...  scroll
p                 pause, and resume
q                 quit; the run goes on
ctrl+c            quit, exit code 130
?                 this help; any key closes it

[b]steps[/b]  time steps of the network for a position
[b]fill[/b]   slots of the network that are occupied
[b]net[/b]    share of the time in which the network is computed
[b]mov[/b]    share of the time in which moves are made

The busier of the two limits the speed. Where neither is
busy, each waits for the other: starved.

Results, lengths and time steps are of recorded games:
games are recorded every half a minute."""
INTERRUPTED = 130


class HelpScreen(ModalScreen[None]):
    """The meaning of keys and columns, above the page."""

    def compose(self) -> ComposeResult:
        """One box."""
        with Container(id="help"):
            yield Static(HELP, id="help-box")

    def on_key(self, event: events.Key) -> None:
        """Any key closes it."""
        event.stop()
        self.dismiss()


class WatchApp(App[int]):
    """Follows a run until the user quits."""

    CSS_PATH = "watch.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "vecchess watch"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "quit"),
        Binding("ctrl+c", "interrupt", priority=True),
        Binding("tab", "page(1)", priority=True),
        Binding("shift+tab", "page(-1)", priority=True),
        Binding("p", "pause"),
        Binding("question_mark", "help"),
        Binding("up", "scroll('up')"),
        Binding("down", "scroll('down')"),
        Binding("pageup", "scroll('page_up')"),
        Binding("pagedown", "scroll('page_down')"),
        Binding("home", "scroll('home')"),
        Binding("end", "scroll('end')"),
    ]

    def __init__(self, follower: RunFollower, no_color: bool = False) -> None:
        """``no_color``: no colours at all, only bold and frames."""
        super().__init__(ansi_color=True if no_color else None)
        self._follower = follower
        self._is_paused = False

    def compose(self) -> ComposeResult:
        """Headline, progress, pages, the newest note, keys."""
        yield Static(id="headline")
        yield Static(id="progress")
        with ContentSwitcher(initial="waiting", id="pages"):
            yield Static(id="waiting")
            yield from self._overview()
            with VerticalScroll(id="charts", can_focus=False), Container(id="all-charts"):
                for _ in range(NUM_PLOTS):
                    yield ChartBox(classes="box")
            with VerticalScroll(id="games", classes="box", can_focus=False):
                yield Static(id="games-text")
            with VerticalScroll(id="notes", classes="box", can_focus=False):
                yield Static(id="notes-text")
        yield Static(id="note")
        yield Static(KEYS, id="keys")

    def _overview(self) -> ComposeResult:
        with Vertical(id="overview"):
            with VerticalScroll(id="workers", classes="box", can_focus=False):
                yield Static(id="workers-text")
            with Container(id="small-charts"):
                for place in range(NUM_SMALL):
                    yield ChartBox(classes="box extra" if place >= 2 else "box")
            with Horizontal(id="bottom"):
                yield Static(id="results", classes="box")
                yield Static(id="bottleneck", classes="box")
                with VerticalScroll(id="notes-box", classes="box", can_focus=False):
                    yield Static(id="notes-short")

    def on_mount(self) -> None:
        """Title the boxes, then follow the run."""
        for name in ("workers", "results", "bottleneck", "games", "notes"):
            self.query_one(f"#{name}").border_title = name
        self.query_one("#notes-box").border_title = "notes"
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.exit, 128 + number)
        self.set_interval(REFRESH_S, self._tick)
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout that fits the size."""
        is_large = event.size.width >= LARGE[0] and event.size.height >= LARGE[1]
        self.screen_stack[0].set_class(is_large, "large")
        self.call_after_refresh(self._draw)

    def action_leave(self) -> None:
        """Quit; the run goes on."""
        self.exit(0)

    def action_interrupt(self) -> None:
        """Quit with the exit code of an interrupted program."""
        self.exit(INTERRUPTED)

    def action_pause(self) -> None:
        """Freeze the screen, or resume."""
        self._is_paused = not self._is_paused
        self._tick()
        self._draw()

    def action_help(self) -> None:
        """Show what the keys do."""
        self.push_screen(HelpScreen())

    def action_page(self, step: int) -> None:
        """Turn to the page ``step`` further."""
        switcher = self.query_one("#pages", ContentSwitcher)
        if switcher.current in PAGES:
            switcher.current = PAGES[(PAGES.index(switcher.current) + step) % len(PAGES)]
            self._draw()

    def action_scroll(self, way: str) -> None:
        """Scroll this page's pane ``way``: "up", "page_down", "home", ..."""
        pane = self._scrolled()
        if way in ("home", "end"):
            getattr(pane, f"scroll_{way}")(animate=False, immediate=True)
        else:
            rows = 1 if way in ("up", "down") else max(pane.size.height - 1, 1)
            step = rows if way.endswith("down") else -rows
            pane.scroll_relative(y=step, animate=False, immediate=True)
        self._show_position()

    def _scrolled(self) -> Widget:
        """The pane of this page that scrolls."""
        page = self.query_one("#pages", ContentSwitcher).current
        return self.query_one("#workers" if page == "overview" else f"#{page}")

    def _show_position(self) -> None:
        """Write name and number of the page, and the rows in sight of those there are."""
        page = self.query_one("#pages", ContentSwitcher).current
        if page not in PAGES:
            return
        pane = self._scrolled()
        rows, height = pane.virtual_size.height, pane.scrollable_content_region.height
        first = round(pane.scroll_y) + 1
        here = f"{page} {PAGES.index(page) + 1}/{len(PAGES)}"
        if rows > height:
            here = f"rows {first} to {min(first + height - 1, rows)} of {rows}  {here}"
        gap = max(self.size.width - 2 - cell_len(KEYS) - len(here), 2)
        self.query_one("#keys", Static).update(f"{KEYS}{' ' * gap}{here}")

    def _tick(self) -> None:
        if not self._is_paused:
            self._follower.refresh()
            self._draw()

    def _draw(self) -> None:
        """Bring the page that is seen up to date."""
        view, width = self._follower.view, self.size.width - 2
        if view is None:
            self.query_one("#headline", Static).update("vecchess")
            text = f"no run in {self._follower.runs} yet\n\nit appears here as soon as one begins"
            self.query_one("#waiting", Static).update(text)
            return
        switcher = self.query_one("#pages", ContentSwitcher)
        if switcher.current == "waiting":
            switcher.current = "overview"
        self.query_one("#headline", Static).update(panels.headline(view, width, self._is_paused))
        self.query_one("#progress", Static).update(panels.progress(view.status, width))
        self.query_one("#note", Static).update(panels.newest_note(view.status))
        self.screen_stack[0].set_class(bool(view.status.notes), "noted")
        getattr(self, f"_draw_{switcher.current}")(view)
        self.call_after_refresh(self._show_position)

    def _draw_overview(self, view: RunView) -> None:
        now = view.status
        pane = self.query_one("#workers")
        text = self.query_one("#workers-text", Static)
        if now.is_over:
            text.update(panels.ending(now))
        elif now.workers or now.load:
            text.update(worker_table.workers(now, pane.size.width))
        else:
            text.update(panels.learning(now) if now.learning else panels.waiting(now))
        pane.border_title = "over" if now.is_over else "workers"
        self._draw_small_charts(view)
        results = self.query_one("#results", Static)
        results.update(game_panels.results(view, max(results.content_size.width, 10)))
        side = self.query_one("#bottleneck", Static)
        side.update(panels.totals(view) if now.is_over else panels.bottleneck(now))
        side.border_title = "in all" if now.is_over else "bottleneck"
        self.query_one("#notes-short", Static).update(panels.notes_short(view))

    def _draw_small_charts(self, view: RunView) -> None:
        found = {chart.key: chart for chart in charts(view)}
        wanted = [*FIRST_CHARTS[view.status.kind], *found]
        chosen = [found[key] for key in dict.fromkeys(wanted) if key in found]
        for place, box in enumerate(self.query("#small-charts ChartBox").results(ChartBox)):
            box.show(chosen[place] if place < len(chosen) else None)

    def _draw_charts(self, view: RunView) -> None:
        found = charts(view)
        for place, box in enumerate(self.query("#all-charts ChartBox").results(ChartBox)):
            box.display = place < len(found)
            box.show(found[place] if place < len(found) else None)

    def _draw_games(self, view: RunView) -> None:
        pane = self.query_one("#games")
        self.query_one("#games-text", Static).update(
            game_panels.games_page(view, pane.size.width - 4)
        )

    def _draw_notes(self, view: RunView) -> None:
        self.query_one("#notes-text", Static).update(panels.notes_page(view))
