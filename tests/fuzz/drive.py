"""Many inputs to one target, and what came of them."""

import hashlib
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from tests.fuzz.limits import TooSlow, check_memory, in_time, limited, refusal
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import Read, Target

FOUND = Path(__file__).parent / "found"
"""Inputs that were once too much, by target: they are regression tests."""
MOST_KEPT = 200
WEIGHED = 64
"""Of so many inputs the memory of one is measured, which takes several times as long."""
_VARIABLE = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|/\S+")


@dataclass
class Outcome:
    """Of the inputs to one target."""

    target: str
    seed: int
    inputs: int = 0
    weighed: int = 0
    seconds: float = 0.0
    crashes: int = 0
    slowest_s: float = 0.0
    worst_ratio: float = 0.0
    """Memory beyond the target's floor, in the input's size, where it was measured."""
    refusals: int = 0
    """Different ones; inputs that led to a new one are kept and changed further."""
    faults: list[str] = field(default_factory=list)
    """Each different crash, in a line."""

    def to_dict(self) -> dict[str, Any]:
        rate = self.inputs / self.seconds if self.seconds else 0.0
        return asdict(self) | {"inputs_per_s": round(rate, 1)}


def corpus_of(target: Target) -> list[bytes]:
    """Seeds, and what was found before."""
    found = sorted((FOUND / target.name).glob("*"))
    return [*target.seeds(), *(file.read_bytes() for file in found)]


class Drive:
    """Inputs to one target, made of its corpus."""

    def __init__(self, target: Target, seed: int, save: Path | None = None) -> None:
        """``save``: crashing inputs are written there, each different crash once."""
        self.outcome = Outcome(target.name, seed)
        self._target, self._save = target, save
        self._corpus = corpus_of(target)
        self._longest = max(len(data) for data in target.seeds())
        self._mutator = Mutator(target.shape, target.words, seed)
        self._refusals: set[str] = set()
        self._began = perf_counter()

    def run(self, inputs: int, seconds: float, beat: Callable[[], None] = lambda: None) -> Outcome:
        """Until so many inputs were read, or so long has passed. ``beat`` is called at each."""
        draw = self._mutator.draw
        with self.reading() as read:
            while self.outcome.inputs < inputs and perf_counter() - self._began < seconds:
                beat()
                data, other = draw.choice(self._corpus), draw.choice(self._corpus)
                self.take(read, self._mutator.made_of(data, other))
        return self.outcome

    @contextmanager
    def reading(self) -> Iterator[Read]:
        """The reader, warm, and limited in what it may take."""
        with (
            TemporaryDirectory(dir=_quick_folder()) as folder,
            self._target.opened(Path(folder)) as read,
        ):
            for data in self._corpus:  # also compiles what is to be compiled, without limits
                _ignore(read, data)
            with limited():
                self._began = perf_counter()
                yield read
        self.finish()

    def finish(self) -> None:
        """Note how long it took, and how many refusals there were."""
        self.outcome.seconds = round(perf_counter() - self._began, 2)
        self.outcome.refusals = len(self._refusals)

    def take(self, read: Read, data: bytes) -> None:
        """Let one input be read, and note what came of it."""
        self.outcome.inputs += 1
        start = perf_counter()
        try:
            with in_time():
                if self.outcome.inputs % WEIGHED == 0:
                    self.outcome.weighed += 1
                    ratio = check_memory(read, data, self._target.floor_mib)
                    self.outcome.worst_ratio = max(self.outcome.worst_ratio, round(ratio, 2))
                    return
                found = refusal(read, data)
            took = round(perf_counter() - start, 4)
            self.outcome.slowest_s = max(self.outcome.slowest_s, took)
            self._note(data, found)
        except (Exception, TooSlow) as error:
            self._crash(data, error)

    def _note(self, data: bytes, refusal: str) -> None:
        """Keep an input that is refused in a way that is new."""
        kind = _VARIABLE.sub("#", refusal)[-50:]
        is_new = kind not in self._refusals and len(self._refusals) < MOST_KEPT
        if is_new and len(data) < 2 * self._longest:
            self._refusals.add(kind)
            self._corpus.append(data)

    def _crash(self, data: bytes, error: BaseException) -> None:
        self.outcome.crashes += 1
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "/vecchess/" in frame.filename] or frames
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        fault = f"{type(error).__name__} at {place}: {_VARIABLE.sub('#', str(error))[:120]}"
        if fault in self.outcome.faults or len(self.outcome.faults) >= 50:
            return
        self.outcome.faults.append(fault)
        if self._save is not None:
            folder = self._save / self._target.name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)


def _ignore(read: Read, data: bytes) -> None:
    try:
        read(data)
    except Exception:  # a committed case that is not mended is found again below, with its limits
        return


def _quick_folder() -> str | None:
    """A folder in memory, where there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
