"""What a simulated fleet shares: objects, and games and networks that are hashes."""

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence

from tests.fleet.worlds import World
from vecchess.fleet.steps import sometimes

FIRST_NET = "0" * 64
SEAT_BYTES = 36
"""A seat's number and the 32 bytes that stand for its game."""


def play_seat(net: str, generation: int, seat: int, before: bytes) -> bytes:
    """The one right answer for a seat: its game at the end of the generation."""
    return hashlib.sha256(b"%b %d %d " % (net.encode(), generation, seat) + before).digest()


def learnt(net: str, games: Sequence[bytes]) -> str:
    """The network after a generation with these games, by seat."""
    return hashlib.sha256(net.encode() + b"".join(games)).hexdigest()


def true_network(world: World) -> str:
    """The last network, as one machine without any fault gets it."""
    net, games = FIRST_NET, [b""] * world.seats
    for generation in range(world.generations):
        games = [play_seat(net, generation, s, game) for s, game in enumerate(games)]
        net = learnt(net, games)
    return net


def packed_cut(games: dict[int, bytes]) -> bytes:
    return b"".join(seat.to_bytes(4, "little") + game for seat, game in sorted(games.items()))


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def unpacked_cut(data: bytes) -> dict[int, bytes]:
    parts = [data[at : at + SEAT_BYTES] for at in range(0, len(data), SEAT_BYTES)]
    return {int.from_bytes(part[:4], "little"): part[4:] for part in parts}


class SimulatedStore:
    """Objects, and the times from which on listings may show them."""

    def __init__(
        self, now: Callable[[], float] = lambda: 0.0, lag_s: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.place, self._now, self._lag_s = "a simulated store", now, lag_s
        self.give_up: Callable[[], bool] = lambda: False
        self.objects: dict[str, bytes] = {}
        self._folders: dict[str, tuple[list[str], list[float]]] = defaultdict(lambda: ([], []))
        """Names and times of what was made in each folder, in this order."""

    def create(self, name: str, data: bytes) -> bool:
        if name in self.objects:
            return False
        self.put(name, data)
        return True

    def put(self, name: str, data: bytes) -> None:
        if name not in self.objects:
            names, times = self._folders[name[: name.rindex("/") + 1]]
            names.append(name)
            times.append(self._now())
        self.objects[name] = data

    def get(self, name: str) -> bytes | None:
        return self.objects.get(name)

    def get_range(self, name: str, start: int, length: int) -> bytes | None:
        data = self.objects.get(name)
        return None if data is None else data[start : start + length]

    def names(self, prefix: str) -> list[str]:
        names, times = self._folders[prefix]
        shown = bisect_right(times, self._now() - self._lag_s())
        if shown < len(names):
            sometimes("a listing lacks a name")
        return names[:shown]

    def probe(self) -> None:
        """It does as it is told."""

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects; a listing may show one that is gone, until it shows another change."""
        folders = set()
        for name in names:
            if self.objects.pop(name, None) is not None:
                folders.add(name[: name.rindex("/") + 1])
        for folder in folders:
            made = zip(*self._folders[folder], strict=True)
            left = [(name, made_s) for name, made_s in made if name in self.objects]
            self._folders[folder] = [each[0] for each in left], [each[1] for each in left]
