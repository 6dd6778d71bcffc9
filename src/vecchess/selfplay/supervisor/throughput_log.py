"""How fast the games of a self-play run were played, line by line: there is nothing to learn."""

from contextlib import ExitStack, closing, suppress
from typing import Any, Self

from vecchess.errors import DiskFull
from vecchess.runtime.reporting import ReportLine
from vecchess.store.metrics import THROUGHPUT, MetricsLog
from vecchess.store.run_folder import RunFolder


class ThroughputLog:
    """``metrics.jsonl`` and TensorBoard of a run of games; use it in a ``with``."""

    def __init__(self, run: RunFolder, report_line: ReportLine) -> None:
        """Opened with the first line: TensorBoard takes half a second to be imported."""
        self._run, self._report_line = run, report_line
        self._log: MetricsLog | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Nothing happens yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held back."""
        self._stack.close()

    def keep(self, load: dict[str, Any]) -> None:
        """Write a line, unless the disk is full; TensorBoard counts its steps in games.

        Raises DataError where the disk refuses for another reason.
        """
        with suppress(DiskFull):
            self._keep(load)

    def _keep(self, load: dict[str, Any]) -> None:
        if self._log is None:
            self._log = self._stack.enter_context(
                closing(MetricsLog(self._run.path, report_line=self._report_line))
            )
        self._log.write(THROUGHPUT, iteration=0, step=0, samples=0, values=load)
        self._log.plot(THROUGHPUT, load["games"], load)
