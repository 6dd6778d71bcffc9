"""Pictures of the dashboard's pages, light and dark, on a desk and on a phone.

    python bench/dash_pictures.py --out docs/images [--runs FOLDER]

Without --runs it shows made-up measurements and real games (tests/dash/showcase.py). Needs Chromium
and Pillow. Each is kept below 200 kB.
"""

import argparse
import io
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.dash.serving import CHROMIUM_FLAGS, dashboard, find_chromium
from tests.dash.showcase import Showcase

SIZES = {"desk": (1440, 900), "phone": (390, 844)}
SETTLE_MS = 1500
COLOURS = 256
MOST_BYTES = 195_000


def pages_of(busy: str, training: str, others: list[str]) -> dict[str, str]:
    """Names of pictures and the addresses they are taken at."""
    compared = ",".join([training, *others])
    return {
        "runs": "#/",
        "boards": f"#/run/{busy}/boards",
        "game": f"#/run/{busy}/game/3",
        "throughput": f"#/run/{busy}/throughput",
        "training": f"#/run/{training}/training",
        "strength": f"#/run/{training}/strength",
        "results": f"#/run/{busy}/results",
        "compare": f"#/compare?runs={compared}&x=iteration",
    }


def take(browser: Browser, url: str, path: str, theme: Any, size: tuple[int, int]) -> bytes:
    """A picture of one page, as high as the page is, up to three screens."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,
        device_scale_factor=2 if width < 600 else 1,
    )
    page = context.new_page()
    page.goto(f"{url}/{path}")
    page.wait_for_selector("main h1, main h2")
    if "/game/" in path:
        for _ in range(20):
            page.keyboard.press("ArrowRight")
    page.wait_for_timeout(SETTLE_MS)
    whole = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(max(whole, height), 2 * height)})
    page.wait_for_timeout(SETTLE_MS // 3)
    shot = page.screenshot()
    context.close()
    return shot


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
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--runs", type=Path, nargs="+", help="BUSY TRAINING OTHER...: run folders")
    parser.add_argument("--only", nargs="*", help="names of pages")
    parser.add_argument("--themes", nargs="*", default=["light", "dark"])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        show = nullcontext() if options.runs else Showcase(Path(folder))
        places = options.runs or [Path(folder)]
        names = [run.name for run in options.runs or []] or ["selfplay-h200", "gumbel-small", "ppo-baseline"]
        with show, dashboard(*places) as (url, _), sync_playwright() as play:
            browser = play.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
            for name, path in pages_of(names[0], names[1], names[2:]).items():
                if options.only and name not in options.only:
                    continue
                for theme in options.themes:
                    for place in options.sizes:
                        file = options.out / f"dash-{name}-{place}-{theme}.png"
                        shot = take(browser, url, path, theme, SIZES[place])
                        file.write_bytes(small_png(shot))
                        print(f"{file} {file.stat().st_size // 1000} kB")
            browser.close()


if __name__ == "__main__":
    main()
