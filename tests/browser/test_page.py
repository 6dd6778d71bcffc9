"""The page that ``vecchess export web`` writes, in a real browser, from a plain server of files."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import chess
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.engine import played_run, require_engine
from vecchess.browser.export_web import export_web
from vecchess.config import DEFAULT_NET, SelfplayConfig, build
from vecchess.dash.web.assets import check_built
from vecchess.errors import ConfigError, NetworkError
from vecchess.snn.create import create_sized
from vecchess.snn.integer.net_file import save_net
from vecchess.snn.presets import NetConfig

pytestmark = pytest.mark.thorough

MOST_BYTES = 2_000_000
PATIENCE_MS = 60_000


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_engine()
    check_built()
    # below another folder: the page has to work from any path
    out = tmp_path_factory.mktemp("pages") / "chess"
    facts = export_web(DEFAULT_NET, DEFAULT_NET, out, build(SelfplayConfig, {}))
    assert facts["bytes"] < MOST_BYTES
    return out


@contextmanager
def opened(browser: Browser, address: str, **settings: object) -> Iterator[Page]:
    context = browser.new_context(**({"reduced_motion": "reduce"} | settings))  # type: ignore[arg-type]
    page, complaints = context.new_page(), list[str]()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(f"{address}/chess/")
    page.wait_for_selector("cg-board piece")
    try:
        yield page
    finally:
        context.close()
    assert complaints == []


def play(page: Page, typed: str) -> None:
    page.get_by_placeholder(re.compile("Nf3")).fill(typed)
    page.get_by_role("button", name="Move", exact=True).click()


@pytest.mark.parametrize("width", [1400, 390])
def test_a_game_an_analysis_and_spikes(browser: Browser, folder: Path, width: int) -> None:
    size = {"width": width, "height": 844}
    with served(folder.parent) as address, opened(browser, address, viewport=size) as page:
        moves = page.get_by_label("Moves", exact=True)
        for ply, typed in enumerate(("e4", "d3"), start=1):
            play(page, typed)
            expect(moves.get_by_role("button", name=re.compile(r"^\S+$"))).to_have_count(
                2 * ply + 1
            )
        expect(page.get_by_label("Spikes", exact=True)).to_contain_text("block0.first")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_label("Strength").select_option("s0")
        play(page, "Nf3")
        expect(moves).to_contain_text("Nf3")
        page.get_by_role("button", name="Analyse").click()
        lines = page.get_by_label("Analysis")
        expect(lines).to_contain_text(re.compile(r"\d simulations, depth \d+, [\d,]+ a second"))
        play(page, "Nf6" if "Nf6" in _legal(page) else _legal(page)[0])
        page.wait_for_timeout(1000)  # the search goes on
        choices = page.locator(".policy button").all_inner_texts()
        assert set(choices) <= set(_legal(page))
        assert page.get_by_role("link", name="Runs").count() == 0


def _legal(page: Page) -> list[str]:
    """The moves in the position on the board."""
    board = chess.Board(page.locator(".fen").inner_text())
    return [board.san(move) for move in board.legal_moves]


def _kept_page(context: BrowserContext, address: str) -> Page:
    """The page once its service worker has its files."""
    page = context.new_page()
    page.goto(f"{address}/chess/")
    page.wait_for_selector("cg-board piece")
    page.evaluate("navigator.serviceWorker.ready.then(() => 0)")
    page.reload()
    page.wait_for_selector("cg-board piece")
    return page


def test_it_opens_without_a_network(browser: Browser, folder: Path) -> None:
    with served(folder.parent) as address:
        context = browser.new_context()
        page = _kept_page(context, address)
    page.reload()  # nobody serves any more
    page.wait_for_selector("cg-board piece")
    play(page, "d4")
    expect(page.get_by_label("Moves", exact=True)).to_contain_text("d4")
    context.close()


def test_who_comes_back_gets_the_page_of_a_later_export(
    browser: Browser, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "chess")
    with served(tmp_path) as address:
        context = browser.new_context()
        page = _kept_page(context, address)
        assert page.evaluate("navigator.serviceWorker.controller !== null")
        index = tmp_path / "chess" / "index.html"
        index.write_text(index.read_text().replace("</head>", "<meta name=later></head>"))
        os.utime(index, (2e9, 2e9))  # servers tell times in seconds
        page.reload()
        page.wait_for_selector("cg-board piece")
        expect(page.locator("meta[name=later]")).to_be_attached()
        context.close()


def test_recorded_games_are_dropped_and_played_again(
    browser: Browser, folder: Path, tmp_path: Path
) -> None:
    run = played_run(tmp_path, "policy", DEFAULT_NET)
    (shard,) = run.glob("games/*.npz")
    with served(folder.parent) as address, opened(browser, address) as page:
        replay = page.get_by_label("Replay", exact=True)
        for file in (shard, run / "games.pgn"):
            replay.locator("input").set_input_files(file)
            expect(replay).to_contain_text("3 of 3 games")
            expect(replay).to_contain_text("every bit as recorded")
        other = tmp_path / "other.txt"
        other.write_text("no game")
        replay.locator("input").set_input_files(other)
        expect(replay).to_contain_text("no bits")


def test_what_a_page_cannot_do_is_refused(tmp_path: Path) -> None:
    require_engine()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    config = build(SelfplayConfig, {})
    with pytest.raises(ConfigError, match="is there already"):
        export_web(DEFAULT_NET, DEFAULT_NET, tmp_path / "full", config)
    with pytest.raises(NetworkError, match="no network file"):
        export_web("missing", "missing", tmp_path / "page", config)
    sizes = {"neuron": "relu", "blocks": 1, "channels": 32, "time_steps": 1, "num_planes": 25}
    save_net(create_sized(NetConfig.model_validate(sizes), 0), tmp_path / "relu.safetensors")
    with pytest.raises(NetworkError, match="spiking networks"):
        export_web(tmp_path / "relu.safetensors", "relu", tmp_path / "page", config)
    assert not (tmp_path / "page").exists()
