"""Learner and players under faults: what the simulation demands, and that it would notice."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import process_time

import pytest
from pydantic import ValidationError

from tests.fleet import planted, simulation, worlds
from tests.fleet.simulation import SOMETIMES, Simulation
from tests.fleet.worlds import World
from vecchess.errors import DataError
from vecchess.fleet import learner_steps
from vecchess.fleet.steps import SEEN
from vecchess.fleet.task import CutPart, FleetTask, GamesOfRun

FLEET = Path(learner_steps.__file__).parent
LONG_S = 150.0
"""Processor time of the long run."""
EASY = (
    "lost writes are not looked after at all",
    "a claim is trusted for ever",
    "a learner overwrites the tasks of another",
    "inputs that are not there are left out",
    "refused results are not marked",
    "a refused result counts as one",
    "a task is recorded before it is complete",
    "the store overwrites what is to be made only if absent",
)
"""Planted faults that a few seeds find."""


def train(world: World) -> Simulation:
    return simulation.train(world)


@pytest.mark.thorough
def test_hundreds_of_trainings_under_faults_end_with_the_network_of_one_machine() -> None:
    blocks = sum(train(worlds.small_world(seed)).num_blocks for seed in range(100))
    blocks += sum(train(worlds.drawn_world(seed)).num_blocks for seed in (3, 4, 5, 8))
    assert blocks > 1_500


@pytest.mark.parametrize("make", [worlds.bad_store, worlds.crowd])
def test_players_that_come_and_go(make: Callable[[int], World]) -> None:
    world = make(1)
    ended = train(world)
    assert ended.num_kills >= world.num_kills


def test_a_calm_training_plays_hardly_a_block_twice_and_asks_little() -> None:
    world = World(1, seats=100, most_size=1, generations=6, players=5, room=1)
    ended = train(world)
    assert ended.num_blocks < 1.1 * world.seats * world.generations
    inputs = world.seats * (world.generations - 1)
    assert (ended.asked.total() - inputs) / ended.num_blocks < 4


def test_the_same_seed_is_the_same_training() -> None:
    first, second = train(worlds.small_world(5)), train(worlds.small_world(5))
    assert first.final == second.final
    assert (first.num_events, first.now) == (second.num_events, second.now)


def test_all_that_is_to_be_seen_is_listed() -> None:
    told = Counter(
        name
        for file in (*FLEET.glob("*.py"), *Path(__file__).parent.glob("simul*.py"))
        for name in re.findall(r'sometimes\(\s*"([^"]+)"', file.read_text())
    )
    assert told.keys() == SOMETIMES


def test_a_training_that_fails_names_the_command_that_replays_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(simulation, "true_network", lambda world: "another")
    with pytest.raises(AssertionError, match="another network"):
        simulation.main(["--first", "2", "--blocks", "1"])
    assert "python -m tests.fleet.simulation --seed 2\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", EASY)
def test_a_planted_fault_is_found(name: str) -> None:
    (fault,) = (fault for fault in planted.FAULTS if fault.name == name)
    assert planted.seeds_to_find(fault, most=40) is not None


def test_planted_faults_change_texts_that_are_there() -> None:
    names = [fault.name for fault in planted.FAULTS]
    assert len(set(names)) == len(names) >= 20
    for fault in planted.FAULTS:
        assert Path(str(fault.module.__file__)).read_text().count(fault.text) == 1, fault.name
        assert fault.instead != fault.text


@pytest.mark.parametrize(
    "text", [b'"number": true', b'"number": "3"', b'"number": 3.0', b'"number": 3, "more": 1']
)
def test_a_task_with_a_value_of_another_type_is_damaged(text: bytes) -> None:
    part = CutPart(object="fleet/blocks/000001/00000-a", start=16, length=9, sha256="a" * 64)
    task = FleetTask(
        number=3, generation=1, first=0, end=1, size=1, net="net", net_sha256="", inputs=((part,),)
    )
    data = task.to_bytes()
    assert FleetTask.of_bytes("task", data) == task
    with pytest.raises(DataError, match="task is damaged"):
        FleetTask.of_bytes("task", data.replace(b'"number": 3', text))


@pytest.mark.parametrize("name", ["fleet/../a", "..", "fleet//a", "/a", "fleet/.a", "fleet/"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="object"):
        CutPart(object=name, start=0, length=9, sha256="a" * 64)


@pytest.mark.parametrize("table", ["game", "tree"])
def test_settings_of_a_run_that_are_no_tables_are_refused(table: str) -> None:
    facts = GamesOfRun(
        run_id="0" * 32, settings={}, seats=0, turns=0, games_version=1, openings=None, tables=""
    )
    assert GamesOfRun.of_bytes("run", facts.to_bytes()) == facts
    damaged = facts.model_copy(update={"settings": {table: 5}}).to_bytes()
    with pytest.raises(DataError, match="game and tree are tables"):
        GamesOfRun.of_bytes("run", damaged)


@pytest.mark.slow
def test_a_long_run_sees_all_that_can_happen() -> None:
    SEEN.clear()
    began = process_time()
    for seed in count(1000):
        train(worlds.drawn_world(seed))
        train(worlds.small_world(seed))
        if process_time() - began > LONG_S:
            break
    assert SEEN.keys() == SOMETIMES


@pytest.mark.slow
def test_a_hundred_players_and_two_hundred_kills() -> None:
    assert train(worlds.many_kills(1)).num_kills >= 200


@pytest.mark.slow
def test_rare_lies_are_found_soon() -> None:
    trainings = [train(worlds.rare_lies(seed)) for seed in range(20)]
    named_after = [blocks for ended in trainings for blocks in ended.named_after.values()]
    assert len(named_after) >= 20
    assert sum(named_after) / len(named_after) < 400


@pytest.mark.slow
@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.name)
def test_each_planted_fault_is_found(fault: planted.Fault) -> None:
    assert planted.seeds_to_find(fault) is not None
