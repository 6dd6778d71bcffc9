r"""Takes pictures of the dashboard's pages, in light and dark, for a desk and a phone.

    python -m bench.dash_pictures PLAYING TRAINING [OTHER ...] --out docs/images

PLAYING: a self-play in progress. TRAINING: a training that has learnt for ten minutes or more, so
that losses fall and scores rise, and OTHER one to compare it with; on one core:

    vecchess train --net tiny --iterations 60 --positions-per-iter 4800 --max-plies 160 --lr 0.003 \
        --batch-size 128 --eval-every 3 --eval-games 40 --run-dir TRAINING

    python -m bench.dash_pictures --page PAGE      of a folder that `vecchess export web` wrote

Needs Chromium and Pillow. Each picture is kept below 200 kB.
"""

import argparse
import io
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from tests.browser.test_page import served
from tests.dash.serving import CHROMIUM_FLAGS, dashboard, find_chromium

SIZES = {"desk": (1440, 900), "phone": (390, 844)}
SETTLE_MS = 1500
START_MS = 120_000
"""An engine may have to be compiled."""
COLOURS = 256
MOST_BYTES = 195_000
STEPS = 20
"""Plies that a recorded game is gone through."""
MOVES = ("e4", "e5", "Nf3", "Nc6", "Bb5")
"""Played on the page where a network is asked."""


def pages_of(playing: str, training: str, others: list[str]) -> dict[str, str]:
    """Names of pictures and the addresses they are taken at."""
    compared = ",".join([training, *others])
    return {
        "runs": "#/",
        "boards": f"#/run/{playing}/boards",
        "game": f"#/run/{playing}/game/3",
        "throughput": f"#/run/{playing}/throughput",
        "training": f"#/run/{training}/training",
        "strength": f"#/run/{training}/strength",
        "results": f"#/run/{playing}/results",
        "compare": f"#/compare?runs={compared}&x=iteration",
        "play": "#/play",
    }


def take(browser: Browser, url: str, path: str, theme: Any, size: tuple[int, int]) -> bytes:
    """A picture of one page, as high as the page is, up to two screens."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,
        device_scale_factor=2 if width < 600 else 1,
    )
    page = context.new_page()
    page.set_default_timeout(START_MS)
    page.goto(f"{url}/{path}")
    page.wait_for_selector("main h1, main h2", state="attached")
    if "/game/" in path:
        page.locator(".moves button").first.wait_for()
        for _ in range(STEPS):
            page.keyboard.press("ArrowRight")
    if path == "#/play":
        ask(page)
    page.wait_for_timeout(SETTLE_MS)
    whole = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(max(whole, height), 2 * height)})
    page.wait_for_timeout(SETTLE_MS // 3)
    shot = page.screenshot()
    context.close()
    return shot


def ask(page: Page) -> None:
    """Let the newest network analyse a position, its spikes on the board."""
    page.get_by_role("button", name="Analyse", exact=True).click()
    for ply, move in enumerate(MOVES):
        page.get_by_placeholder("Nf3").fill(move)
        page.keyboard.press("Enter")
        page.locator(".move-list button").nth(ply).wait_for()
    page.locator(".lines li").nth(2).wait_for()
    page.locator(".layers td").first.wait_for()
    page.get_by_label("Draw on the board").select_option("heads")
    page.evaluate("scrollTo(0, 0)")


def small_png(data: bytes) -> bytes:
    """The same picture, with a palette where it would be too large without."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    few = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    for version in (image, few):
        out = io.BytesIO()
        version.save(out, "PNG", optimize=True)
        if out.tell() < MOST_BYTES:
            break
    return out.getvalue()


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="*", help="PLAYING TRAINING [OTHER ...]: folders")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", nargs="*", help="names of pages")
    parser.add_argument("--themes", nargs="*", default=["light", "dark"])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES))
    parser.add_argument("--page", type=Path, help="a page with its own engine, and no runs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.page:
        pages, prefix = {"play": "#/play"}, "web"
        serving: Any = served(options.page)
    else:
        playing, training, *others = [run.name for run in options.runs]
        pages, prefix = pages_of(playing, training, others), "dash"
        serving = dashboard(*options.runs)
    with serving as opened, sync_playwright() as driver:
        url = opened if options.page else opened[0]
        browser = driver.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        for name, path in pages.items():
            if options.only and name not in options.only:
                continue
            for theme in options.themes:
                for size in options.sizes:
                    file = options.out / f"{prefix}-{name}-{size}-{theme}.png"
                    file.write_bytes(small_png(take(browser, url, path, theme, SIZES[size])))
                    print(f"{file} {file.stat().st_size // 1000} kB")
        browser.close()


if __name__ == "__main__":
    main()
