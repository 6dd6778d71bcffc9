"""A learner alone, with a store and players that a test makes up."""

from collections.abc import Callable
from typing import Any

from vecchess.fleet.learner_steps import POLL_S, LearnerSteps
from vecchess.fleet.player_steps import LOOKS, PlayerSteps, Seen
from vecchess.fleet.steps import (
    Accept,
    Create,
    EarliestBy,
    Get,
    Inspect,
    IsDrawn,
    Names,
    Pause,
    Put,
    Replay,
    Request,
    carry_out,
)
from vecchess.fleet.task import NEWEST_NAME, FleetTask, newest_hint, task_name
from vecchess.store.remote.block_file import BlockName

DRAFT = FleetTask(
    number=0, generation=0, first=0, end=4, size=1, net="n.safetensors", net_sha256="0" * 64
)
BLOCKS = range(4)


class World:
    """A store, and what happens in it after each pause of the learner."""

    def __init__(self, happens: Callable[["World", int], None], checks: bool = False) -> None:
        """``happens(world, pauses)``; ``checks``: results are played again, not only looked at."""
        self.objects: dict[str, bytes] = {}
        self.pauses = 0
        self.recorded: list[BlockName] = []
        self.asked_for: list[str] = []
        self._happens, self._checks = happens, checks

    def send(self, player: str, *blocks: int, data: bytes = b"right") -> None:
        self.objects |= {BlockName(0, block, player).object: data for block in blocks}

    def left(self) -> list[int]:
        """Blocks that a player would play."""
        seen = Seen.of(0, sorted(self.objects))
        return [block for block in BLOCKS if not seen.is_done(block)]

    def answer(self, request: Request) -> Any:
        match request:
            case Create(name, data):
                return name not in self.objects and self.objects.setdefault(name, data) is data
            case Put(name, data):
                self.objects[name] = data
            case Get(name):
                return self.objects.get(name)
            case Names(prefix):
                return sorted(name for name in self.objects if name.startswith(prefix))
            case Pause():
                self.pauses += 1
                self._happens(self, self.pauses)
            case Inspect(_, _, data):
                return "" if data == b"right" or self._checks else "wrong"
            case IsDrawn():
                return self._checks and self.pauses >= 5
            case Replay(_, _, data):
                return "" if data == b"right" else "others"
            case Accept(_, results):
                self.recorded += results
            case EarliestBy(player):
                self.asked_for.append(player)
                self.recorded = [name for name in self.recorded if name.player != player]
        return None


def gathered(world: World, **options: bool) -> World:
    steps = LearnerSteps(keeps_results=False, **options)
    assert carry_out(steps.read_bans(), world.answer) is None
    assert carry_out(steps.gather(DRAFT, BLOCKS), world.answer) is None
    return world


def test_however_long_a_learner_waited_a_late_lie_is_refused_at_once() -> None:
    """Players come after a night; one of them has a block in hand when it is found to be wrong."""
    night = int(8 * 3600 / POLL_S)

    def happens(world: World, pauses: int) -> None:
        if pauses == night:
            world.send("honest", 2, 3)
            world.send("liar", 0, data=b"wrong")
        if pauses == night + 2:
            world.send("liar", 1, data=b"wrong")
        if pauses >= night + 4:
            world.send("honest", *world.left())

    world = gathered(World(happens))
    assert world.pauses < night + 12
    assert {name.player for name in world.recorded} == {"honest"}
    assert sorted(name.block for name in world.recorded) == list(BLOCKS)


def test_self_play_records_results_as_they_come_and_drops_those_of_a_liar() -> None:
    seen = list[list[int]]()

    def happens(world: World, pauses: int) -> None:
        seen.append(sorted(name.block for name in world.recorded))
        if pauses == 1:
            world.send("honest", 2)
            world.send("liar", 0, data=b"wrong")
        if pauses == 6:
            world.send("liar", 1, data=b"wrong")
        if pauses >= 8:
            world.send("honest", *world.left())

    world = gathered(World(happens, checks=True), records_each=True)
    assert seen[1:6] == [[0, 2]] * 5
    assert seen[6] == [2]
    assert world.asked_for == ["liar"]
    assert sorted(name.block for name in world.recorded) == list(BLOCKS)
    assert {name.player for name in world.recorded} == {"honest"}


def test_a_training_records_a_task_as_a_whole() -> None:
    def happens(world: World, pauses: int) -> None:
        assert not world.recorded
        world.send("honest", pauses - 1)

    assert len(gathered(World(happens)).recorded) == len(BLOCKS)


def test_a_player_finds_a_task_past_one_that_was_lost() -> None:
    """A learner that needed no task 6 any more never wrote it again."""
    world = World(lambda world, pauses: None)
    seventh = DRAFT.model_copy(update={"number": 7})
    world.objects = {NEWEST_NAME: newest_hint(7), task_name(7): seventh.to_bytes()}
    player = PlayerSteps("a")
    player._task = DRAFT.model_copy(update={"number": 5})
    found = []
    for player._looks in (LOOKS - 1, LOOKS):
        found.append(carry_out(player._look_ahead(), world.answer))
    assert found == [False, True]
    assert player._task == seventh
