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
import heapq
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import process_time
from typing import Any, NamedTuple

from tests.fleet.simulated_store import (
    FIRST_NET,
    SEAT_BYTES,
    SimulatedStore,
    learnt,
    packed_cut,
    play_seat,
    sha256_of,
    true_network,
    unpacked_cut,
)
from tests.fleet.worlds import World, drawn_world
from vecchess.errors import DataError
from vecchess.fleet import steps as requests
from vecchess.fleet.learner_steps import BANNED, LearnerSteps
from vecchess.fleet.player_steps import PlayerSteps
from vecchess.fleet.steps import SEEN, Played, Steps, ask_store, sometimes
from vecchess.fleet.task import CUTS, FleetTask, cut_part
from vecchess.store.remote.block_file import HEAD_BYTES, BlockName, pack_block, unpack_block

SOMETIMES = frozenset((
    "a block is played although another player has claimed it",
    "a learner begins with older books",
    "a learner finds a task of another history",
    "a learner goes on with a task that is there",
    "a learner is killed while it records",
    "a lie is never found",
    "a listing lacks a name",
    "a player is killed",
    "a player is wrong whose games were learnt from",
    "a player learns that it is refused",
    "a player lies",
    "a read is damaged",
    "a task is given out once more, after a newer one",
    "a task was lost",
    "a write fails after it was carried out",
    "a write is carried out late",
    "a write is lost",
    "the games that a block goes on with are gone",
    "the number of a task is another learner's",
    "two learners at once",
))  # fmt: skip
"""All that the protocol and this simulation are to meet in a long run."""
STORE_REQUESTS = (
    requests.Create, requests.Put, requests.Get, requests.Names, requests.Delete
)  # fmt: skip


class SeatGame(NamedTuple):
    """A recorded game of a seat, at the end of a generation."""

    result: BlockName | None
    """None: the learner's own machine played it."""
    cut: bytes
    """The whole file that it lies in."""
    is_object: bool
    """Whether the file is that of the result, not a part of it."""
    game: bytes


@dataclass
class Books:
    """What a learner keeps on its own disk."""

    nets: list[str] = field(default_factory=lambda: [FIRST_NET])
    """The networks by generation."""
    recorded: dict[int, dict[int, SeatGame]] = field(default_factory=dict)
    """The games by generation and seat."""

    def copy(self) -> "Books":
        return Books(list(self.nets), {g: dict(seats) for g, seats in self.recorded.items()})

    def has_any_of(self, players: set[str]) -> bool:
        games = (game for seats in self.recorded.values() for game in seats.values())
        return any(game.result is not None and game.result.player in players for game in games)


@dataclass(eq=False)
class Process:
    """A learner, a player or a fate. A killed one is never woken again."""

    name: str
    steps: Steps[Any]
    index: int = -1
    """Which player it is; those that replace a killed one are the same."""
    books: Books | None = None
    """Of a learner."""
    accepted_s: float = 0.0
    speed: float = 1.0
    clock_s: float = 0.0
    """By how much its clock is ahead."""
    num_jumps: int = 0
    naming: str = ""
    """The player that a learner is banning."""
    lies: float = 0.0
    is_hog: bool = False
    is_alive: bool = True
    is_stopping: bool = False
    working: list[tuple[float, Played]] = field(default_factory=list)
    """Blocks that it plays, with the times when each is done."""


class _Ended(Exception):  # noqa: N818
    """A process ends at something that it asked of its own machine."""


class Simulation:
    """One training."""

    def __init__(self, world: World) -> None:
        self.world, self.draw = world, random.Random(world.seed ^ 0x5EED)
        self.now = 0.0
        self.num_events = self.num_blocks = self.num_kills = 0
        self.asked: Counter[str] = Counter()
        """Requests of players to the store, by kind."""
        self.books = [Books()]
        """What learners pushed; the last one is where the next learner begins."""
        self.final = Books()
        """Those of the learner that came to the end."""
        self.liars: set[str] = set()
        """Names under which a lie was told."""
        self.named_after: dict[str, int] = {}
        """Blocks that each liar had played when it was banned."""
        self._named_s: dict[str, float] = {}
        self.played_by: Counter[str] = Counter()
        self._wrong_games: set[bytes] = set()
        self._store = SimulatedStore(lambda: self.now, self._lag_s)
        self._numbers = count()
        self._events: list[tuple[float, int, Process, Any]] = []
        self._players: dict[str, Process] = {}
        """Those that are there."""
        self._num_learners = 0
        self._accepted_s = 0.0
        """When the learner that came to the end recorded its last results."""
        self._has_ended = False
        self._most_events = 5_000 + 1_000 * world.num_blocks
        self._local: dict[type, Callable[[Process, Any], Any]] = {
            requests.Clock: self._clock, requests.IsStopping: lambda p, _: p.is_stopping,
            requests.Room: self._room, requests.Begin: self._begin,
            requests.TakePlayed: self._take_played, requests.Supply: self._supply,
            requests.Tell: lambda *_: None, requests.Gathered: lambda *_: None,
            requests.IsDrawn: lambda *_: self.draw.random() < world.verify,
            requests.Inspect: self._inspect, requests.Replay: self._replay,
            requests.Accept: self._accept, requests.EarliestBy: self._earliest_by,
        }  # fmt: skip
        """What is answered at once, by the machine of the process that asks."""

    def run(self) -> str:
        """The last network that a learner wrote. Raises AssertionError where none comes to it."""
        self._start_learner()
        for index in range(self.world.players):
            self._start_player(index, self.draw.uniform(0, 100 if index > 1 else 1))
        for fate in (self._kill_players(), self._bring_late_ones()):
            self._wake(Process("fate", fate), None, 0.0)
        while not self._has_ended:
            self.now, _, process, answer = heapq.heappop(self._events)
            if process.is_alive:
                self.num_events += 1
                self._advance(process, answer)
                assert self.num_events < self._most_events, "the training does not end"
        return self.final.nets[-1]

    @property
    def has_lies(self) -> bool:
        """Whether the last network was learnt from a lie."""
        books = self.final.recorded.values()
        return any(game.game in self._wrong_games for seats in books for game in seats.values())

    def named_in_time(self) -> set[str]:
        """Players that were banned so early that a listing showed it before the last games were
        recorded."""
        last_s = self._accepted_s - self.world.list_lag_s
        return {player for player, named_s in self._named_s.items() if named_s < last_s}

    def _lag_s(self) -> float:
        return self.draw.random() * self.world.list_lag_s

    # processes: their begin, their requests, their end

    def _start_player(self, index: int, delay_s: float) -> None:
        world = self.world
        name = f"player{index}_{next(self._numbers)}"
        is_liar = world.players - world.liars <= index < world.players
        process = self._players[name] = Process(
            name, PlayerSteps(name).run(), index, speed=world.slow if index == 0 else 1.0,
            lies=world.lies if is_liar else 0.0, is_hog=world.has_hog and index == 1,
        )  # fmt: skip
        self._wake(process, None, delay_s)

    def _start_learner(self, delay_s: float = 0.0) -> None:
        self._num_learners += 1
        books = self.books[-1]
        if self.world.older_books and self.draw.random() < 0.5:
            books = self.draw.choice(self.books)
            if books is not self.books[-1]:
                sometimes("a learner begins with older books")
        books = books.copy()
        self._wake(Process("learner", self._learn(books), books=books), None, delay_s)

    def _wake(self, process: Process, answer: Any, delay_s: float) -> None:
        heapq.heappush(self._events, (self.now + delay_s, next(self._numbers), process, answer))

    def _advance(self, process: Process, answer: Any) -> None:
        """Give a process the answer it waited for, and carry out what it asks for next."""
        send, local = process.steps.send, self._local
        try:
            request = send(answer)
            while (carry_out := local.get(type(request))) is not None:
                request = send(carry_out(process, request))
        except StopIteration as end:
            self._has_come_to_end(process, end.value)
            return
        except _Ended:
            self._kill(process)
            return
        if isinstance(request, requests.Pause):
            self._wake(process, None, self._wait_s(process, request.seconds))
        else:
            self._ask(process, request)

    def _wait_s(self, process: Process, seconds: float) -> float:
        """How long a process waits: a player until a block of it is done. One that has no room
        asks for nothing before that, however often it looks."""
        if not process.working:
            return seconds
        left_s = process.working[0][0] - self.now
        return left_s if len(process.working) >= self.world.room else min(seconds, left_s)

    def _ask(self, process: Process, request: requests.Request) -> None:
        """Carry out a request to the store, with all that can befall it."""
        world, draw = self.world, self.draw
        delay_s = 0.001 + 0.1 * draw.random()
        is_write = not isinstance(request, requests.Get | requests.Names)
        if is_write and draw.random() < world.kills:
            self._kill(process)
            if draw.random() < 0.5:
                return
        if process.index >= 0:
            self.asked[type(request).__name__] += 1
        else:
            self._note_ban(process, request)
        if isinstance(request, requests.Create | requests.Put):
            answer = self._write(request)
        else:
            answer = ask_store(self._store, request)
            assert answer is not NotImplemented, request
            if world.damaged and isinstance(request, requests.Get) and request.length is not None:
                answer = self._damage(answer)
        if world.pauses and draw.random() < world.pauses:
            delay_s += draw.uniform(10, 600)
            self._begin_second_learner(process)
        if world.clock_jumps and process.num_jumps < 2 and draw.random() < 0.01:
            process.num_jumps += 1
            process.clock_s += draw.uniform(-1, 1) * draw.choice((1e3, 1e9))
        self._wake(process, answer, delay_s)

    def _note_ban(self, process: Process, request: requests.Request) -> None:
        """A player is named once the learner goes on after the ban."""
        name = request.name if isinstance(request, requests.Create | requests.Get) else ""
        if process.naming and name != BANNED + process.naming:
            self._named_s.setdefault(process.naming, self.now)
            process.naming = ""
        if isinstance(request, requests.Create) and name.startswith(BANNED):
            process.naming = name.removeprefix(BANNED)
            assert process.naming in self.liars, "a player is banned that was never wrong"
            self.named_after.setdefault(process.naming, self.played_by[process.naming])

    def _write(self, request: requests.Create | requests.Put) -> Any:
        """Carry a write out, once, twice, or not at all."""
        world, draw = self.world, self.draw
        is_there = isinstance(request, requests.Create) and request.name in self._store.objects
        if draw.random() < world.lost and not is_there:
            sometimes("a write is lost")
            return True
        answer = ask_store(self._store, request)
        if world.failed and draw.random() < world.failed and answer is True:
            sometimes("a write fails after it was carried out")
            answer = False
        if world.repeated and draw.random() < world.repeated:
            self._wake(Process("late", self._repeat(request)), None, draw.uniform(1, 300))
        return answer

    def _repeat(self, request: requests.Create | requests.Put) -> Steps[str]:
        ask_store(self._store, request)
        sometimes("a write is carried out late")
        return ""
        yield

    def _damage(self, data: bytes | None) -> bytes | None:
        if not data or self.draw.random() >= self.world.damaged:
            return data
        sometimes("a read is damaged")
        return data[:-1] + bytes([data[-1] ^ 1])

    def _has_come_to_end(self, process: Process, refusal: str) -> None:
        if process.books is not None:
            self.final, self._has_ended = process.books, True
            self._accepted_s = process.accepted_s
        elif process.index >= 0:
            del self._players[process.name]
            if refusal and self.draw.random() < 0.5:  # it goes on, all the same
                process.steps = PlayerSteps(process.name).run()
                self._players[process.name] = process
                self._wake(process, None, 20.0)
            elif refusal:  # it comes again under another name, and is honest then
                self._start_player(0, 5.0)

    # fates

    def _kill(self, process: Process) -> None:
        if not process.is_alive:
            return
        process.is_alive = False
        if process.books is not None:
            self._num_learners -= 1
            self._start_learner(self.draw.uniform(1, 30))
            self._begin_second_learner(process)
        else:
            sometimes("a player is killed")
            self.num_kills += 1
            del self._players[process.name]
            self._start_player(process.index, self.draw.uniform(1, 30))

    def _begin_second_learner(self, process: Process) -> None:
        """Begin another learner, as though the one that was stopped or killed were gone."""
        if process.books is not None and self.world.second_learner and self._num_learners < 2:
            sometimes("two learners at once")
            self._start_learner(self.draw.uniform(1, 30))

    def _kill_players(self) -> Steps[None]:
        every_s = self.world.ideal_s / max(self.world.num_kills, 1)
        for _ in range(self.world.num_kills):
            yield requests.Pause(self.draw.uniform(0, every_s))
            if self._players:
                self._kill(self.draw.choice(list(self._players.values())))

    def _bring_late_ones(self) -> Steps[None]:
        world = self.world
        late = range(world.players, world.players + world.late + world.crowd)
        yield from self._wait_for(world.generations // 3)
        for index in late:
            self._start_player(index, self.draw.uniform(0, world.block_s))
        yield from self._wait_for(2 * world.generations // 3)
        for process in list(self._players.values()):
            if process.index >= world.players + world.late:
                process.is_stopping = True

    def _wait_for(self, generation: int) -> Steps[None]:
        while len(self.books[-1].nets) <= generation:
            yield requests.Pause(5.0)

    # the machine of a player

    def _clock(self, process: Process, request: requests.Clock) -> float:
        return self.now + process.clock_s

    def _room(self, process: Process, request: requests.Room) -> int:
        return self.world.room - len(process.working)

    def _take_played(self, process: Process, request: requests.TakePlayed) -> list[Played]:
        done = []
        while process.working and process.working[0][0] <= self.now:
            done.append(process.working.pop(0)[1])
        return done

    def _begin(self, process: Process, request: requests.Begin) -> bool:
        """Let a player play a block; its network is there."""
        task, block, cuts = request
        if process.is_hog:
            return True
        before: dict[int, bytes] = {}
        for cut in cuts:
            before |= unpacked_cut(cut)
        cut = packed_cut(self._play(task, block, before))
        if process.lies and self.draw.random() < process.lies:
            sometimes("a player lies")
            self.liars.add(process.name)
            cut = self._lie(cut)
        data = pack_block(b"", cut)
        end_s = process.working[-1][0] if process.working else self.now
        end_s += self.world.block_s / process.speed
        process.working.append((end_s, Played(task.number, block, data)))
        self.num_blocks += 1
        self.played_by[process.name] += 1
        return True

    def _lie(self, cut: bytes) -> bytes:
        """Games that are not the right ones; at times the first seat's is missing."""
        wrong = cut[:-1] + bytes([cut[-1] ^ 1])
        self._wrong_games.add(wrong[-32:])
        return wrong[SEAT_BYTES:] if self.draw.random() < 0.2 else wrong

    def _play(self, task: FleetTask, block: int, before: dict[int, bytes]) -> dict[int, bytes]:
        seats = self._seats_of(task, block)
        assert not task.generation or before.keys() >= set(seats), "a block lacks its games"
        net, generation = task.net_sha256, task.generation
        return {seat: play_seat(net, generation, seat, before.get(seat, b"")) for seat in seats}

    def _seats_of(self, task: FleetTask, block: int) -> list[int]:
        first = task.first + block * task.size
        return [i % self.world.seats for i in range(first, min(first + task.size, task.end))]

    # the learner: what a training does around the product's steps

    def _learn(self, books: Books) -> Steps[None]:
        learner = LearnerSteps(keeps_results=self.world.keeps_results)
        salt = next(self._numbers) if self.world.is_resized else 0
        rewind = yield from learner.read_bans()
        while (generation := len(books.nets) - 1) < self.world.generations:
            if rewind is None:
                draft = self._draft(learner, books, generation, salt)
                rewind = yield from learner.gather(draft, self._wanted(books, draft))
            if rewind is not None:
                generation = min(generation, rewind.generation)
                books.nets = books.nets[: generation + 1]
                books.recorded = {g: v for g, v in books.recorded.items() if g < generation}
                rewind = None
                continue
            seats = books.recorded[generation]
            assert seats.keys() == set(range(self.world.seats)), "a seat was not played"
            games = [seats[seat].game for seat in range(self.world.seats)]
            books.nets.append(learnt(books.nets[-1], games))
            if self.draw.random() < 0.7:
                self.books.append(books.copy())

    def _draft(self, learner: LearnerSteps, books: Books, generation: int, salt: int) -> FleetTask:
        seats = self.world.seats
        most = min(seats, self.world.most_size)
        size = 1 + hash((self.world.seed, generation // 2, salt)) % most
        draft = FleetTask(
            number=0, generation=generation, first=generation * seats, end=(generation + 1) * seats,
            size=size, net="net", net_sha256=books.nets[generation],
        )  # fmt: skip
        if not generation:
            return draft
        before = books.recorded[generation - 1]
        parts = {}
        for result, cut, is_object, _ in before.values():
            if (result, cut) not in parts:
                has_it = is_object and result and learner.has_results_of(result.task)
                place = result if has_it else None
                parts[result, cut] = cut_part(sha256_of(cut), len(cut), place)
        inputs = []
        for block in range(draft.blocks.num_blocks):
            keys = dict.fromkeys(before[seat][:2] for seat in self._seats_of(draft, block))
            inputs.append(tuple(parts[key] for key in keys))
        return draft.model_copy(update={"inputs": tuple(inputs)})

    def _wanted(self, books: Books, draft: FleetTask) -> list[int]:
        """The blocks that others are to play. The learner's own machine plays some."""
        recorded = books.recorded.setdefault(draft.generation, {})
        wanted = []
        for block in range(draft.blocks.num_blocks):
            seats = self._seats_of(draft, block)
            if not recorded.keys() & set(seats) and self.draw.random() < self.world.local:
                self._record(books, draft.generation, None, self._right(books, draft, block))
            elif not recorded.keys() >= set(seats):
                wanted.append(block)
        if self.world.local and self.draw.random() < 0.5:
            self.books.append(books.copy())  # another learner may divide what is left anew
        return wanted

    def _right(self, books: Books, task: FleetTask, block: int) -> bytes:
        """The right answer, as the learner's own machine gets it."""
        before = books.recorded[task.generation - 1] if task.generation else {}
        seats = self._seats_of(task, block)
        known = {seat: before[seat].game for seat in seats} if before else {}
        return packed_cut(self._play(task, block, known))

    def _record(self, books: Books, generation: int, result: BlockName | None, cut: bytes) -> None:
        """Record the seats of a block that are not recorded yet."""
        seats = books.recorded.setdefault(generation, {})
        games = unpacked_cut(cut)
        left = {seat: game for seat, game in games.items() if seat not in seats}
        assert left, "a block is recorded that was there"
        is_object = len(left) == len(games)
        cut = cut if is_object else packed_cut(left)
        for seat, game in left.items():
            seats[seat] = SeatGame(result, cut, is_object, game)

    def _supply(self, process: Process, request: requests.Supply) -> None:
        """Write what players need and the store lacks; a result of a block as the player did."""
        (task,) = request
        assert process.books is not None
        before = process.books.recorded.get(task.generation - 1, {})
        cuts = {sha256_of(cut): cut for cut in {game.cut for game in before.values()}}
        for part in {part for parts in task.inputs for part in parts}:
            if part.object.startswith(CUTS):
                self._write(requests.Create(part.object, cuts[part.sha256]))

    def _inspect(self, process: Process, request: requests.Inspect) -> str:
        task, name, data = request
        try:
            cut = unpack_block(name.object, data)[1]
        except DataError as error:
            return str(error)
        seats = self._seats_of(task, name.block)
        return "" if sorted(unpacked_cut(cut)) == sorted(seats) else "it has other seats"

    def _replay(self, process: Process, request: requests.Replay) -> str:
        task, name, data = request
        assert process.books is not None
        right = self._right(process.books, task, name.block)
        return "" if unpack_block(name.object, data)[1] == right else "its games are others"

    def _accept(self, process: Process, request: requests.Accept) -> None:
        assert process.books is not None
        process.accepted_s = self.now
        for name, data in request.results.items():
            if self.draw.random() < self.world.kills / len(request.results):
                sometimes("a learner is killed while it records")
                self.books.append(process.books.copy())
                raise _Ended
            cut = data[HEAD_BYTES:][: int.from_bytes(data[8:HEAD_BYTES], "little")]
            self._record(process.books, request.task.generation, name, cut)

    def _earliest_by(self, process: Process, request: requests.EarliestBy) -> int | None:
        assert process.books is not None
        for generation, seats in sorted(process.books.recorded.items()):
            if any(game.result and game.result.player == request.player for game in seats.values()):
                return generation
        return None


def train(world: World) -> Simulation:
    """Simulate a training. Raises AssertionError where its network is not the true one though no
    lie was learnt from, or a named liar's games were, or it does not end."""
    simulation = Simulation(world)
    net = simulation.run()
    if simulation.has_lies:
        assert world.verify < 1, "a lie was learnt from though all results were checked"
        named = simulation.named_in_time()
        assert not simulation.final.has_any_of(named), "games of a named liar were learnt from"
        sometimes("a lie is never found")
    else:
        assert net == true_network(world), "another network than one machine's"
    return simulation


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate until so many blocks were played; prints what was seen, as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one training alone")
    given = parser.parse_args(arguments)
    began, blocks, events, trainings = process_time(), 0, 0, 0
    for seed in [given.seed] if given.seed is not None else count(given.first):
        try:
            simulation = train(drawn_world(seed))
        except Exception as error:
            command = f"python -m tests.fleet.simulation --seed {seed}"
            print(f"seed {seed}: {error}; again: {command}", file=sys.stderr)
            raise
        blocks, events = blocks + simulation.num_blocks, events + simulation.num_events
        trainings += 1
        if blocks >= given.blocks:
            break
    facts = {
        "trainings": trainings, "blocks": blocks, "events": events,
        "processor_s": round(process_time() - began, 1), "seen": dict(sorted(SEEN.items())),
    }  # fmt: skip
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
