"""Takes pictures of ``vecchess watch`` at two sizes of a terminal.

    python -m bench.watch_pictures RUN --out docs/images

RUN: as TRAINING of ``dash_pictures``. Needs Chromium and Pillow.
"""

import argparse
import asyncio
import re
from io import StringIO
from pathlib import Path

from bench.dash_pictures import small_png
from playwright.async_api import async_playwright
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from tests.dash.serving import CHROMIUM_FLAGS, find_chromium

from vecchess.monitor.run_view import RunView
from vecchess.watch.screen import Screen

SIZES = ((80, 24), (200, 60))
WIDTH = 1600


def drawn(run: Path, columns: int, rows: int) -> str:
    """What a terminal of that size shows, as SVG that needs no network."""
    console = Console(
        file=StringIO(), record=True, width=columns, height=rows, force_terminal=True,
        color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    console.print(Screen().draw(RunView(run), "", columns, rows), end="")
    svg = console.export_svg(title=f"vecchess watch {run.name}", theme=DIMMED_MONOKAI)
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


async def main() -> None:
    """Take both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    options = parser.parse_args()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        page = await browser.new_page(viewport={"width": WIDTH, "height": WIDTH})
        for columns, rows in SIZES:
            svg = drawn(options.run, columns, rows)
            await page.set_content(f"<body style='margin:0'>{svg}</body>")
            shot = await page.locator("svg").screenshot(omit_background=True)
            (options.out / f"watch-{columns}x{rows}.png").write_bytes(small_png(shot))
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
