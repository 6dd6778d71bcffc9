"""Run the tests on a copy of the sources of which one file was changed: does any of them notice?

What is nearest to the changed file is run first, since nine of ten mutants die there. Kernels are
interpreted; the modules that are written in LLVM's language are compiled. Each attempt is a fork of
this process, which has imported what does not change, as that takes longer than most tests.
"""

import gc
import os
import resource
import signal
import sys
import time
from pathlib import Path

import chess.pgn  # noqa: F401  (imported once, for all attempts)
import hypothesis
import numba
import numpy as np  # noqa: F401
import pytest

MOST_CPU_S, MOST_S = 25, 900
"""Processor time, and time in all, after which an attempt is taken to have no end: two to four
times what all tests take."""
COMPILED = {f"chess/bitboards/{name}.py" for name in ("bits", "move_lists", "hash", "rays")}
INSTRUCTIONS = "tests/plain/test_instructions.py"
NEAREST = {
    "chess": {
        "action": "action", "directions": "action", "chess960": "fen", "fen": "fen",
        "history": "history", "pgn": "pgn", "planes": "history", "rules": "rules",
        "sample": "bitboards", "attacks": "bitboards", "tables": "bitboards",
        "uci_moves": "uci_moves",
    },
    "store": {
        "id_set": "id_set", "inflight": "inflight", "manifest": "manifest", "metrics": "metrics",
        "npz": "npz", "replay_positions": "replay_positions", "run_folder": "run_folder",
        "shard": "shard", "sources": "sources", "stats": "records", "status_file": "status_file",
        "targets": "targets",
    },
}  # fmt: skip
"""The test file for each source file, where it is not the first of ``ORDER``."""
ORDER = {
    "chess": (
        "movegen", "perft", "action", "fen", "uci_moves", "rules", "history", "bitboards", "pgn",
    ),
    "store": (
        "records", "shard", "manifest", "npz", "targets", "replay_positions", "inflight",
        "id_set", "run_folder", "status_file", "metrics",
    ),
}  # fmt: skip
"""``test_sources`` imports torch: it is run for its own file only."""


def prepare() -> None:
    """Forks begin with what is here by now, and leave it where it is."""
    hypothesis.settings.get_profile("default")
    gc.collect()
    gc.freeze()


def tests_for(changed: str) -> list[list[str]]:
    """The arguments of pytest for a changed file, "chess/fen.py": of one run after the other."""
    if changed in COMPILED:
        return [[INSTRUCTIONS]]
    part, stem = changed.split("/")[0], Path(changed).stem
    nearest = NEAREST[part].get(stem, ORDER[part][0])
    others = [name for name in ORDER[part] if name != nearest]
    plain = ["-p", "tests.plain.interpreted", "-m", "plain"]
    files = [[f"tests/{part}/test_{name}.py" for name in names] for names in ([nearest], others)]
    return [[*plain, *names] for names in files]


def attempt(folder: Path, changed: str) -> str | None:
    """How the change was noticed: "exit code 1", "signal 11", "no end"; None if it was not.

    ``folder``: the copy of the project's root.
    """
    child = os.fork()
    if child == 0:
        _run(folder, tests_for(changed))
    deadline = time.monotonic() + MOST_S
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    code = os.waitstatus_to_exitcode(ended[1])
    if -code in (signal.SIGKILL, signal.SIGXCPU):
        return "no end"
    return None if code == 0 else f"exit code {code}" if code > 0 else f"signal {-code}"


def _run(folder: Path, runs: list[list[str]]) -> None:
    """In the fork: run pytest in the copy, on the copy's sources, until a test fails, and end."""
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
        os.chdir(folder)
        quiet = os.open("attempt.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.environ["NUMBA_CACHE_DIR"] = "cache"
        numba.config.reload_config()
        sys.path[:0] = [str(folder / "src"), str(folder)]
        sys.dont_write_bytecode = True
        for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
            del sys.modules[name]
        options = ["-x", "-q", "--noconftest", "-p", "no:cacheprovider"]
        code = next((code for words in runs if (code := pytest.main([*words, *options]))), 0)
    finally:
        os._exit(int(code))
