"""Pictures of ``vecchess watch`` for the documentation, of a run that is there.

python scripts/watch_images.py RUN docs/images       watch-80x24.svg and watch-200x60.svg
"""

import asyncio
import re
import sys
from pathlib import Path

from vecchess.watch.app import WatchApp
from vecchess.watch.follow import Follower

SIZES = ((80, 24), (200, 60))


async def main(run: Path, folder: Path) -> None:
    """Draw ``run`` in both sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    for columns, rows in SIZES:
        app = WatchApp(Follower(run))
        async with app.run_test(size=(columns, rows)) as pilot:
            await pilot.pause(0.5)
            drawn = app.export_screenshot(title=f"vecchess watch {run.name}")
        (folder / f"watch-{columns}x{rows}.svg").write_text(without_network(drawn))


def without_network(drawn: str) -> str:
    """The picture without the fonts that textual has viewers fetch: theirs will do."""
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
