"""A compaction of a run's games by a process of its own, while the run plays and is tortured."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress

LONGEST_S = 120.0
EXIT_CODES = {0, 1, 2, -signal.SIGKILL}
"""Done, a disk error (reported in one line), refused, killed."""


class Compaction:
    """One process that compacts; it is left to itself until ``end``."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        """``environment``: variables added to those of this process."""
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed by end)
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=self._words,
            env=os.environ | environment,
        )

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process, if it runs."""
        self._process.kill()

    def end(self) -> list[str]:
        """Wait for the process; what was wrong with it, if anything."""
        with self._words, suppress(subprocess.TimeoutExpired):
            code = self._process.wait(LONGEST_S)
            self._words.seek(0)
            said = self._words.read()
            is_right = code in EXIT_CODES and "Traceback" not in said
            return [] if is_right else [f"compaction, exit code {code}: {said}"]
        self._process.kill()
        return [f"compaction: not done after {LONGEST_S:g} s"]
