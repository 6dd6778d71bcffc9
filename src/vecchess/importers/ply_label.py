"""What an engine said of one position, and the columns of ``GameRecords`` that keep it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.store.records import VALUE_UNIT, empty_search_columns


@dataclass(frozen=True)
class PlyLabel:
    """The label of a position. Point of view: the mover's."""

    nodes: int
    """Positions the engine looked at, above 0."""
    win: float
    """Probability, 0 to 1."""
    draw: float
    target: tuple[tuple[int, int], ...] = ()
    """Action codes, ascending, and their shares in 1/TARGET_UNIT; empty: the move played."""


def label_columns(labels: Sequence[PlyLabel | None]) -> dict[str, NDArray[Any]]:
    """The search columns, ``win`` and ``draw`` of so many plies; None: a ply without a label.

    A ply with one counts as searched in full, its nodes as visits.
    """
    columns = empty_search_columns(len(labels))
    win, draw = np.zeros((2, len(labels)), np.uint16)
    for ply, label in enumerate(labels):
        if label is not None:
            columns["visits"][ply] = min(label.nodes, 2**32 - 1)
            win[ply] = round(label.win * VALUE_UNIT)
            draw[ply] = min(round(label.draw * VALUE_UNIT), VALUE_UNIT - win[ply])
    targets = [() if label is None else label.target for label in labels]
    pairs = np.array([pair for target in targets for pair in target], np.uint16).reshape(-1, 2)
    offsets = np.cumsum([0, *map(len, targets)]).astype(np.int64)
    return columns | {
        "win": win,
        "draw": draw,
        "full": (columns["visits"] > 0).astype(np.uint8),
        "target_offsets": offsets,
        "target_action": pairs[:, 0].copy(),
        "target_prob": pairs[:, 1].copy(),
    }
