"""What the simulation simulates: trainings, and what befalls them.

A world is drawn from a seed, so that a seed replays, or has a name and is made by hand.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class World:
    """What a training is, and what befalls it."""

    seed: int
    seats: int = 24
    generations: int = 6
    most_size: int = 6
    """Seats of the largest block."""
    is_resized: bool = False
    """Each learner divides the seats anew, instead of every second generation."""
    local: float = 0.0
    """Share of the seats that the learner's own machine plays."""
    keeps_results: bool = False
    verify: float = 0.0

    players: int = 3
    room: int = 2
    """Blocks that a player takes at a time."""
    block_s: float = 8.0
    """Time of a block at speed 1."""
    slow: float = 1.0
    """Speed of the first player."""
    has_hog: bool = False
    """The second player claims all blocks and plays none."""
    late: int = 0
    """Players that join after a third of the training, besides the others."""
    crowd: int = 0
    """Players that are there from a third to two thirds of the training, besides the others."""

    list_lag_s: float = 0.0
    failed: float = 0.0
    """Share of writes that are carried out and seem to have failed: the client repeats them."""
    lost: float = 0.0
    """Share of writes that are confirmed and get lost."""
    repeated: float = 0.0
    """Share of writes that are carried out once more, later."""
    damaged: float = 0.0
    """Share of the reads of inputs that give other bytes."""
    kills: float = 0.0
    """Share of writes at which the process that asks is killed, before or after."""
    num_kills: int = 0
    """Players killed at any time, besides."""
    pauses: float = 0.0
    """Share of requests after which the process that asks is stopped for minutes."""
    second_learner: bool = False
    """A learner that was killed or stopped may go on beside the one that replaces it."""
    older_books: bool = False
    """A learner may begin with what an earlier one left, though there is a later one."""
    clock_jumps: bool = False

    liars: int = 0
    """The last players, which lie, also after they were killed and came again."""
    lies: float = 0.0
    """Share of their blocks in which they do."""

    @property
    def num_blocks(self) -> int:
        """Blocks of the training, if nothing befalls it and all are of the middle size."""
        return self.seats * self.generations * 2 // (1 + min(self.seats, self.most_size)) + 1

    @property
    def ideal_s(self) -> float:
        """About how long the training takes, if nothing befalls it."""
        return self.num_blocks * self.block_s / self.players


def drawn_world(seed: int) -> World:
    """A world in which each kind of fault is there or not."""
    draw = random.Random(seed)
    if draw.random() < 0.02:
        return World(seed, seats=draw.randrange(100, 400), players=40, num_kills=60, crowd=20)
    is_calm = draw.random() < 0.2

    def some(most: float) -> float:
        return 0.0 if is_calm and draw.random() < 0.8 else draw.choice((0.0, draw.uniform(0, most)))

    def at_times(share: float) -> bool:
        return draw.random() < (share / 5 if is_calm else share)

    players = draw.randrange(1, 6)
    liars = draw.randrange(1, players) if players > 1 and at_times(0.4) else 0
    second_learner = at_times(0.3)
    return World(
        seed,
        seats=draw.randrange(1, 60),
        generations=draw.randrange(3, 9),
        most_size=draw.choice((1, 3, 6)),
        is_resized=at_times(0.3),
        local=some(0.4),
        keeps_results=second_learner or at_times(0.3),
        verify=draw.choice((0.3, 1.0)) if liars else draw.choice((0.0, 0.1)),
        players=players,
        room=draw.randrange(1, 4),
        block_s=draw.choice((0.5, 1.0, 4.0)),
        slow=draw.choice((1.0, 1 / 3)),
        has_hog=players - liars > 2 and at_times(0.3),
        late=draw.choice((0, 0, 2)),
        list_lag_s=some(20.0),
        failed=some(0.1),
        lost=some(0.1),
        repeated=some(0.1),
        damaged=some(0.02),
        kills=some(0.03),
        pauses=some(0.01),
        second_learner=second_learner,
        older_books=at_times(0.3),
        clock_jumps=at_times(0.3),
        liars=liars,
        lies=draw.choice((0.05, 0.2, 1.0)),
    )


def small_world(seed: int) -> World:
    """A world with few blocks, in which much goes wrong: many seeds in little time."""
    draw = random.Random(seed)

    def some(most: float) -> float:
        return draw.choice((0.0, draw.uniform(0, most)))

    players = draw.randrange(1, 5)
    liars = draw.randrange(players)
    second_learner = draw.random() < 0.5
    return World(
        seed,
        seats=draw.randrange(1, 9),
        generations=draw.randrange(2, 5),
        most_size=draw.choice((1, 2)),
        is_resized=draw.random() < 0.5,
        local=some(0.5),
        keeps_results=second_learner or draw.random() < 0.3,
        verify=draw.choice((0.5, 1.0)) if liars else draw.choice((0.0, 0.3)),
        players=players,
        room=draw.randrange(1, 3),
        block_s=draw.choice((0.5, 4.0)),
        slow=draw.choice((1.0, 1 / 3)),
        has_hog=players - liars > 2,
        list_lag_s=some(20.0),
        failed=some(0.1),
        lost=some(0.2),
        repeated=some(0.1),
        damaged=some(0.1),
        kills=some(0.08),
        pauses=some(0.05),
        second_learner=second_learner,
        older_books=draw.random() < 0.5,
        clock_jumps=draw.random() < 0.3,
        liars=liars,
        lies=draw.choice((0.3, 1.0)),
    )


def lone_player(seed: int) -> World:
    """One player whose clock jumps, and a store that loses one write in five."""
    return World(
        seed, seats=8, generations=4, most_size=2, block_s=0.5, players=1, lost=0.2,
        clock_jumps=True,
    )  # fmt: skip


def liars_and_kills(seed: int) -> World:
    """Two liars of three players, and learners that are killed, stopped and begin anew."""
    return World(
        seed, seats=8, generations=4, most_size=2, block_s=0.5, liars=2, lies=0.3, verify=0.5,
        lost=0.1, list_lag_s=5.0, kills=0.08, pauses=0.05, keeps_results=True, second_learner=True,
    )  # fmt: skip


def two_learners(seed: int) -> World:
    """Learners that give out each other's tasks anew, in blocks of other sizes, on a store that
    loses one write in five."""
    return World(
        seed, seats=8, generations=4, most_size=2, block_s=0.5, is_resized=True, local=0.2,
        keeps_results=True, lost=0.2, repeated=0.1, kills=0.05, pauses=0.02, second_learner=True,
        older_books=True,
    )  # fmt: skip


def one_learner(seed: int) -> World:
    """Two liars of four players, and one learner at a time, which removes old results, is killed,
    and begins anew with older books at times."""
    return World(
        seed, seats=6, generations=7, most_size=2, block_s=0.5, players=4, liars=2, lies=0.2,
        verify=0.3, kills=0.03, lost=0.1, older_books=True,
    )  # fmt: skip


def bad_store(seed: int) -> World:
    """A store that loses one write in ten, and players that come, go and are slow."""
    return World(
        seed, seats=120, generations=10, players=5, slow=1 / 3, late=2, num_kills=40, lost=0.1
    )


def many_kills(seed: int) -> World:
    """A hundred players, and two hundred kills."""
    return World(seed, seats=1000, most_size=3, generations=4, players=100, num_kills=200)


def crowd(seed: int) -> World:
    """One player, fifty, and one again."""
    return World(seed, seats=300, generations=9, players=1, crowd=49, block_s=2.0, failed=0.05)


def rare_lies(seed: int) -> World:
    """Two players that lie in one block of twenty, and one that never does; one block of ten is
    played again. It is long enough for either to be named."""
    return World(
        seed, seats=60, most_size=1, generations=60, players=3, verify=0.1, liars=2, lies=0.05
    )
