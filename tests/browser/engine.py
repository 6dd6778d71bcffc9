"""The engine of a page in node, and what this machine gives for the same."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.nets import TRAINED
from vecchess.browser.export_web import KERNELS, is_current, make_image
from vecchess.config import SelfplayConfig, build, to_toml
from vecchess.replay.replayer import play_pool
from vecchess.runtime.devices import CPU
from vecchess.runtime.reporting import no_report
from vecchess.selfplay.games.finished_games import LoggedGames
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.store.id_set import IdSet

ROOT = Path(__file__).parents[2]
ESBUILD = ROOT / "web" / "node_modules" / ".bin" / "esbuild"
NODE = shutil.which("node") or str(ROOT / ".venv" / "bin" / "node")
SETTINGS: dict[str, dict[str, Any]] = {
    "policy": {},
    "gumbel": {"tree": {"search": "gumbel", "sims": 16}},
    "puct": {
        "tree": {"search": "puct", "sims": 24},
        "game": {"random_plies": 4},
        "seed": 5,
        "exits": False,
    },
}


def require_engine() -> None:
    """Skip a test where kernels or node are missing, unless they have to be there."""
    if is_current(KERNELS) and ESBUILD.is_file() and Path(NODE).is_file():
        return
    assert not os.environ.get("VECCHESS_REQUIRE_WASM"), "run `make wasm` and `make pages`"
    pytest.skip("needs `make wasm` and `make pages`")


def settings(name: str) -> SelfplayConfig:
    """How the games are played."""
    return build(SelfplayConfig, SETTINGS[name])


class NodeEngine:
    """Engines of a network of four time steps, one for each way to play."""

    def __init__(self, folder: Path, rows: int = 16) -> None:
        self._folder, self._rows = folder, rows
        self._script = folder / "engine.mjs"
        source = Path(__file__).with_name("engine.ts")
        command = [ESBUILD, source, "--bundle", "--platform=node", "--format=esm"]
        done = subprocess.run(
            [*command, f"--outfile={self._script}", "--log-level=warning"],
            env=os.environ | {"NODE_PATH": str(ROOT / "web" / "node_modules")}, check=True,
        )  # fmt: skip
        assert done.returncode == 0

    @cache  # noqa: B019
    def image(self, name: str) -> Path:
        """The image of an engine."""
        path = self._folder / f"{name}.bin"
        path.write_bytes(make_image(TRAINED, settings(name), self._rows))
        return path

    def ask(self, name: str, command: str, **asked: Any) -> Any:
        """What the engine answers."""
        text = json.dumps({"command": command, **asked})
        done = subprocess.run(
            [NODE, self._script, KERNELS, self.image(name), text],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def all_of(self, name: str, command: str, **asked: Any) -> list[Any]:
        """The same where it is a list."""
        found = self.ask(name, command, **asked)
        assert isinstance(found, list), found
        return found


def server_hash(config: SelfplayConfig, count: int) -> tuple[int, str]:
    """Plies of games 0 to ``count`` - 1 of the server, and their hash as ``engine.ts`` makes it."""
    pool = GameIdPool()
    pool.add(IdSet.of(np.arange(count)))
    games: dict[int, bytes] = {}
    plies = 0
    for finished in play_pool(config, TRAINED, pool, CPU, no_report):
        for part in finished:
            games |= _packed(part.games)
            plies += part.num_plies
    return plies, hashlib.sha256(b"".join(games[number] for number in sorted(games))).hexdigest()


def _packed(games: LoggedGames) -> dict[int, bytes]:
    found, ply, word = {}, 0, 0
    for game, number in enumerate(games.number.tolist()):
        end, last = ply + int(games.plies[game]), word + int(games.num_words[game])
        names = "number", "plies", "result", "termination", "resign", "fingerprint"
        head = struct.pack("<qibBBQ", *(int(getattr(games, name)[game]) for name in names))
        found[number] = head + games.logged[ply:end].tobytes() + games.words[word:last].tobytes()
        ply, word = end, last
    return found


def played_run(folder: Path, name: str, net: str, games: int = 3) -> Path:
    """A run of self-play by ``net`` in ``folder``, and its games as PGN with bits."""
    run = folder / "run"
    config = folder / "settings.toml"
    config.write_text(to_toml(settings(name)), encoding="utf-8")
    plays = ["--config", config, "--net", net, "--games", games, "--gpus", "cpu"]
    for command in (
        ["selfplay", *plays, "--run-dir", run],
        ["export", "pgn", run, "--bits"],
    ):
        words = [sys.executable, "-m", "vecchess_cli.main", *map(str, command)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return run
