"""Requests of the protocol, and how they are carried out.

Learner and players are generators: each yields a request, and is sent the answer. So the same code
runs against a bucket, a folder, a Ray actor, and in a simulation with a virtual clock.
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from vecchess.fleet.task import FleetTask
from vecchess.store.remote.block_file import BlockName


class Create(NamedTuple):
    """Make an object unless there is one of that name. Answer: whether it was made (bool)."""

    name: str
    data: bytes


class Put(NamedTuple):
    """Make an object, or replace the one of that name."""

    name: str
    data: bytes


class Get(NamedTuple):
    """Read an object, or only ``length`` bytes of it from ``start`` on. Answer: bytes; None where
    there is no such object."""

    name: str
    start: int = 0
    length: int | None = None


class Names(NamedTuple):
    """Names that begin with ``prefix``, as far as the store knows them. Answer: list[str]."""

    prefix: str


class Delete(NamedTuple):
    """Remove objects, those that are not there included."""

    names: list[str]


class Pause(NamedTuple):
    """Wait; a player, until a block of it is done, where that is sooner."""

    seconds: float


class Clock(NamedTuple):
    """Answer: seconds (float) of a clock that is this process's own."""


class IsStopping(NamedTuple):
    """Answer: whether the player was asked to end (bool)."""


class Room(NamedTuple):
    """Answer: how many blocks of ``task`` the devices would take now (int)."""

    task: FleetTask


class Begin(NamedTuple):
    """Play a block, which goes on with the files ``cuts``. Answer: whether the network of the task
    is there (bool)."""

    task: FleetTask
    block: int
    cuts: list[bytes]


class TakePlayed(NamedTuple):
    """Answer: list[Played], the blocks that are done and were not taken before."""


class Played(NamedTuple):
    """A block that a player has played."""

    task: int
    block: int
    data: bytes
    """A block's result, as ``store/remote/block_file.py`` packs it."""


class Supply(NamedTuple):
    """Have all that players of ``task`` need in the store, its network and inputs, if they are not
    there."""

    task: FleetTask


class Inspect(NamedTuple):
    """Answer: what is wrong with a result that can be seen without playing it, or "" (str)."""

    task: FleetTask
    name: BlockName
    data: bytes


class Replay(NamedTuple):
    """Play a block again here. Answer: how the result differs, or "" (str)."""

    task: FleetTask
    name: BlockName
    data: bytes


class IsDrawn(NamedTuple):
    """Answer: whether the next result is to be checked (bool). No player can foresee it."""


class Gathered(NamedTuple):
    """Take note which results of a task are there; for people."""

    task: FleetTask
    names: list[BlockName]


class Accept(NamedTuple):
    """Record results durably; of a training those of a whole task at once."""

    task: FleetTask
    results: dict[BlockName, bytes]


class EarliestBy(NamedTuple):
    """Answer: the first recorded generation with a block by ``player`` (int), or None."""

    player: str


class Tell(NamedTuple):
    """Tell people a line."""

    line: str


Request = (
    Create | Put | Get | Names | Delete | Pause | Clock | IsStopping | Room | Begin | TakePlayed
    | Supply | Inspect | Replay | IsDrawn | Gathered | Accept | EarliestBy | Tell
)  # fmt: skip
ResultT = TypeVar("ResultT")
Steps = Generator[Request, Any, ResultT]


class Store(Protocol):
    """Where objects lie: ``store/remote/object_store.py``, or an actor of Ray."""

    place: str
    """Its name for people."""
    give_up: Callable[[], bool]
    """Whether a request that gets no answer is to end with an error now."""

    def create(self, name: str, data: bytes) -> bool: ...
    def put(self, name: str, data: bytes) -> None: ...
    def get(self, name: str) -> bytes | None: ...
    def get_range(self, name: str, start: int, length: int) -> bytes | None: ...
    def delete(self, names: Sequence[str]) -> None: ...
    def names(self, prefix: str) -> list[str]: ...
    def probe(self) -> None: ...


def ask_store(store: Store, request: Request) -> Any:
    """The answer of ``store`` to a request that is for it; NotImplemented for any other."""
    match request:
        case Create(name, data):
            return store.create(name, data)
        case Put(name, data):
            return store.put(name, data)
        case Get(name, start, length):
            if length is not None:
                return store.get_range(name, start, length)
            return store.get(name)
        case Names(prefix):
            return store.names(prefix)
        case Delete(names):
            return store.delete(names)
    return NotImplemented


SEEN: Counter[str] = Counter()
"""How often each thing happened that ``sometimes`` is told of."""


def sometimes(what: str) -> None:
    """Count that a case came up for which the protocol was made: a simulation that never sees it
    tests nothing of it."""
    SEEN[what] += 1


def always(holds: bool, what: str) -> None:
    """Raise AssertionError where something does not hold that the protocol relies on."""
    if not holds:
        raise AssertionError(f"not so: {what}")


def carry_out(steps: Steps[ResultT], answer: Callable[[Request], Any]) -> ResultT:
    """Run ``steps`` to their end, with ``answer`` to each request."""
    try:
        request = next(steps)
        while True:
            request = steps.send(answer(request))
    except StopIteration as end:
        result: ResultT = end.value
        return result
