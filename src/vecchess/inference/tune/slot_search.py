"""Measures slot counts, and chooses the fewest slots that are nearly as fast as any number.

A ladder of slot counts, each measured with real positions in steady state: every slot occupied, the
positions at all time steps, a slot refilled as soon as it is free. More slots keep the device
busier up to a point; they always cost memory and make each answer wait longer.

Decision 42.
"""

import gc
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError, DeviceError
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests

NEARLY = 0.98
"""The smallest count whose speed is this share of the best is chosen."""
FLAT_RUNGS = 2
"""The ladder ends when this many rungs in a row are no faster than an earlier one."""
NUM_WINDOWS = 3
WINDOW_S = 0.15
"""Speed is that of the best of three windows of this length: disturbances only slow one down."""

Opener = Callable[[int], Backend]
Clock = Callable[[], float]


@dataclass(frozen=True)
class SlotLimits:
    """Most that slots may take of a device; None is no limit."""

    nbytes: int | None = None
    """Bytes of the network with its slots."""
    latency_ms: float | None = None
    """Time from admission to answer of a position that takes all T steps."""


@dataclass(frozen=True)
class Rung:
    """Measurements of one slot count."""

    slots: int
    positions_per_s: float
    latency_ms: float
    """Time from admission to answer of a position that takes all T steps."""
    nbytes: int

    def within(self, limits: SlotLimits) -> bool:
        """True when the rung keeps to ``limits``."""
        return (limits.nbytes is None or self.nbytes <= limits.nbytes) and (
            limits.latency_ms is None or self.latency_ms <= limits.latency_ms
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return asdict(self) | {
            "positions_per_s": round(self.positions_per_s, 1),
            "latency_ms": round(self.latency_ms, 4),
        }


def ladder(first: int, last: int) -> list[int]:
    """first, twice that, and so on, up to ``last``."""
    sizes = [first]
    while sizes[-1] * 2 <= last:
        sizes.append(sizes[-1] * 2)
    return sizes


def measure_counts(
    open_with: Opener,
    questions: Requests,
    sizes: Iterable[int],
    limits: SlotLimits,
    on_rung: Callable[[Rung], object] = lambda rung: None,
    nbytes_of: Callable[[Backend], int] | None = None,
    clock: Clock = perf_counter,
) -> list[Rung]:
    """Measure ``sizes`` (ascending) until speed grows no more, a limit is met or memory runs out.

    In the last two cases the size half-way to the last good one is measured as well.
    ``open_with(S)`` opens the backend, ``on_rung`` is called with each rung, ``nbytes_of`` returns
    the bytes of a backend, ``clock`` seconds. Rungs beyond a limit are returned too.
    """
    rungs: list[Rung] = []

    def measure(slots: int) -> bool:
        """Add the rung of one size; False where it breaks a limit, or memory runs out."""
        if _expected_nbytes(rungs, slots) > (limits.nbytes or np.inf):
            return False
        gc.collect()  # the backend before this one may have left cycles behind
        try:
            rung = measure_backend(open_with(slots), questions, nbytes_of, clock)
        except MemoryError:
            return False
        except DeviceError as error:
            if not error.out_of_memory:
                raise
            return False
        rungs.append(rung)
        on_rung(rung)
        return rung.within(limits)

    for slots in sizes:
        if not measure(slots):
            below = [rung.slots for rung in rungs if rung.within(limits)]
            if below and slots - below[-1] > 1:
                measure((below[-1] + slots) // 2)
            break
        if _is_flat(rungs):
            break
    return sorted(rungs, key=lambda rung: rung.slots)


def choose_count(rungs: list[Rung], limits: SlotLimits) -> Rung:
    """The smallest count whose speed is nearly the best; ConfigError where none keeps to limits."""
    good = [rung for rung in rungs if rung.within(limits)]
    if not rungs:
        raise ConfigError("the device has no memory for the smallest slot count that is tried")
    if not good:
        least = min(rungs, key=lambda rung: rung.slots)
        raise ConfigError(
            f"already {least.slots} slots take {least.latency_ms:.3g} ms and "
            f"{least.nbytes / 1e9:.3g} GB: more than is allowed"
        )
    best = max(rung.positions_per_s for rung in good)
    return min(
        (rung for rung in good if rung.positions_per_s >= NEARLY * best),
        key=lambda rung: rung.slots,
    )


def measure_backend(
    backend: Backend,
    questions: Requests,
    nbytes_of: Callable[[Backend], int] | None = None,
    clock: Clock = perf_counter,
) -> Rung:
    """The rung of ``backend`` with all slots occupied by ``questions``, again and again."""
    stream = _Stream(backend, questions)
    for part in np.array_split(np.arange(backend.num_slots, dtype=np.int32), backend.time_steps):
        stream.ask(part)
        stream.run(1, 0.0, clock)  # so that the slots are at different steps
    stream.run(2 * backend.time_steps, 0.0, clock)
    windows = [stream.run(2 * backend.time_steps, WINDOW_S, clock) for _ in range(NUM_WINDOWS)]
    speed, call_s = max(windows)
    num_calls = math.ceil(backend.time_steps / getattr(backend, "steps_at_once", 1))
    nbytes = (nbytes_of or backend_nbytes)(backend)
    return Rung(backend.num_slots, speed, 1e3 * num_calls * call_s, nbytes)


class _Stream:
    """One row for each slot, which gets the next of all questions whenever it was answered.

    If a row repeated its question, quick questions would be asked more often than others.
    """

    def __init__(self, backend: Backend, questions: Requests) -> None:
        self._questions = questions
        self._requests = Requests.empty(backend.num_slots, questions.planes.shape[1])
        self._engine = SlotEngine(backend, self._requests)
        self._is_asynchronous = getattr(backend, "is_asynchronous", False)
        self._asked = 0

    def ask(self, rows: NDArray[np.int32]) -> None:
        """Submit ``rows`` with the next questions."""
        which = np.arange(self._asked, self._asked + len(rows)) % self._questions.num_rows
        self._asked += len(rows)
        for name in ("planes", "legal", "num_legal"):
            getattr(self._requests, name)[rows] = getattr(self._questions, name)[which]
        self._engine.submit(rows)

    def run(self, least_calls: int, least_s: float, clock: Clock) -> tuple[float, float]:
        """Positions/s and seconds a call, over at least so many calls and seconds.

        The time to write questions is left out, as in play the movers' threads do that; but not
        where the device works on meanwhile, or it would seem faster than it is.
        """
        calls = answered = 0
        spent = left_out = 0.0
        start = clock()
        while calls < least_calls or spent < least_s:
            rows = self._engine.step()
            stepped = clock()
            self.ask(rows)
            left_out += 0.0 if self._is_asynchronous else clock() - stepped
            spent = clock() - start - left_out
            answered += len(rows)
            calls += 1
        return answered / max(spent, 1e-9), spent / calls


def _expected_nbytes(rungs: list[Rung], slots: int) -> float:
    """Bytes of the next rung, extrapolated from the last two; 0 with fewer than two."""
    if len(rungs) < 2:
        return 0.0
    one, two = rungs[-2:]
    return two.nbytes + (two.nbytes - one.nbytes) * (slots - two.slots) / (two.slots - one.slots)


def _is_flat(rungs: list[Rung]) -> bool:
    """True when the last rungs were not noticeably faster than those before."""
    speeds = [rung.positions_per_s for rung in rungs]
    before, last = speeds[:-FLAT_RUNGS], speeds[-FLAT_RUNGS:]
    return bool(before) and NEARLY * max(last) <= max(before)


def backend_nbytes(backend: Backend) -> int:
    """Bytes of a backend: its ``nbytes``, else those of all arrays and tensors it refers to, and of
    a user's module of torch its parameters and buffers."""
    nbytes = getattr(backend, "nbytes", None)
    if nbytes is not None:
        return int(nbytes)
    torch = sys.modules.get("torch")  # where it is not imported nothing is a module
    counted: dict[int, int] = {}
    waiting: list[Any] = [backend]
    while waiting:
        thing = waiting.pop()
        if id(thing) in counted or isinstance(thing, Requests):  # the rows are the engine's
            continue
        nbytes = getattr(thing, "nbytes", None)
        counted[id(thing)] = nbytes if isinstance(nbytes, int) else 0
        if isinstance(nbytes, int):
            continue
        if isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, (list, tuple)):
            waiting += thing
        elif type(thing).__module__.split(".")[0] in ("vecchess", "torch"):
            waiting += vars(thing).values() if hasattr(thing, "__dict__") else ()
        elif torch is not None and isinstance(thing, torch.nn.Module):
            waiting += [*thing.parameters(), *thing.buffers()]
    return sum(counted.values())
