"""Puts the built pages of `vecchess dash` into wheels and source distributions.

Editable installs do without: there `make pages` builds them. A wheel made where npm is missing has
no pages, and one line says so; `vecchess dash` then says how to get them.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = Path("src/vecchess/dash/static")


class PagesHook(BuildHookInterface):
    """Builds the pages before anything is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, unless this install is editable."""
        if version == "editable":
            return
        root = Path(self.root)
        if (root / "web").is_dir():
            _build(root)
        if not (root / PAGES / "index.html").is_file():
            print("vecchess: packed without the pages of `vecchess dash`: no npm", file=sys.stderr)


def _build(root: Path) -> None:
    """Run the script; what it says on failure is the line people need."""
    shell = shutil.which("sh")
    if shell is None:
        return
    done = subprocess.run(
        [shell, "scripts/pages.sh"], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["scripts/pages.sh failed"]
        print(f"vecchess: {lines[-1]}", file=sys.stderr)
