"""The files of the built pages; nothing else is served (decision 164)."""

import os
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from vecchess.errors import ConfigError

FOLDER = Path(__file__).parent.parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Media types by ending: some systems register others, which browsers then refuse."""
HASHED = (".js", ".css")
"""Their names change with their content."""


def check_built(folder: Path = FOLDER) -> None:
    """Raise ConfigError where the pages were not built."""
    if not (folder / "index.html").is_file():
        raise ConfigError(
            "the pages are not built: run `make pages` in the sources (it needs npm or pip), "
            "or install a wheel, which has them; `vecchess watch` needs none"
        )


class PageFiles(StaticFiles):
    """Serves the files of the pages, for the empty path the page itself."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Raises ConfigError where the pages were not built."""
        check_built(folder)
        super().__init__(directory=folder)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Path and status of a file; no status where there is none."""
        return super().lookup_path("index.html" if path == "." else path)

    def file_response(self, full_path: Any, *arguments: Any, **settings: Any) -> Response:
        """The file, or 304 where the browser has it already."""
        suffix = Path(full_path).suffix
        if suffix not in TYPES:
            raise HTTPException(404)
        answer = super().file_response(full_path, *arguments, **settings)
        kept = "public, max-age=31536000, immutable" if suffix in HASHED else "no-cache"
        answer.headers.update({"cache-control": kept, "content-type": TYPES[suffix]})
        return answer
