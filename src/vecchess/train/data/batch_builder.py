"""Builds batches: the work of a loader process, its requests and its replies."""

from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError, VecchessError
from vecchess.runtime.child_process import ignore_signals
from vecchess.runtime.json_pipe import JsonPipe
from vecchess.runtime.signals import stop_signals
from vecchess.train.data.augment import mirror
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.collate import collate
from vecchess.train.data.replay_window import GivenShards, ReplayWindow, ShardSource
from vecchess.train.data.sample_rules import SampleRules
from vecchess.train.data.samples import SharedBuffers, row_bytes, samples_in


class BatchReply(NamedTuple):
    """The answer to a request; the rows are in their buffer. Its fields are a message's."""

    num_positions: int
    """Positions in the window."""
    notes: list[str]
    """Lines for the user."""
    error: tuple[str, str] | None
    """Name of a class in ``vecchess.errors`` and its message: then there are no rows."""


class BatchBuilder:
    """Fills buffers with rows; holds the replay window, and the reference games if any."""

    def __init__(
        self,
        source: ShardSource,
        rules: SampleRules,
        num_planes: int,
        reference: GivenShards | None = None,
    ) -> None:
        """Nothing is read before the first request. All plies of the reference games count."""
        self._num_planes = num_planes
        self._notes: list[str] = []
        self._window = ReplayWindow(source, rules, self._notes.append)
        of_all = replace(rules, newest_only=False)
        self._reference = ReplayWindow(reference or GivenShards([]), of_all, self._notes.append)

    def build(self, spec: BatchSpec, buffer: NDArray[np.uint8]) -> BatchReply:
        """Fill the first rows of ``buffer``: uint8[..]. A VecchessError goes into the reply."""
        error = None
        try:
            self._fill(spec, buffer)
        except VecchessError as raised:
            error = (type(raised).__name__, str(raised))
        notes = self._notes.copy()
        self._notes.clear()
        return BatchReply(self._window.num_positions, notes, error)

    def _fill(self, spec: BatchSpec, buffer: NDArray[np.uint8]) -> None:
        window = self._window
        window.update(spec.source_end, spec.source_first, spec.source_segments)
        if not spec.rows:
            return
        blocks, plies = self._find(window, spec.draw)
        table = window.table
        if len(rows := spec.reference_rows):
            self._reference.update(spec.num_reference_shards)
            blocks[rows], plies[rows] = self._find(self._reference, spec.draw_reference)
            blocks[rows] += len(table)
            table = np.concatenate([table, self._reference.table])
        buffer = buffer[: spec.rows * row_bytes(self._num_planes)]
        buffer.fill(0)
        samples = samples_in(buffer, spec.rows, self._num_planes)
        collate(table, blocks, plies, samples)
        if spec.mirror:
            key = (spec.seed, spec.step, spec.first_row)
            mirror(samples.planes, samples.legal, samples.num_legal, *key)

    def _find(
        self, window: ReplayWindow, draw: Callable[[int], NDArray[np.int64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if not window.num_positions:
            raise DataError("there are no positions to learn from in the recorded games")
        return window.find(draw(window.num_positions))


def serve_requests(builder: BatchBuilder, buffers: SharedBuffers, connection: Connection) -> None:
    """Body of a loader process: builds the batches requested until the connection closes."""
    ignore_signals(stop_signals())  # the parent decides when to stop
    pipe = JsonPipe(connection)
    pipe.wait()
    while (requests := pipe.receive()) is not None:
        for request in requests:
            reply = builder.build(BatchSpec(**request["spec"]), buffers[request["buffer"]])
            pipe.send("batch", **reply._asdict())
        pipe.wait()
