"""The checks of ``vecchess doctor``: versions, devices, and whether games come out right here."""

import importlib.metadata
import platform
import tempfile
from collections.abc import Callable
from functools import partial
from math import isinf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from vecchess import __version__
from vecchess.config import ContributeConfig, SelfplayConfig
from vecchess.errors import VecchessError
from vecchess.fleet.block_player import KNOWN_DIGEST, digest_of_known_block
from vecchess.jit import cache_base
from vecchess.machine_limits import MEGABYTE, machine_limits, num_cores
from vecchess.runtime.devices import parse_gpus, visible_gpus
from vecchess.selfplay.run_selfplay import play_run
from vecchess.selfplay.supervisor.supervisor import LineWatcher
from vecchess.store.run_folder import RunFolder

SCHEMA = 1
PACKAGES = ("torch", "numba", "numpy", "chess", "snntorch", "safetensors", "typer", "rich")
SELF_TEST_GAMES = 32


def examine(console: Console) -> dict[str, Any]:
    """Facts about this installation and the results of its checks, ready for JSON."""
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "vecchess": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in PACKAGES},
        "cores": num_cores(),
        "limits": _limits(),
        "gpus": visible_gpus(),
        "cache": str(cache_base()),
    }
    with tempfile.TemporaryDirectory(prefix="vecchess-doctor-") as folder:
        run = RunFolder(Path(folder) / "run")
        checks = [
            _check("two workers play", lambda: _play(run, console)),
            _check("every shard reads back", lambda: _read_back(run)),
            _check(
                "known games come out as known",
                lambda: _known_games(Path(folder) / "known", console),
            ),
        ]
    facts["checks"] = checks
    facts["healthy"] = all(check["passed"] for check in checks)
    return facts


def _limits() -> dict[str, Any]:
    """Memory, 0 where it is unknown, and cores that this process may use, with what sets them."""
    found = machine_limits()
    memory = 0 if isinf(found.memory.amount) else int(found.memory.amount / MEGABYTE)
    return {
        "memory_mb": memory,
        "memory_source": found.memory.source,
        "cores": round(found.cores.amount, 3),
        "cores_source": found.cores.source,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _check(name: str, test: Callable[[], str]) -> dict[str, Any]:
    """Run one check; a failure is a result, not an error."""
    start = perf_counter()
    try:
        found, passed = test(), True
    except VecchessError as error:
        found, passed = str(error), False
    seconds = round(perf_counter() - start, 2)
    return {"check": name, "passed": passed, "found": found, "seconds": seconds}


def _play(run: RunFolder, console: Console) -> str:
    config = SelfplayConfig.model_validate(
        {"games": SELF_TEST_GAMES, "gpus": "cpu:2", "game": {"max_plies": 40}}
    )
    summary = play_run(config, run.path, False, console, quiet=True)
    return f"{summary['games']} games, {summary['plies_per_s']:,.0f} plies/s"


def _read_back(run: RunFolder) -> str:
    records = run.records()
    numbers = np.arange(SELF_TEST_GAMES)
    if not np.array_equal(records.numbers, numbers):
        raise VecchessError(f"{records.num_games} games recorded, {SELF_TEST_GAMES} played")
    return f"{records.num_games} games, {int(records.offsets[-1]):,} plies"


def _known_games(folder: Path, console: Console) -> str:
    """Play what a fleet's player plays before it is given games of others, on the devices that are
    taken where none is named; raises VecchessError where other games come out."""
    config = ContributeConfig()
    devices = parse_gpus(config.gpus, may_share=True)
    watcher = LineWatcher(partial(console.print, markup=False))
    digest = digest_of_known_block(config, devices, folder, watcher)
    found = f"{', '.join(device.label for device in devices)}: {digest[:16]}"
    if digest != KNOWN_DIGEST:
        raise VecchessError(f"{found}, not {KNOWN_DIGEST[:16]}: what is computed here is wrong")
    return found
