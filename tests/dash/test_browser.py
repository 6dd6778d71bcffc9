"""The pages in a real browser, over a run that is being played and others that are made up."""

import json
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dash.serving import dashboard
from tests.dash.showcase import Showcase
from tests.dash.site import small_run
from tests.export.made import played
from tests.monitor.runs import MadeRun, match, selfplay_run, training_run
from tests.system.commands import start
from vecchess.dash.web.assets import FOLDER
from vecchess.store.stats import GameStats

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = {
    "runs": "#/",
    "boards": "#/run/selfplay/boards",
    "game": "#/run/selfplay/game/3",
    "games": "#/run/selfplay/games",
    "throughput": "#/run/selfplay/throughput",
    "training": "#/run/gumbel-small/training",
    "strength": "#/run/gumbel-small/strength",
    "results": "#/run/gumbel-small/results",
    "compare": "#/compare?runs=gumbel-small,ppo-baseline&x=iteration",
    "lost": "#/run/nothing/boards",
}
PIECES = "Array.from(document.querySelectorAll('.tile'), t => t.textContent).join()"

pytestmark = pytest.mark.skipif(
    not (FOLDER / "index.html").is_file(), reason="the pages are not built: make pages"
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    with Showcase(folder), dashboard(folder) as (address, _):
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a reader; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    found = context.new_page()
    complaints: list[str] = []
    found.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.set_default_timeout(15_000)
    yield found
    context.close()
    assert complaints == []


def ready(page: Page) -> None:
    """Wait until a page shows what it has to show."""
    page.wait_for_selector("main :is(h1, h2)")
    expect(page.locator("main p.muted", has_text="Reading")).to_have_count(0)


def until_changed(page: Page, before: str) -> None:
    """Wait until the boards show something else."""
    for _ in range(75):
        if page.evaluate(PIECES) != before:
            return
        page.wait_for_timeout(200)
    raise AssertionError("the boards stand still")


def until_said(page: Page, state: str) -> None:
    """Let time pass until the first run is told to be in ``state``."""
    for _ in range(25):
        if state in page.get_by_role("row", name="state").first.inner_text():
            return
        page.clock.fast_forward(30_000)
        page.wait_for_timeout(200)
    raise AssertionError(f"no facts say {state}")


def faults(page: Page, *rules: str) -> list[str]:
    """What axe-core finds by these rules: contrast, names, roles, ..."""
    found: dict[str, Any] = page.evaluate(
        "rules => axe.run(document, {resultTypes: ['violations'], runOnly: rules})", rules
    )
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"][:3]
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_and_can_be_read_by_all_on_phones_too(
    page: Page, url: str, name: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}/{PAGES[name]}")
    ready(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, "a phone needs no scrolling sideways"
    if name == "boards":
        box = page.locator(".tile").first.bounding_box()
        assert box is not None
        assert box["y"] < 240, "the head leaves a phone room for boards"
    page.set_viewport_size({"width": 1280, "height": 800})
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make pages")
    page.evaluate(AXE.read_text())  # the policy of the pages lets no script in, but this one
    assert faults(page, "wcag2a", "wcag2aa") == []
    page.get_by_role("button", name="Dark colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert faults(page, "color-contrast") == []


@pytest.mark.thorough
def test_boards_move_by_themselves_and_open_by_the_keyboard(page: Page, url: str) -> None:
    page.goto(f"{url}/{PAGES['boards']}")
    expect(page.locator(".tile")).to_have_count(16)
    expect(page.locator(".tile piece").first).to_be_attached()
    before = page.evaluate(PIECES)
    until_changed(page, before)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".tile")).to_have_count(32)
    page.locator(".tile a").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile(r"Game \d+"))).to_be_visible()
    expect(page.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "true")


def test_a_recorded_game_is_gone_through_by_arrow_keys(page: Page, url: str) -> None:
    page.goto(f"{url}/{PAGES['results']}")
    ready(page)
    page.get_by_label("Game").fill("2")
    page.get_by_role("button", name="Open").click()
    ply = page.locator(".controls .figures")
    expect(ply).to_have_text(re.compile(r"ply 0 of \d+"))
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(ply).to_have_text(re.compile(r"ply 4 of"))
    expect(page.locator(".move[aria-current]")).to_have_count(1)
    expect(page.locator("square.last-move")).to_have_count(2)
    page.keyboard.press("End")
    expect(ply).to_have_text(re.compile(r"ply (\d+) of \1$"))
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", name="Game 3")).to_be_visible()


def test_recorded_games_are_listed_filtered_and_opened(page: Page, url: str) -> None:
    page.goto(f"{url}/{PAGES['games']}")
    rows = page.locator(".game-list tbody tr")
    expect(rows).to_have_count(50)
    numbers = rows.locator("a").all_inner_texts()
    page.get_by_role("link", name="Next").click()
    expect(rows.locator("a").first).not_to_have_text(numbers[0])
    assert not set(numbers) & set(rows.locator("a").all_inner_texts())
    page.get_by_label("Ending").select_option("checkmate")
    page.get_by_label("Order").select_option("shortest")
    expect(rows.locator("td:nth-child(3)").first).to_have_text("checkmate")
    expect(page.get_by_text("1 to ")).to_be_visible()
    assert set(rows.locator("td:nth-child(3)").all_inner_texts()) == {"checkmate"}
    plies = [int(text) for text in rows.locator("td:nth-child(4)").all_inner_texts()]
    assert plies == sorted(plies)
    number = rows.locator("a").first.inner_text()
    rows.first.locator("td").first.click()
    expect(page.get_by_role("heading", name=f"Game {number}", exact=True)).to_be_visible()
    ply = page.locator(".controls .figures")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(ply).to_have_text(re.compile("ply 5 of"))
    shown = page.locator(".game-facts p.figures").inner_text()
    value = page.locator(".game-chart .legend b").inner_text()
    assert f"White {value}" in shown, "the chart's figure is that of the ply on the board"


@pytest.mark.thorough
def test_self_play_is_compared_by_time_and_rated_by_a_whole_command(
    page: Page, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        small_run(tmp_path / name, lines=20)
    net = tmp_path / "one" / "nets" / "tiny.safetensors"
    net.parent.mkdir(exist_ok=True)
    net.touch()
    with dashboard(tmp_path) as (address, _):
        page.goto(f"{address}/#/compare")
        expect(page.locator(".charts .x-name").first).to_have_text("seconds")
        expect(page.get_by_role("group", name="Draw by")).to_have_count(0)
        page.goto(f"{address}/#/run/one/strength")
        command = f"vecchess eval {net}"
        expect(page.locator(".empty pre")).to_have_text(command)
        page.goto("about:blank")


def test_a_run_that_is_over_shows_last_positions_in_full_rows(page: Page, url: str) -> None:
    for width, columns in ((390, 2), (800, 4), (1280, 8)):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{url}/#/run/ppo-baseline/boards")
        expect(page.locator(".tile")).to_have_count(16)
        tops = page.evaluate(
            "Array.from(document.querySelectorAll('.tile'), t => t.getBoundingClientRect().top)"
        )
        assert [tops.count(top) for top in sorted(set(tops))] == [columns] * (16 // columns)
    expect(page.locator("main p").filter(has_text="newest 16 of its")).to_be_visible()
    page.goto(f"{url}/#/run/ppo-baseline/results")
    expect(page.locator(".histogram .y-axis").first).to_have_text(re.compile(r"^\d+ %[\d.]+ %0 %$"))


def test_where_every_position_was_searched_no_time_steps_are_drawn(
    page: Page, tmp_path: Path
) -> None:
    records = replace(played(), steps=np.zeros_like(played().steps))
    made = MadeRun(tmp_path / "searched")
    made.record(records)
    made.status(stats=GameStats.of(records).to_dict())
    with dashboard(tmp_path) as (address, _):
        page.goto(f"{address}/#/run/searched/results")
        expect(page.locator(".histogram h3")).to_have_text(["Length of games"])
        page.goto("about:blank")


def test_compare_begins_with_two_runs_of_one_kind(page: Page, url: str) -> None:
    page.goto(f"{url}/#/compare")
    expect(page.locator(".charts figure").first).to_be_visible()
    chosen = page.locator(".chooser label:has(input:checked)").all_inner_texts()
    assert sorted(chosen) == ["gumbel-small", "ppo-baseline"]


def test_the_theme_that_was_chosen_is_remembered(page: Page, url: str) -> None:
    page.goto(f"{url}/#/")
    page.get_by_role("button", name="Dark colours").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Light colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_a_heat_map_is_read_by_arrow_keys(page: Page, url: str) -> None:
    page.goto(f"{url}/{PAGES['training']}")
    page.locator(".heat canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".heat-said")).to_contain_text("block 0, second, iteration 40")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".heat-said")).to_contain_text(re.compile(r"\d %$"))


@pytest.mark.thorough
def test_an_open_page_shows_every_match_that_a_run_writes(page: Page, tmp_path: Path) -> None:
    made = training_run(tmp_path / "live", 1, 3)
    with dashboard(tmp_path) as (address, _):
        page.goto(f"{address}/#/run/live/strength")
        rows = page.get_by_role("region", name="Matches").locator("tbody tr")
        expect(rows).to_have_count(2)
        for score in (0.1, 0.2, 0.3, 0.4):
            made.measure("eval", 2, 9, **match("a burst", score))
        expect(rows).to_have_count(6)
        made.measure("eval", 3, 9, **match("the last", 0.5))
        made.status(state="done")
        expect(rows).to_have_count(7)
        expect(rows.first).to_contain_text("the last")
        (made.path / "eval").mkdir()
        curve = [{"player": "a", "samples": n, "elo": n} for n in (1, 2)]
        (made.path / "eval" / "history.json").write_text(json.dumps({"curve": curve}))
        expect(page.get_by_role("heading", name="Elo of the run's networks")).to_be_visible()
        page.goto("about:blank")


@pytest.mark.thorough
def test_facts_and_curves_follow_the_run(page: Page, tmp_path: Path) -> None:
    made = small_run(tmp_path / "one", lines=20)
    small_run(tmp_path / "two", lines=20)
    page.clock.install()
    with dashboard(tmp_path) as (address, _):
        page.goto(f"{address}/#/run/one/facts")
        state = page.get_by_role("row", name="state")
        expect(state).to_contain_text("playing, 3% of this stage")
        made.status(games=2048)
        expect(page.locator(".run-head")).to_contain_text("2,048")
        until_said(page, "playing, 50% of this stage")
        made.status(state="done")
        expect(state).to_contain_text("all done")
        made.status(games=1024)
        page.goto(f"{address}/#/compare?runs=one,two")
        expect(page.locator(".charts figure").first).to_be_visible()
        until_said(page, "playing, 25% of this stage")
        made.status(games=2048)
        until_said(page, "playing, 50% of this stage")
        with page.expect_response(re.compile("/one/series/load")):
            page.clock.fast_forward(30_000)
        page.goto("about:blank")


@pytest.mark.thorough
def test_a_game_that_the_run_left_unfinished_is_not_being_played(
    browser: Browser, tmp_path: Path
) -> None:
    made = selfplay_run(tmp_path / "one")
    page = browser.new_page()  # it asks for a record, and hears that there is none
    with dashboard(tmp_path) as (address, _):
        page.goto(f"{address}/#/run/one/game/100")
        said, live = page.locator(".game-facts p.figures"), page.get_by_role("button", name="Live")
        expect(said).to_contain_text("being played")
        expect(live).to_be_visible()
        made.status(state="stopped", why="SIGINT")
        expect(said).to_contain_text("not finished: the run is over")
        expect(live).to_have_count(0)
        page.close()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("#/run/selfplay/game/abc", "No such game"),
        ("#/run/selfplay/game/-1", "No such game"),
        ("#/run/selfplay/game/1234567890123456", "No such game"),
        ("#/run/a%20b/boards", "This run cannot be shown"),
    ],
)
def test_an_odd_address_does_not_end_the_stream(
    page: Page, url: str, address: str, said: str
) -> None:
    asked: list[int] = []
    page.on("response", lambda got: "/api/events" in got.url and asked.append(got.status))
    page.goto(f"{url}/{address}")
    expect(page.get_by_role("heading", name=said)).to_be_visible()
    page.goto(f"{url}/#/")
    expect(page.locator(".run-card").first).to_be_visible()
    assert set(asked) == {200}


@pytest.mark.thorough
def test_a_lost_server_is_named_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    made = small_run(tmp_path / "run").path
    context = browser.new_context()
    page = context.new_page()
    with dashboard(made) as (url, _):
        page.goto(f"{url}/#/")
        ready(page)
    expect(page.locator(".lost")).to_contain_text("cannot be reached", timeout=15_000)
    port = url.rpartition(":")[2]
    with dashboard(made, flags=("--port", port)):
        expect(page.locator(".lost")).to_have_count(0, timeout=20_000)
    context.close()


@pytest.mark.thorough
def test_the_token_opens_the_page_and_leaves_the_address(page: Page, tmp_path: Path) -> None:
    small_run(tmp_path / "one")
    with dashboard(tmp_path, flags=("--token", "a-secret")) as (address, _):
        assert address.endswith("/?token=a-secret")
        page.goto(address)
        expect(page.locator(".run-card")).to_have_count(1)
        assert "secret" not in page.url
        page.reload()
        expect(page.locator(".run-card")).to_have_count(1)
        page.goto("about:blank")


@pytest.mark.slow
def test_a_self_play_is_watched_as_it_goes_on(page: Page, tmp_path: Path) -> None:
    run = tmp_path / "real"
    flags = ["--net", "tiny", "--gpus", "cpu", "--games", 10**6, "--concurrent-games", 32]
    flags += ["--movers", 1, "--threads", 1]
    process = start("selfplay", "--run-dir", run, *flags, "--dash", "--dash-port", 0)
    try:
        line = next(line for line in process.stderr if "dashboard: " in line)
        page.goto(line.split()[-1])
        expect(page.locator(".tile")).to_have_count(16, timeout=200_000)
        before = page.evaluate(PIECES)
        until_changed(page, before)
        expect(page.locator(".state")).to_contain_text("playing")
    finally:
        page.goto("about:blank")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
