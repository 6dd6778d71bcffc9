"""The files of the pages, read once at the start; nothing else is served."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vecchess.errors import ConfigError

FOLDER = Path(__file__).parent.parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"


@dataclass(frozen=True)
class Asset:
    """One file of the pages."""

    data: bytes
    media_type: str
    etag: str
    cache: str

    def answer(self, request: Request) -> Response:
        """The file, or 304 where the browser has it already."""
        headers = {"etag": self.etag, "cache-control": self.cache}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        return Response(self.data, headers=headers, media_type=self.media_type)


def read_assets(folder: Path = FOLDER) -> dict[str, Asset]:
    """The built pages by file name. Raises ConfigError where they were not built."""
    if not (folder / "index.html").is_file():
        raise ConfigError(
            "the pages are not built: run `make pages` in the sources (it needs npm or pip), "
            "or install a wheel, which has them; `vecchess watch` needs none"
        )
    files = sorted(file for file in folder.iterdir() if file.suffix in TYPES)
    return {file.name: _asset(file) for file in files}


def asset_routes(assets: Mapping[str, Asset]) -> list[Route]:
    """Routes of the page and of the files that it loads."""

    async def index(request: Request) -> Response:
        return assets["index.html"].answer(request)

    async def static(request: Request) -> Response:
        asset = assets.get(request.path_params["name"])
        if asset is None:
            return JSONResponse({"error": "there is no such file"}, 404)
        return asset.answer(request)

    return [Route("/", index), Route("/static/{name}", static)]


def _asset(file: Path) -> Asset:
    data = file.read_bytes()
    is_hashed = file.suffix in (".js", ".css")
    etag = f'"{sha256(data).hexdigest()[:24]}"'
    return Asset(data, TYPES[file.suffix], etag, IMMUTABLE if is_hashed else REVALIDATE)
