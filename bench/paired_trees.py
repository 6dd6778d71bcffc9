"""A bench of this folder with the sources of several trees: a process each, which take turns.

What counts is processor time of one thread, so that other users of the machine change the ratio of
a turn little.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent


class TreeWorker:
    """A script that answers lines of its stdin with lines of JSON, and imports one tree."""

    def __init__(self, script: Path, tree: Path, arguments: Sequence[str]) -> None:
        """``tree``: a checkout, whose ``src`` is imported; ``bench`` is this one's."""
        self._process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": f"{tree.resolve() / 'src'}:{ROOT}"},
        )

    def ask(self, question: str) -> Any:
        """The worker's answer."""
        print(question, file=_open(self._process.stdin), flush=True)
        return json.loads(_open(self._process.stdout).readline())

    def close(self) -> None:
        """End the process."""
        _open(self._process.stdin).close()
        self._process.wait()


def ratio_facts(before: Sequence[float], now: Sequence[float]) -> dict[str, Any]:
    """How many times faster the second is, from times of the same turns: median and quartiles."""
    ratios = sorted(one / other for one, other in zip(before, now, strict=True))
    return {
        "ratio": round(median(ratios), 3),
        "ratio_quartiles": [round(ratios[len(ratios) * part // 4], 3) for part in (1, 3)],
    }


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
