"""Faults that somebody might write into the protocol, and whether the simulation finds them.

python -m tests.fleet.planted               # a table: fault, seeds until it is found
"""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.fleet import simulated_store, simulation
from tests.fleet.worlds import (
    World,
    liars_and_kills,
    lone_player,
    one_learner,
    small_world,
    two_learners,
)  # fmt: skip
from vecchess.fleet import learner_steps, player_steps

LEARNER, PLAYER, WORLD, STORE = learner_steps, player_steps, simulation, simulated_store
MOST_SEEDS = 800


class Fault(NamedTuple):
    """Another text in a module."""

    name: str
    module: ModuleType
    text: str
    """It stands there once."""
    instead: str
    world: Callable[[int], World] = small_world
    """Where it is looked for."""


FAULTS = (
    # writes that get lost, or were never made
    Fault("a lost task is not written again", LEARNER,
          "        if (yield Get(task_name(newest.number))) is None:\n", "        if False:\n"),
    Fault("lost writes are not looked after at all", LEARNER,
          "if idle == patience or not work.tasks:", "if not work.tasks:"),
    Fault("lost inputs are not written again", LEARNER,
          "    def _announce(self, task: FleetTask) -> Steps[None]:\n        yield Supply(task)\n",
          "    def _announce(self, task: FleetTask) -> Steps[None]:\n"),
    Fault("a block that was sent is believed to be there", PLAYER,
          "since = self._in_hand.pop((each.task, each.block), now)",
          "since = self._in_hand.get((each.task, each.block), now)"),
    Fault("a ban is believed to be written", LEARNER,
          "        while (yield Get(BANNED + player)) is None:  # the next learner must know it\n"
          "            yield Create(BANNED + player, reason.encode())\n",
          "        yield Create(BANNED + player, reason.encode())\n", liars_and_kills),
    # claims, clocks, listings: hints
    Fault("a claim is trusted for ever", PLAYER,
          "if now - self._claimed_since[block] >= patience]", "if False]"),
    Fault("a clock is believed", PLAYER,
          "self._passed_s += min(max(clock_s - self._clock_s, 0.0), MOST_STEP_S)",
          "self._passed_s = clock_s", lone_player),
    Fault("the newest task is found by the hint alone", PLAYER,
          "        if self._task is None:\n            number = read_hint(",
          "        if True:\n            number = read_hint("),
    Fault("a listing of bans is believed to be complete", LEARNER,
          "            rewind = yield from self.read_bans()  # another learner may have named a "
          "player\n", "            rewind = None\n", liars_and_kills),
    # which task a result is of
    Fault("a task of another learner is taken for its own", LEARNER,
          "            if is_made or (yield Get(task_name(task.number))) == task.to_bytes():\n",
          "            if True:\n", two_learners),
    Fault("a learner overwrites the tasks of another", LEARNER,
          "is_made = yield Create(task_name(task.number), task.to_bytes())",
          "is_made = ((yield Put(task_name(task.number), task.to_bytes())), True)[1]"),
    Fault("a task is found by its number, without a look at its content", LEARNER,
          "if data == task.to_bytes() and (yield", "if data is not None and (yield"),
    Fault("results are taken without a look at the task that they are of", LEARNER,
          "                if (yield Get(task_name(number))) != task.to_bytes():\n",
          "                if False:\n", two_learners),
    Fault("a task is given out once, whatever newer ones players take", LEARNER,
          "if newest is None or (yield Get(task_name(newest.number + 1))) is not None:",
          "if newest is None:", two_learners),
    Fault("the seats of a result are not compared", WORLD,
          'return "" if sorted(unpacked_cut(cut)) == sorted(seats) else "it has other seats"',
          'return ""'),
    # inputs
    Fault("inputs are not compared", PLAYER,
          "if data is None or hashlib.sha256(data).hexdigest() != part.sha256:",
          "if data is None:"),
    Fault("inputs that are not there are left out", PLAYER,
          '                sometimes("the games that a block goes on with are gone")\n'
          "                return False\n", "                continue\n"),
    Fault("results are removed once they are recorded", LEARNER,
          "sorted(set().union(*old).difference(*self._past))",
          "sorted(set().union(*old, *self._past))"),
    Fault("results are removed though another learner may need them", LEARNER,
          "            if self._keeps_results:\n", "            if False:\n", two_learners),
    Fault("results are taken to be in the store for ever", LEARNER,
          "return self._keeps_results or any(task in tasks for tasks in self._past)",
          "return True", one_learner),
    # liars
    Fault("nothing is played again", LEARNER,
          "if not fault and (yield IsDrawn()):", "if False:"),
    Fault("a ban leaves what is recorded", LEARNER,
          "        return (yield from self._earliest([player]))\n", "        return None\n"),
    Fault("a ban made before the start leaves what is recorded", LEARNER,
          "        return (yield from self._earliest(found))\n", "        return None\n",
          liars_and_kills),
    Fault("a rewind begins one generation too late", LEARNER,
          "return Rewind(min(found))", "return Rewind(min(found) + 1)"),
    Fault("results of a banned player are taken", LEARNER,
          "            if player in self._banned:\n                continue\n", ""),
    Fault("bans are forgotten with their learner", LEARNER,
          "for name in (yield Names(BANNED)):", "for name in (yield Names('fleet/none/')):",
          liars_and_kills),
    Fault("refused results are not marked", LEARNER,
          "yield Create(name + REFUSED, self._banned[player].encode())", "yield Pause(0.0)"),
    Fault("a refused result counts as one", PLAYER,
          "return bool(self.results[block] - self.refused[block])",
          "return bool(self.results[block])"),
    # recording
    Fault("a task is recorded before it is complete", LEARNER,
          "        while len(work.held) < len(wanted):\n",
          "        while len(work.held) < len(wanted) - 1:\n"),
    Fault("a block counts twice", WORLD,
          "            elif not recorded.keys() >= set(seats):\n", "            else:\n"),
    Fault("a learner records results before the task is complete", LEARNER,
          "            yield Gathered(draft, list(work.unrecorded))\n",
          "            yield Accept(draft, work.unrecorded)\n"),
    # the store
    Fault("the store overwrites what is to be made only if absent", STORE,
          "        if name in self.objects:\n            return False\n", ""),
)  # fmt: skip


def trained_with(fault: Fault) -> Callable[[World], object]:
    """``simulation.train`` with a fault planted."""
    changed = _load(fault.module, fault)
    trainer = changed if fault.module is WORLD else _load(WORLD, None)
    if fault.module is LEARNER:
        trainer.LearnerSteps = changed.LearnerSteps
    elif fault.module is PLAYER:
        trainer.PlayerSteps = changed.PlayerSteps
    elif fault.module is STORE:
        trainer.SimulatedStore = changed.SimulatedStore
    train: Callable[[World], object] = trainer.train
    return train


def _load(module: ModuleType, fault: Fault | None) -> ModuleType:
    """A module once more, from its text with a fault."""
    text = Path(str(module.__file__)).read_text()
    if fault is not None:
        assert text.count(fault.text) == 1, f"{fault.name}: its text is not there any more"
        text = text.replace(fault.text, fault.instead)
    spec = importlib.util.find_spec(module.__name__)
    assert spec is not None
    copy = importlib.util.module_from_spec(spec)
    exec(compile(text, str(module.__file__), "exec"), copy.__dict__)
    return copy


def seeds_to_find(fault: Fault, most: int = MOST_SEEDS) -> tuple[int, str] | None:
    """How many seeds it took until a fault was found, and what was said; None: it was not."""
    train = trained_with(fault)
    for seed in range(most):
        try:
            train(fault.world(seed))
        except AssertionError as error:
            return seed + 1, str(error)
    return None


def main() -> int:
    """Print the table; 1 where a fault was not found."""
    missed = 0
    for fault in FAULTS:
        found = seeds_to_find(fault)
        missed += found is None
        seeds, said = found or ("-", "")
        print(f"{fault.name:70} {seeds:>4} {said}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
