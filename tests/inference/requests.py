"""Filled request rows for tests of backends, and a plain way to get all their answers."""

import numpy as np
from numpy.typing import NDArray

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.inference.backend import Backend
from vecchess.inference.requests import Requests

Answers = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]


def ask(count: int, seed: int = 2) -> Requests:
    """Rows 0 to ``count`` - 1 with questions from random games."""
    planes, legal = random_positions(count, seed)
    requests = Requests.empty(count, NUM_PLANES)
    requests.planes[:] = planes
    for row, moves in enumerate(legal):
        requests.legal[row, : len(moves)] = moves
        requests.num_legal[row] = len(moves)
    return requests


def answer(backend: Backend, requests: Requests, order: list[int], stride: int) -> Answers:
    """Answers of all rows, admitted in ``order``, at most ``stride`` per time step."""
    free = list(range(backend.num_slots))
    waiting, occupied = list(order), {}
    while waiting or occupied:
        count = min(stride, len(free), len(waiting))
        slots, rows = free[:count], waiting[:count]
        free, waiting = free[count:], waiting[count:]
        occupied |= dict(zip(slots, rows, strict=True))
        backend.admit(np.array(slots, np.int32), requests, np.array(rows, np.int32))
        backend.advance()
        settled = backend.settled()
        for slot in settled:
            del occupied[int(slot)]
        free += settled.tolist()
    return requests.policy.copy(), requests.wdl.copy(), requests.steps.copy()


def same(ours: Answers, theirs: Answers) -> bool:
    """Equal to the bit."""
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
