"""The play page in a real browser, in front of the whole dashboard."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chess
import pytest
from playwright.sync_api import Browser, Page, Response, expect

import vecchess
from tests.dash.play.site import tiny_network
from tests.dash.serving import dashboard
from tests.monitor.runs import MadeRun

pytestmark = pytest.mark.thorough

AXE = Path(vecchess.__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PAWN_ENDING = "7k/4P3/5K2/8/8/8/8/8 w - - 0 1"
NETWORK = "first/first-s0-d0"
PATIENCE_MS, WAIT_MS = 20_000, 200_000
"""For the page; for an engine, which may have to be compiled."""
CHOSEN = f"""() => {{
    if (!sessionStorage.getItem("vecchess-play"))
        sessionStorage.setItem("vecchess-play", JSON.stringify({{ network: "{NETWORK}" }}));
}}"""
"""As if the network had been chosen before: no process is started for the default one."""
REFUSED = "the server responded with a status of 400"
"""What a browser says of engines that are not there: a move that is not legal is no such fault."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    run = MadeRun(tmp_path_factory.mktemp("runs") / "first")
    run.killed()
    tiny_network(run.run.nets / "first-s0-d0.safetensors")
    with dashboard(run.path) as (url, _):
        yield url


@contextmanager
def opened(
    browser: Browser, address: str, has_engines: bool = True, **settings: Any
) -> Iterator[Page]:
    """The play page; it must not complain of anything but refusals. Without engines nothing has
    been chosen, and what needs an engine is refused."""
    size = {"width": 1400, "height": 900}
    context = browser.new_context(**({"viewport": size, "reduced_motion": "reduce"} | settings))
    page, complaints = context.new_page(), []
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    if has_engines:
        context.add_init_script(f"({CHOSEN})()")
    else:
        refusal = {"status": 400, "json": {"error": "no engines here"}}
        page.route(re.compile("/api/play/(spikes|analyse)"), lambda it: it.fulfill(**refusal))
    page.goto(f"{address}/#/play")
    page.wait_for_selector("cg-board piece")
    expect(page.get_by_label("Network")).to_have_value(NETWORK if has_engines else "default")
    try:
        yield page
    finally:
        context.close()
    assert [line for line in complaints if has_engines or REFUSED not in line] == []


class Player:
    """A person at the board."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def click(self, square: str) -> None:
        board = self.page.locator("cg-board").bounding_box()
        assert board is not None
        side = board["width"] / 8
        file, rank = "abcdefgh".index(square[0]), int(square[1]) - 1
        if self.page.locator(".cg-wrap.orientation-black").count():
            file, rank = 7 - file, 7 - rank
        x, y = board["x"] + side * (file + 0.5), board["y"] + side * (7.5 - rank)
        self.page.mouse.click(x, y)

    def move(self, uci: str) -> None:
        self.click(uci[:2])
        self.click(uci[2:4])
        if len(uci) > 4:
            name = {"q": "queen", "r": "rook", "b": "bishop", "n": "knight"}[uci[4]]
            self.page.get_by_role("dialog").get_by_role("button", name=name).click()

    @property
    def fen(self) -> str:
        return self.page.locator(".fen").inner_text()

    def wait_for_plies(self, count: int) -> None:
        expect(self.page.locator(".move-list button")).to_have_count(count, timeout=WAIT_MS)

    def new_game(self, side: str, start: str, text: str = "") -> None:
        form = self.page.locator(".beginning")
        form.get_by_label("You play").select_option(side)
        form.get_by_label("From").select_option(start)
        if text:
            form.locator("input").fill(text)
        form.get_by_role("button", name="Start").click()


def mating_move(board: chess.Board, moves: int = 2) -> chess.Move | None:
    """A move that mates in so many at the most; None where there is none."""
    for move in board.legal_moves:
        board.push(move)
        is_mate = board.is_checkmate()
        if not is_mate and moves > 1 and any(board.legal_moves):
            replies = list(board.legal_moves)
            is_mate = all(_mates_after(board, reply, moves - 1) for reply in replies)
        board.pop()
        if is_mate:
            return move
    return None


def _mates_after(board: chess.Board, reply: chess.Move, moves: int) -> bool:
    board.push(reply)
    found = mating_move(board, moves) is not None
    board.pop()
    return found


@pytest.mark.slow
def test_a_whole_game_to_mate(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        player = Player(page)
        page.get_by_label("Strength").select_option("s16")
        player.new_game("white", "fen", PAWN_ENDING)
        expect(page.locator(".fen")).to_have_text(PAWN_ENDING)
        player.move("e7e8q")
        player.wait_for_plies(2)
        plies, status = 2, page.locator(".play-status")
        while "checkmate" not in status.inner_text():
            move = mating_move(chess.Board(player.fen))
            assert move is not None
            player.move(move.uci())
            page.locator(".move-list button").nth(plies).wait_for()
            expect(status).to_have_text(re.compile("Your move|checkmate"), timeout=WAIT_MS)
            plies = page.locator(".move-list button").count()
        expect(status).to_have_text("1-0, checkmate. You won.")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download PGN").click()
        pgn = Path(download.value.path()).read_text()
        assert '[Result "1-0"]' in pgn
        assert "1. e8=Q+ Kh7" in pgn
        page.get_by_role("button", name="Take back").click()
        player.wait_for_plies(plies - 1)
        expect(status).to_contain_text("Your move")
        page.reload()
        player.wait_for_plies(plies - 1)


def test_black_in_chess960_by_keyboard_and_resignation(browser: Browser, address: str) -> None:
    with opened(browser, address, color_scheme="dark") as page:
        player = Player(page)
        player.new_game("black", "chess960", "0")
        player.wait_for_plies(1)
        expect(page.locator(".cg-wrap.orientation-black")).to_have_count(1)
        page.get_by_placeholder("Nf3").fill("Ke4")
        page.keyboard.press("Enter")
        expect(page.locator(".typed [role=alert]")).to_contain_text("no legal move here")
        expect(page.locator(".play-status button")).to_have_count(0)
        page.get_by_placeholder("Nf3").fill("a5")
        page.keyboard.press("Enter")
        player.wait_for_plies(3)
        page.locator("h2", has_text="Spikes").click()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".move-list [aria-current]")).to_have_text("a5")
        page.keyboard.press("Home")
        expect(page.locator(".fen")).to_contain_text("bbqnnrkr/pppppppp")
        page.get_by_role("button", name="Resign").click()
        expect(page.locator(".play-status")).to_have_text("1-0, resignation. The network won.")
        form = page.locator(".beginning")
        player.new_game("white", "fen", "not a position")
        expect(form.get_by_role("alert")).to_contain_text("FEN")
        form.locator("input").fill(PAWN_ENDING)
        expect(form.get_by_role("alert")).to_have_count(0)


def test_a_resignation_ends_with_a_game_that_goes_on(browser: Browser, address: str) -> None:
    with opened(browser, address, has_engines=False) as page:
        player, status = Player(page), page.locator(".play-status")
        analyse = page.get_by_role("button", name="Analyse", exact=True)
        analyse.click()
        player.move("e2e4")
        player.wait_for_plies(1)
        page.get_by_role("button", name="Play", exact=True).click()
        page.get_by_role("button", name="Resign").click()
        expect(status).to_contain_text("0-1, resignation")
        analyse.click()
        page.reload()
        expect(status).to_contain_text("0-1, resignation")
        player.move("e7e5")
        player.wait_for_plies(2)
        expect(status).not_to_contain_text("resignation")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download PGN").click()
        assert '[Result "*"]' in Path(download.value.path()).read_text()
        page.get_by_role("button", name="Play", exact=True).click()
        page.get_by_role("button", name="Resign").click()
        expect(status).to_contain_text("resignation")
        analyse.click()
        page.get_by_placeholder("Nf3").fill("d4")
        page.keyboard.press("Enter")
        player.wait_for_plies(3)
        expect(status).not_to_contain_text("resignation")


def test_a_promotion_is_asked_for_by_a_dialog(browser: Browser, address: str) -> None:
    with opened(browser, address, has_engines=False) as page:
        player, dialog = Player(page), page.get_by_role("dialog")
        page.get_by_role("button", name="Analyse", exact=True).click()
        form = page.locator(".beginning")
        form.get_by_label("From").select_option("fen")
        form.locator("input").fill(PAWN_ENDING)
        form.get_by_role("button", name="Set up").click()
        expect(page.locator(".fen")).to_have_text(PAWN_ENDING)  # a click before it is lost
        for count, move in enumerate(("f6f7", "h8h7"), start=1):
            player.move(move)
            player.wait_for_plies(count)
        player.move("e7e8")
        expect(dialog).to_be_visible()
        page.get_by_role("button", name="Take back").click()
        player.wait_for_plies(1)
        expect(dialog).to_have_count(0)
        player.move("h8h7")
        player.wait_for_plies(2)
        page.get_by_role("button", name="Take back").focus()
        player.move("e7e8")
        names = ["queen", "rook", "bishop", "knight", "queen"]
        for name in names:
            expect(dialog.get_by_role("button", name=name)).to_be_focused()
            page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        expect(dialog.get_by_role("button", name="knight")).to_be_focused()
        page.keyboard.press("Enter")
        player.wait_for_plies(3)
        expect(page.locator(".move-list button").last).to_have_text("e8=N")
        expect(page.get_by_role("button", name="Take back")).to_be_focused()


def assert_accessible(page: Page) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make pages")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
    assert json.dumps(found["violations"], indent=1) == "[]"


def assert_whole(shares: str) -> None:
    """White 40 %, draw 31 %, Black 29 %: named, and 100 in all."""
    found = re.fullmatch(r"White (<?\d+) %, draw (<?\d+) %, Black (<?\d+) %", shares)
    assert found, shares
    assert "<" in shares or sum(map(int, found.groups())) == 100


def asked_moves(answer: Response) -> list[str] | None:
    """The moves of the position whose spikes were asked for; None for other answers."""
    is_spikes = answer.url.endswith("/api/play/spikes")
    return answer.request.post_data_json["moves"] if is_spikes else None


def test_analysis_with_spikes_on_the_board(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        player = Player(page)
        page.get_by_role("button", name="Analyse", exact=True).click()
        expect(page.locator(".lines li")).to_have_count(3, timeout=WAIT_MS)
        assert page.locator(".lines li .move").first.inner_text().startswith("1. ")
        assert_whole(page.locator(".lines li .line-chances span.muted").first.inner_text())
        for move in ("e2e4", "e7e5", "g1f3"):
            player.move(move)
            player.wait_for_plies({"e2e4": 1, "e7e5": 2, "g1f3": 3}[move])
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".move-list [aria-current]")).to_have_text("e5")
        expect(page.locator("square.move-dest")).to_have_count(0)
        expect(page.get_by_role("button", name="Move", exact=True)).to_be_enabled()
        player.move("f2f4")
        expect(page.locator(".move-list button").nth(2)).to_have_text("f4")
        player.wait_for_plies(3)
        expect(page.locator(".policy li")).to_have_count(5)
        expect(page.locator(".layers tbody tr")).to_have_count(4)
        with page.expect_response(lambda found: asked_moves(found) == ["e2e4", "e7e5"]) as answer:
            page.keyboard.press("ArrowLeft")
        seen = answer.value.json()
        page.get_by_label("Draw on the board").select_option("heads")
        page.locator(".painting select").nth(1).select_option("1")
        heads = next(layer for layer in seen["layers"] if layer["name"] == "heads")
        spiking = sum(count > max(heads["squares"][1]) / 18 for count in heads["squares"][1])
        expect(page.locator("cg-board square[class*=spike]")).to_have_count(spiking)
        cell = page.locator(".layers tr", has_text="heads").locator("td").nth(1)
        expect(cell).to_have_text(f"{100 * heads['shares'][1]:.1f}")
        page.get_by_label("Network").select_option("material")
        expect(page.locator(".spikes")).to_contain_text("has no neurons")
        assert_accessible(page)


FIRST_FRAME = """() => {
    window.squaresSeen = new Promise((seen) => {
        const look = () => seen(document.querySelectorAll("cg-board square.last-move").length);
        new MutationObserver(() => requestAnimationFrame(look))
            .observe(document.querySelector(".move-list"), { subtree: true, attributes: true });
    });
}"""


def test_board_and_list_of_moves_change_in_one_frame(browser: Browser, address: str) -> None:
    """A click right after the list has changed must not meet the board of the move before."""
    with opened(browser, address, has_engines=False) as page:
        page.get_by_role("button", name="Analyse", exact=True).click()
        player = Player(page)
        player.move("e2e4")
        player.wait_for_plies(1)
        expect(page.locator("cg-board square.last-move")).to_have_count(2)
        page.evaluate(FIRST_FRAME)
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("() => window.squaresSeen") == 0


@pytest.mark.parametrize(
    ("theme", "width"),
    [
        pytest.param("light", 1400, marks=pytest.mark.slow),
        ("dark", 390),
        pytest.param("dark", 1400, marks=pytest.mark.slow),
        pytest.param("light", 390, marks=pytest.mark.slow),
    ],
)
def test_it_passes_axe_in_both_themes_and_on_a_phone(
    browser: Browser, address: str, theme: Any, width: int
) -> None:
    size = {"width": width, "height": 844}
    with opened(browser, address, color_scheme=theme, viewport=size) as page:
        page.get_by_role("button", name="Analyse", exact=True).click()
        expect(page.locator(".lines li")).to_have_count(3, timeout=WAIT_MS)
        page.get_by_role("button", name="Pause").click()
        page.locator(".layers td").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert_accessible(page)
