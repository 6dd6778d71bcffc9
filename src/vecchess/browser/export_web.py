"""Writes the play page as a folder of static files, with the engine in WebAssembly.

    index.html           the pages of the dashboard, which ask a worker instead of a server
    main-*, worker-*     their scripts and style
    offline-*.js         keeps the files in the browser, so that the page opens without a network
    kernels-*.wasm       the kernels of this package, the same for all networks
    engine-*.bin         a network with the memory of its searches and games, packed by gzip

Any web server can serve it from any path.
"""

import gzip
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vecchess import __version__
from vecchess.browser.engine_image import GENERIC, image_facts, sources_digest
from vecchess.config import SelfplayConfig, to_toml
from vecchess.dash.answers import as_json
from vecchess.dash.web.assets import FOLDER, check_built
from vecchess.errors import ConfigError, NetworkError
from vecchess.runtime.atomic_output import whole_folder

POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:"
)
"""The page's content security policy: it loads nothing from other places."""
KERNELS = Path(__file__).parent / "static" / "kernels.wasm"


def export_web(net: Path | str, name: str, out: Path, config: SelfplayConfig) -> dict[str, Any]:
    """Write the folder ``out`` for the network file ``net``, called ``name``; the facts.

    ``config``: how the games are played that the page can replay. Raises ConfigError where the
    pages or kernels were not built, a setting needs files that a page has not, or ``out`` is not
    empty, NetworkError for a network that a page cannot play, DataError where writing fails.
    """
    check_built(FOLDER)
    if not is_current(KERNELS):
        raise ConfigError("the kernels are not built, or of other sources: run `make wasm` there")
    if config.tree.syzygy:
        raise ConfigError("the run looks endings up in tables, which a page has not")
    image = make_image(net, config)
    with whole_folder(out) as folder:
        kernels = KERNELS.read_bytes()
        files = {
            "wasm": f"kernels-{_digest(kernels)}.wasm",
            "image": f"engine-{_digest(image)}.bin",
        }
        (folder / files["wasm"]).write_bytes(kernels)
        (folder / files["image"]).write_bytes(image)
        for file in sorted(FOLDER.iterdir()):
            if file.suffix in (".js", ".css", ".svg", ".txt"):
                (folder / file.name).write_bytes(file.read_bytes())
                files[file.name.split("-")[0]] = file.name
        kept = [file.name for file in sorted(folder.iterdir()) if file.suffix != ".txt"]
        version = _digest(" ".join([name, *kept]).encode())
        words = "&".join(quote(word, safe="") for word in (version, "./", *kept))
        engine = {key: files[key] for key in ("wasm", "image", "worker")}
        engine |= {"name": name, "offline": f"{files['offline']}?{words}"}
        page = (FOLDER / "index.html").read_text("utf-8")
        text = as_json(engine).decode().replace("<", "\\u003c")
        script = f'  <script type="application/json" id="engine">{text}</script>\n'
        script = (
            f'  <meta http-equiv="Content-Security-Policy" content="{POLICY}">\n{script}  </head>'
        )
        page = page.replace('"/static/', '"').replace("  </head>", script)
        (folder / "index.html").write_text(page, "utf-8")
        sizes = [file.stat().st_size for file in folder.iterdir()]
    return {"version": __version__, "files": len(sizes), "bytes": sum(sizes)}


def is_current(kernels: Path) -> bool:
    """Whether the kernels are there, compiled from the sources as they are."""
    note = kernels.with_suffix(".sources")
    return kernels.is_file() and note.is_file() and note.read_text("utf-8") == sources_digest()


def make_image(net: Path | str, config: SelfplayConfig, rows: int = 1) -> bytes:
    """The image of an engine, packed; made by a process with the processor of ``GENERIC``.

    ``rows``: games that are played at a time. Raises NetworkError for a network that the compiled
    kernels do not play.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings, target = Path(folder) / "settings.toml", Path(folder) / "engine.bin"
        settings.write_text(to_toml(config), encoding="utf-8")
        command = [sys.executable, "-m", "vecchess.browser.engine_image", str(net), str(settings)]
        done = subprocess.run(
            [*command, str(rows), str(target)],
            env=os.environ | GENERIC, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 2:
            raise NetworkError(done.stderr.strip().splitlines()[-1])
        if done.returncode:
            raise RuntimeError(done.stderr)
        image, kernels = target.read_bytes(), KERNELS.read_bytes()
    calls = image_facts(image)["calls"].values()
    if not all(call["export"].encode() in kernels for call in calls):
        raise NetworkError(f"{net}: a page plays spiking networks whose sums fit 16 bits")
    return gzip.compress(image, 9, mtime=0)


def _digest(data: bytes) -> str:
    """Digits that change with the data, for a name."""
    return hashlib.sha256(data).hexdigest()[:12]
