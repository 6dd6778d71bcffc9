"""Makes batches: what lives in a loader process, and what it says to the trainer."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from operator import index

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError, VecchessError
from vecchess.safe_parse import parse_json_object
from vecchess.train.data.augment import mirror
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.collate import collate
from vecchess.train.data.replay_window import GivenShards, ReplayWindow, ShardSource
from vecchess.train.data.samples import row_bytes, samples_in


@dataclass(frozen=True)
class BatchRequest:
    """A plan, and the place in memory that its rows go to."""

    plan: BatchSpec
    place: int

    def to_bytes(self) -> bytes:
        """For a pipe."""
        return _to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> "BatchRequest":
        """What ``to_bytes`` made."""
        values = parse_json_object(data)
        return cls(BatchSpec(**values["plan"]), values["place"])


@dataclass(frozen=True)
class BatchReply:
    """What comes back for an order. The rows are in their place."""

    plan: BatchSpec
    place: int
    num_positions: int
    """Positions the window held."""
    notes: tuple[str, ...]
    """Lines for people."""
    error: tuple[str, str] | None = None
    """Name of a class in ``vecchess.errors``, and its line: then there are no rows."""

    def to_bytes(self) -> bytes:
        """For a pipe."""
        return _to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> "BatchReply":
        """What ``to_bytes`` made."""
        values = parse_json_object(data)
        error = None if values["error"] is None else (values["error"][0], values["error"][1])
        notes = tuple(values["notes"])
        return cls(
            BatchSpec(**values["plan"]), values["place"], values["num_positions"], notes, error
        )


class BatchBuilder:
    """Fills places with rows; holds the window, and reference games where there are any."""

    def __init__(
        self,
        shelf: ShardSource,
        trace: float,
        num_planes: int,
        reference: GivenShards | None = None,
    ) -> None:
        """Nothing is read before the first order. ``trace``: lambda of the returns."""
        self._num_planes = num_planes
        self._notes: list[str] = []
        self._window = ReplayWindow(shelf, trace, self._notes.append)
        self._reference = ReplayWindow(reference or GivenShards([]), trace, self._notes.append)

    def make(self, order: BatchRequest, buffer: NDArray[np.uint8]) -> BatchReply:
        """Fill the first rows of ``buffer``: uint8[..].

        What a user can meet comes back in the packet, not as a raise.
        """
        error = None
        try:
            self._fill(order.plan, buffer)
        except VecchessError as raised:
            error = (type(raised).__name__, str(raised))
        notes = tuple(self._notes)
        self._notes.clear()
        return BatchReply(order.plan, order.place, self._window.num_positions, notes, error)

    def _fill(self, plan: BatchSpec, buffer: NDArray[np.uint8]) -> None:
        window = self._window
        window.update(plan.num_shards, plan.first_shard)
        if not plan.rows:
            return
        which, plies = self._find(window, plan.draw)
        table = window.table
        if len(taken := plan.reference_rows):
            self._reference.update(plan.num_reference_shards)
            which[taken], plies[taken] = self._find(self._reference, plan.draw_reference)
            which[taken] += len(table)
            table = np.concatenate([table, self._reference.table])
        rows = buffer[: plan.rows * row_bytes(self._num_planes)]
        rows.fill(0)
        samples = samples_in(rows, plan.rows, self._num_planes)
        collate(table, which, plies, samples)
        if plan.mirror:
            where = (plan.seed, plan.step, plan.first_row)
            mirror(samples.planes, samples.legal, samples.num_legal, *where)

    def _find(
        self, window: ReplayWindow, draw: Callable[[int], NDArray[np.int64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if not window.num_positions:
            raise DataError("there are no positions to learn from in the recorded games")
        return window.find(draw(window.num_positions))


def _to_bytes(value: BatchRequest | BatchReply) -> bytes:
    return json.dumps(asdict(value), default=index).encode()  # numpy's integers are integers
