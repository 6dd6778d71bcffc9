"""Whole trainings of learner, players and store in one process, under a virtual clock.

The steps are the product's own; what they ask for is answered here, with faults drawn from a seed:
requests that take long, fail, or are carried out twice; listings that lag; writes that get lost;
players and learners that are killed at any request, stopped for long, or begin while others of
them go on; clocks that jump; players that lie. A "network" is a hash of the network before and of
all games, so that a single wrong or missing game changes the last one.

    python -m tests.fleet.simulation --blocks 1000000            # with new seeds
    python -m tests.fleet.simulation --seed 17                   # one training again
"""

import argparse
import hashlib
import heapq
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from vecchess.errors import DataError
from vecchess.fleet import steps as requests
from vecchess.fleet.learner_steps import LearnerSteps, Rewind
from vecchess.fleet.player_steps import PlayerSteps
from vecchess.fleet.steps import SEEN, Played, Steps, ask_store
from vecchess.fleet.task import CUTS, Task, cut_part
from vecchess.store.block_file import BlockName, pack_block, unpack_block

SEAT_BYTES = 36
"""A seat's number and the 32 bytes that stand for its game."""
MOST_EVENTS = 300_000
"""A training that needs more does not end."""


@dataclass(frozen=True)
class World:
    """What a training is, and what befalls it; drawn from a seed by ``drawn_world``."""

    seed: int
    seats: int = 24
    generations: int = 6
    players: int = 3
    block_s: float = 8.0
    """Time of a block at speed 1."""
    slow: float = 1.0
    """Speed of the first player."""
    list_lag_s: float = 0.0
    failed: float = 0.0
    """Share of requests that fail, half of them after they were carried out; they are repeated."""
    lost: float = 0.0
    """Share of writes that are confirmed and get lost."""
    repeated: float = 0.0
    """Share of writes that are carried out once more, later."""
    kills: float = 0.0
    """Share of requests to the store at which the one who asks is killed."""
    pauses: float = 0.0
    """Share of requests after which the one who asks is stopped for minutes."""
    second_learner: bool = False
    """A killed learner may go on beside the one that replaces it."""
    clock_jumps: bool = False
    lies: float = 0.0
    """Share of its blocks in which the last player lies."""
    verify: float = 0.0


def drawn_world(seed: int) -> World:
    """A world in which each kind of fault is there or not."""
    draw = random.Random(seed)

    def some(most: float) -> float:
        return draw.choice((0.0, draw.uniform(0, most)))

    players = draw.randrange(1, 6)
    lies = draw.choice((0.0, 0.2)) if players > 1 else 0.0
    return World(
        seed=seed,
        seats=draw.randrange(1, 40),
        generations=draw.randrange(3, 9),
        players=players,
        slow=draw.choice((1.0, 1 / 3)),
        list_lag_s=some(20.0),
        failed=some(0.1),
        lost=some(0.1),
        repeated=some(0.1),
        kills=some(0.03),
        pauses=some(0.01),
        second_learner=draw.random() < 0.3,
        clock_jumps=draw.random() < 0.3,
        lies=lies,
        verify=draw.choice((0.0, 0.1)) if not lies else draw.choice((0.3, 1.0)),
    )


def play_seat(net: str, generation: int, seat: int, before: bytes) -> bytes:
    """The one right answer for a seat: its game at the end of the generation."""
    return hashlib.sha256(f"{net} {generation} {seat} ".encode() + before).digest()


def learnt(net: str, games: Sequence[bytes]) -> str:
    """The network after a generation with these games, by seat."""
    return hashlib.sha256(net.encode() + b"".join(games)).hexdigest()


def true_network(world: World) -> str:
    """The last network, as one machine without any fault gets it."""
    net, games = "first", [b""] * world.seats
    for generation in range(world.generations):
        games = [play_seat(net, generation, s, game) for s, game in enumerate(games)]
        net = learnt(net, games)
    return net


def packed_cut(games: dict[int, bytes]) -> bytes:
    return b"".join(seat.to_bytes(4, "little") + game for seat, game in sorted(games.items()))


def unpacked_cut(data: bytes) -> dict[int, bytes]:
    parts = [data[at : at + SEAT_BYTES] for at in range(0, len(data), SEAT_BYTES)]
    return {int.from_bytes(part[:4], "little"): part[4:] for part in parts}


@dataclass
class SimulatedStore:
    """Objects with the time at which listings begin to show them."""

    objects: dict[str, bytes] = field(default_factory=dict)
    made_s: dict[str, float] = field(default_factory=dict)
    folders: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    now: Callable[[], float] = lambda: 0.0
    lag_s: Callable[[], float] = lambda: 0.0
    give_up: Callable[[], bool] = lambda: False

    def create(self, name: str, data: bytes) -> bool:
        if name in self.objects:
            return False
        self.put(name, data)
        return True

    def put(self, name: str, data: bytes) -> None:
        self.made_s.setdefault(name, self.now())
        self.objects[name] = data
        self.folders[name.rpartition("/")[0] + "/"].add(name)

    def get(self, name: str) -> bytes | None:
        return self.objects.get(name)

    def get_range(self, name: str, start: int, length: int) -> bytes | None:
        data = self.objects.get(name)
        return None if data is None else data[start : start + length]

    def names(self, prefix: str) -> list[str]:
        before = self.now() - self.lag_s()
        return sorted(name for name in self.folders[prefix] if self.made_s[name] <= before)

    def probe(self) -> None:
        """It does as it is told."""

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            self.objects.pop(name, None)
            self.folders[name.rpartition("/")[0] + "/"].discard(name)


@dataclass
class Books:
    """What a learner keeps on its own disk: networks by generation, and the recorded blocks."""

    nets: list[str] = field(default_factory=lambda: ["first"])
    recorded: dict[int, dict[int, tuple[BlockName, bytes, bytes]]] = field(default_factory=dict)
    """By generation and seat: the result, the whole of its cut, and the seat's game."""

    def copy(self) -> "Books":
        return Books(list(self.nets), {g: dict(seats) for g, seats in self.recorded.items()})


Made = Callable[[str], Steps[Any]]


@dataclass
class Process:
    """A learner or a player: what it waits for next. A killed one is never woken again."""

    name: str
    steps: Steps[Any]
    is_learner: bool
    speed: float = 1.0
    clock_s: float = 0.0
    """By how much its clock is ahead."""
    lies: float = 0.0
    is_alive: bool = True
    working: list[tuple[float, Played]] = field(default_factory=list)
    """Blocks that it plays, with the times when each is done."""


class Simulation:
    """One training."""

    def __init__(self, world: World, draw: random.Random | None = None) -> None:
        self.world, self.draw = world, draw or random.Random(world.seed ^ 0x5EED)
        self.now = 0.0
        self.events: list[tuple[float, int, Process, Any]] = []
        self.num_events = self.num_blocks = self.num_named = 0
        self.store = SimulatedStore(now=lambda: self.now, lag_s=self._lag_s)
        self.books = Books()
        """What the last push of a learner left for the next one."""
        self.last_net = ""
        self._names = self.num_learners = 0

    def run(self) -> str:
        """The last network that a learner wrote. Raises AssertionError where none comes to it."""
        self._start_learner()
        for index in range(self.world.players):
            at = self.draw.uniform(0, 100 if index > 1 else 1)
            self._start_player(index, at)
        while not self.last_net:
            assert self.events, "nobody is left to act"
            self.now, _, process, answer = heapq.heappop(self.events)
            if process.is_alive:
                self.num_events += 1
                assert self.num_events < MOST_EVENTS, "the training does not end"
                self._advance(process, answer)
        return self.last_net

    def _lag_s(self) -> float:
        return self.draw.uniform(0, self.world.list_lag_s)

    def _start_player(self, index: int, delay_s: float) -> None:
        self._names += 1
        name = f"player{index}_{self._names}"
        is_liar = self.world.lies and index == self.world.players - 1
        process = Process(
            name, PlayerSteps(name).run(), False, self.world.slow if index == 0 else 1.0,
            lies=self.world.lies if is_liar else 0.0,
        )  # fmt: skip
        self._wake(process, None, delay_s)

    def _start_learner(self, delay_s: float = 0.0) -> None:
        self._names, self.num_learners = self._names + 1, self.num_learners + 1
        name = f"learner{self._names}"
        self._wake(Process(name, self._learner(self.books.copy()), True), None, delay_s)

    def _wake(self, process: Process, answer: Any, delay_s: float) -> None:
        self._names += 1
        heapq.heappush(self.events, (self.now + delay_s, self._names, process, answer))

    def _advance(self, process: Process, answer: Any) -> None:
        """Give a process the answer it waited for, and carry out what it asks for next."""
        world, draw = self.world, self.draw
        try:
            request = process.steps.send(answer)
        except StopIteration as end:
            if process.is_learner:
                self.last_net = end.value
            elif end.value:  # refused: it comes again under another name, and is honest then
                self._start_player(0, 5.0)
            return
        is_write = isinstance(request, requests.Create | requests.Put | requests.Delete)
        if is_write and draw.random() < world.kills:
            self._kill(process)
            if draw.random() < 0.5:
                return
        answer, delay_s = self._answered(process, request)
        if world.pauses and draw.random() < world.pauses:
            delay_s += draw.uniform(10, 600)
        if world.clock_jumps and draw.random() < 0.01:
            process.clock_s += draw.uniform(-1000, 1000)
        self._wake(process, answer, delay_s)

    def _kill(self, process: Process) -> None:
        if process.is_learner:
            self.num_learners -= 1
            process.is_alive = False
            self._start_learner(self.draw.uniform(1, 30))
            if self.world.second_learner and self.num_learners < 2:
                SEEN["two learners at once"] += 1
                self._start_learner(self.draw.uniform(1, 30))
        else:
            process.is_alive = False
            self._start_player(1, self.draw.uniform(1, 30))

    def _answered(self, process: Process, request: requests.Request) -> tuple[Any, float]:
        """The answer to a request, and after how long it comes."""
        delay_s = self.draw.uniform(0.001, 0.1)
        match request:
            case requests.Pause(seconds):
                return None, seconds
            case requests.Clock():
                return self.now + process.clock_s, 0.0
            case requests.IsStopping():
                return False, 0.0
            case requests.Room():
                return max(0, 2 - len(process.working)), 0.0
            case requests.Begin(task, block, cuts):
                self._begin(process, task, block, cuts)
                return None, 0.0
            case requests.TakePlayed():
                done = [played for end_s, played in process.working if end_s <= self.now]
                process.working = [each for each in process.working if each[0] > self.now]
                return done, 0.0
            case requests.Create() | requests.Put():
                return self._write(request), delay_s
        answer = ask_store(self.store, request)
        assert answer is not NotImplemented, request
        return answer, delay_s

    def _write(self, request: requests.Create | requests.Put) -> Any:
        """Carry a write out, once, twice, or not at all."""
        world, draw = self.world, self.draw
        is_there = isinstance(request, requests.Create) and request.name in self.store.objects
        if draw.random() < world.lost and not is_there:
            SEEN["a write is lost"] += 1
            return True
        answer = ask_store(self.store, request)
        if world.failed and draw.random() < world.failed and answer is True:
            SEEN["a write fails after it was carried out"] += 1
            answer = False
        if world.repeated and draw.random() < world.repeated:
            again = Process("late", self._repeat(request), False)
            self._wake(again, None, draw.uniform(1, 300))
        return answer

    def _repeat(self, request: requests.Create | requests.Put) -> Steps[str]:
        ask_store(self.store, request)
        return ""
        yield

    def _begin(self, process: Process, task: Task, block: int, cuts: list[bytes]) -> None:
        """Let a player play a block."""
        before = {seat: game for cut in cuts for seat, game in unpacked_cut(cut).items()}
        games = self._play(task, block, before)
        if process.lies and self.draw.random() < process.lies:
            SEEN["a player lies"] += 1
            games[min(games)] = hashlib.sha256(games[min(games)]).digest()
        data = pack_block(f"{task.net_sha256} {task.generation}".encode(), packed_cut(games))
        busy_until = max([end_s for end_s, _ in process.working], default=self.now)
        end_s = busy_until + self.world.block_s / process.speed
        process.working.append((end_s, Played(task.number, block, data)))
        self.num_blocks += 1

    def _play(self, task: Task, block: int, before: dict[int, bytes]) -> dict[int, bytes]:
        seats = self._seats_of(task, block)
        if task.generation:
            assert set(seats) <= before.keys(), "a block lacks the games that it goes on with"
        return {
            seat: play_seat(task.net_sha256, task.generation, seat, before.get(seat, b""))
            for seat in seats
        }

    # the learner: what a training does around the product's steps

    def _learner(self, books: Books) -> Steps[str]:
        learner = LearnerSteps(keeps_results=self.world.second_learner)
        rewind = yield from self._own(learner.start(), books)
        generation = len(books.nets) - 1
        while generation < self.world.generations:
            if rewind is None:
                draft = self._draft(learner, books, generation)
                seats = books.recorded.setdefault(generation, {})
                wanted = [
                    block
                    for block in range(draft.blocks.num_blocks)
                    if not any(
                        int(i) % self.world.seats in seats for i in draft.blocks.ids(block).ids
                    )
                ]
                rewind = yield from self._own(learner.gather(draft, wanted), books)
            if rewind is not None:
                self.num_named += 1
                generation = min(generation, rewind.generation)
                books.nets = books.nets[: generation + 1]
                books.recorded = {g: v for g, v in books.recorded.items() if g < generation}
                rewind = None
                continue
            seats = books.recorded[generation]
            assert seats.keys() == set(range(self.world.seats)), "a seat was not played"
            games = [seats[seat][2] for seat in range(self.world.seats)]
            books.nets.append(learnt(books.nets[-1], games))
            generation += 1
            if self.draw.random() < 0.7:
                self.books = books.copy()
        return books.nets[-1]

    def _draft(self, learner: LearnerSteps, books: Books, generation: int) -> Task:
        seats = self.world.seats
        size = 1 + hash((self.world.seed, generation // 2)) % min(seats, 6)
        draft = Task(
            number=0, generation=generation, first=generation * seats, end=(generation + 1) * seats,
            size=size, net="net", net_sha256=books.nets[generation],
        )  # fmt: skip
        if not generation:
            return draft
        before = books.recorded[generation - 1]
        inputs = []
        for block in range(draft.blocks.num_blocks):
            cuts = dict(before[seat][:2] for seat in self._seats_of(draft, block))
            parts = [
                cut_part(cut, name if learner.has_results_of(name.task) else None)
                for name, cut in sorted(cuts.items())
            ]
            inputs.append(tuple(parts))
        return draft.model_copy(update={"inputs": tuple(inputs)})

    def _seats_of(self, task: Task, block: int) -> list[int]:
        return [int(segment) % self.world.seats for segment in task.blocks.ids(block).ids]

    def _own(self, steps: Steps[Rewind | None], books: Books) -> Steps[Rewind | None]:
        """Answer what is asked of the learner's own machine; pass on the rest."""
        answer: Any = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as end:
                rewind: Rewind | None = end.value
                return rewind
            answer = self._own_answer(request, books)
            if answer is NotImplemented:
                answer = yield request

    def _own_answer(self, request: requests.Request, books: Books) -> Any:
        match request:
            case requests.Supply(task):
                cuts = {
                    hashlib.sha256(cut).hexdigest(): cut
                    for _, cut, _ in books.recorded.get(task.generation - 1, {}).values()
                }
                for part in (part for parts in task.inputs for part in parts):
                    if part.object.startswith(CUTS):
                        self._write(requests.Create(part.object, cuts[part.sha256]))
                return None
            case requests.Tell() | requests.Gathered():
                return None
            case requests.IsDrawn():
                return self.draw.random() < self.world.verify
            case requests.Inspect(task, name, data):
                return self._fault(task, name, data)
            case requests.Replay(task, name, data):
                return self._difference(books, task, name, data)
            case requests.Accept(task, results):
                self._accept(books, task, results)
                return None
            case requests.EarliestBy(player):
                found = [
                    generation
                    for generation, seats in books.recorded.items()
                    if any(name.player == player for name, *_ in seats.values())
                ]
                return min(found, default=None)
        return NotImplemented

    def _fault(self, task: Task, name: BlockName, data: bytes) -> str:
        try:
            games, cut = unpack_block(name.object, data)
        except DataError as error:
            return str(error)
        if games != f"{task.net_sha256} {task.generation}".encode():
            return "it is of another task"
        wanted = self._seats_of(task, name.block)
        return "" if sorted(unpacked_cut(cut)) == wanted else "it has other seats"

    def _difference(self, books: Books, task: Task, name: BlockName, data: bytes) -> str:
        before = books.recorded.get(task.generation - 1, {})
        games = {seat: each[2] for seat, each in before.items()}
        right = packed_cut(self._play(task, name.block, games))
        return "" if unpack_block(name.object, data)[1] == right else "its games are others"

    def _accept(self, books: Books, task: Task, results: dict[BlockName, bytes]) -> None:
        seats = books.recorded.setdefault(task.generation, {})
        for name, data in results.items():
            cut = unpack_block(name.object, data)[1]
            for seat, game in unpacked_cut(cut).items():
                assert seat not in seats, "a segment counts twice"
                seats[seat] = name, cut, game


def train(seed: int) -> Simulation:
    """Simulate the training of a seed. Raises AssertionError where its network is not the true
    one, or it does not end."""
    world = drawn_world(seed)
    simulation = Simulation(world)
    net = simulation.run()
    if world.lies and world.verify < 1:
        return simulation  # a lie may not have been drawn
    assert net == true_network(world), f"seed {seed}: another network than one machine's"
    return simulation


def seeds(first: int) -> Iterator[int]:
    """All seeds from ``first`` on."""
    while True:
        yield first
        first += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate until so many blocks were played; prints what was seen, as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one training alone")
    given = parser.parse_args(arguments)
    began, blocks, events, trainings = perf_counter(), 0, 0, 0
    for seed in [given.seed] if given.seed is not None else seeds(given.first):
        try:
            simulation = train(seed)
        except AssertionError as error:
            print(f"seed {seed}: {error}", file=sys.stderr)
            raise
        blocks, events = blocks + simulation.num_blocks, events + simulation.num_events
        trainings += 1
        if blocks >= given.blocks:
            break
    facts = {
        "trainings": trainings, "blocks": blocks, "events": events,
        "seconds": round(perf_counter() - began, 1), "seen": dict(sorted(SEEN.items())),
    }  # fmt: skip
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
