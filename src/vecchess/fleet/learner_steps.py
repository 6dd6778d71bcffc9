"""What a learner does to have a generation played: give out its blocks, gather and check results.

Each round it makes the store as it should be, whatever got lost: a write that was believed to have
worked is repeated until its object is seen. A training records nothing before all blocks of a task
are there, self-play each result as it comes. A result that is wrong names its player: nothing that
it sent is learnt from, and where games of it were recorded before, the training goes back to before
the first of them; self-play drops them.

    fleet/drafts/HASH    number of the task with this content: who begins again finds it
    fleet/banned/P       why no result of player P is taken
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vecchess.fleet.player_steps import REFUSED, Seen, parts_of
from vecchess.fleet.steps import (
    Accept,
    Create,
    Delete,
    EarliestBy,
    Gathered,
    Get,
    Inspect,
    IsDrawn,
    Names,
    Pause,
    Put,
    Replay,
    Steps,
    Supply,
    Tell,
    always,
    sometimes,
)
from vecchess.fleet.task import NEWEST_NAME, FleetTask, newest_hint, read_hint, task_name
from vecchess.store.remote.block_file import BlockName, blocks_of

POLL_S = 0.5
"""Between two looks at the results."""
IDLE_ROUNDS = 8
"""After so many looks without a new result the task and its inputs are looked after, then after
twice as many, and so on: two learners that give out their tasks anew leave each other time."""
KEPT_TASKS = 2
"""The results of so many generations stay: the next one goes on with those of the last one."""
BANNED = "fleet/banned/"
_DRAFTS = "fleet/drafts/"


class Rewind(NamedTuple):
    """A player was wrong whose games are recorded from ``generation`` on: what follows from these
    is to be forgotten, and played and learnt anew."""

    generation: int


@dataclass
class Gathering:
    """The blocks of a generation, on their way."""

    draft: FleetTask
    wanted: Collection[int]
    tasks: list[FleetTask]
    """The draft under each number under which it was given out; the newest last."""
    confirmed: set[int] = field(default_factory=set)
    """Numbers whose object is that task, and not one of another learner."""
    held: dict[int, tuple[BlockName, bytes | None]] = field(default_factory=dict)
    """The results that are there, by block; None in place of one that is recorded."""

    @property
    def unrecorded(self) -> dict[BlockName, bytes]:
        """The results that are there and not recorded yet."""
        return {name: data for name, data in self.held.values() if data is not None}


class LearnerSteps:
    """A learner, from its start to its end."""

    def __init__(self, keeps_results: bool, records_each: bool = False) -> None:
        """Knows nothing of the store before ``read_bans``. ``keeps_results``: they are the recorded
        games of a run by URL, and another learner may go on with others than this one.
        ``records_each``: results are recorded as they come, as recorded games can be dropped."""
        self._keeps_results, self._records_each = keeps_results, records_each
        self._banned: dict[str, str] = {}
        """Why no result is taken, by player."""
        self._next: int | None = None
        """The lowest number that a task of this learner may get; None: not looked for yet."""
        self._past: list[set[int]] = []
        """The tasks of each generation whose results were not tidied up yet."""

    def read_bans(self) -> Steps[Rewind | None]:
        """Read which players are banned that were not before; a Rewind where games of one of them
        are recorded."""
        found = []
        for name in (yield Names(BANNED)):
            player = name.removeprefix(BANNED)
            if player not in self._banned:
                data = yield Get(name)
                self._banned[player] = (data or b"").decode(errors="replace")
                found.append(player)
        return (yield from self._earliest(found))

    def gather(self, draft: FleetTask, wanted: Collection[int]) -> Steps[Rewind | None]:
        """Have the blocks ``wanted`` of ``draft``, a task without its number, played, and record
        them; a Rewind where that is not all that is to be done."""
        if not wanted:
            return None
        work = Gathering(draft, wanted, [(yield from self._publish(draft))])
        idle, patience = 0, IDLE_ROUNDS
        while len(work.held) < len(wanted):
            before = len(work.held)
            for task in list(work.tasks):
                names: list[str] = yield Names(blocks_of(task.number))
                yield from self._refuse(task, names)
                rewind = yield from self._take_in(work, task, names)
                if rewind is not None:
                    return rewind
            if self._records_each:
                yield from self._record(work)
            yield Gathered(draft, list(work.unrecorded))
            idle = 0 if len(work.held) > before else idle + 1
            if idle == patience or not work.tasks:
                idle, patience = 0, 2 * patience
                yield from self._look_after(work)
            if len(work.held) < len(wanted):
                yield Pause(POLL_S)
                continue
            rewind = yield from self.read_bans()  # another learner may have named a player
            if rewind is not None:
                return rewind
            self._drop_banned(work)
        always(work.held.keys() == set(wanted), "each block of a task counts once")
        always(
            not any(name.player in self._banned for name, _ in work.held.values()),
            "no result of a banned player counts",
        )
        yield from self._record(work)
        given_out = {task.number for task in work.tasks}
        self._past.append(given_out | {name.task for name, _ in work.held.values()})
        yield from self._tidy_up()
        return None

    def _record(self, work: Gathering) -> Steps[None]:
        if results := work.unrecorded:
            yield Accept(work.draft, results)
            work.held |= {name.block: (name, None) for name in results}

    def has_results_of(self, task: int) -> bool:
        """Whether the results of a task are sure to be in the store."""
        return self._keeps_results or any(task in tasks for tasks in self._past)

    def _publish(self, draft: FleetTask) -> Steps[FleetTask]:
        """Give ``draft`` a number, that of a task with the same content if there is one."""
        key = _DRAFTS + draft.content
        if self._next is None:
            known = read_hint((yield Get(key)))
            data = yield Get(task_name(known))
            task = draft.model_copy(update={"number": known})
            if data == task.to_bytes() and (yield Get(task_name(known + 1))) is None:
                sometimes("a learner goes on with a task that is there")
                yield from self._announce(task)
                return task
            self._next = read_hint((yield Get(NEWEST_NAME)))
        while True:
            task = draft.model_copy(update={"number": self._next})
            yield Supply(task)
            is_made = yield Create(task_name(task.number), task.to_bytes())
            self._next += 1
            if is_made or (yield Get(task_name(task.number))) == task.to_bytes():
                break
            sometimes("a learner finds a task of another history")
        yield Create(key, newest_hint(task.number))
        yield Put(NEWEST_NAME, newest_hint(task.number))
        return task

    def _announce(self, task: FleetTask) -> Steps[None]:
        yield Supply(task)
        yield Put(NEWEST_NAME, newest_hint(task.number))

    def _take_in(self, work: Gathering, task: FleetTask, names: list[str]) -> Steps[Rewind | None]:
        """Look at the results that are new, and hold one for each block."""
        for text in names:
            number, block, player, suffix = parts_of(text)
            if suffix or number != task.number or block in work.held or block not in work.wanted:
                continue
            if player in self._banned:
                continue
            if number not in work.confirmed:
                if (yield Get(task_name(number))) != task.to_bytes():
                    sometimes("the number of a task is another learner's")
                    work.tasks.remove(task)
                    break
                work.confirmed.add(number)
            name = BlockName(number, block, player)
            data: Any = yield Get(name.object)
            if data is None:
                continue
            fault: str = yield Inspect(task, name, data)
            if not fault and (yield IsDrawn()):
                fault = yield Replay(task, name, data)
            if not fault:
                work.held[name.block] = name, data
                continue
            rewind = yield from self._ban(work, name, fault)
            if rewind is not None:
                sometimes("a player is wrong whose games were learnt from")
                return rewind
        return None

    def _ban(self, work: Gathering, wrong: BlockName, fault: str) -> Steps[Rewind | None]:
        """Take no result of a player any more, and drop what it sent."""
        player = wrong.player
        reason = f"block {wrong.block} of task {wrong.task}: {fault}"
        self._banned[player] = reason
        yield Tell(f"player {player} was wrong and is left out from here on: {reason}")
        while (yield Get(BANNED + player)) is None:  # the next learner must know it
            yield Create(BANNED + player, reason.encode())
        self._drop_banned(work)
        return (yield from self._earliest([player]))

    def _drop_banned(self, work: Gathering) -> None:
        for block, (name, _) in list(work.held.items()):
            if name.player in self._banned:
                del work.held[block]

    def _refuse(self, task: FleetTask, names: list[str]) -> Steps[None]:
        """Mark the results of banned players, so that others play these blocks."""
        if not self._banned:
            return
        seen = Seen.of(task.number, names)
        for block, players in seen.results.items():
            for player in players & self._banned.keys() - seen.refused[block]:
                name = BlockName(task.number, block, player).object
                yield Create(name + REFUSED, self._banned[player].encode())

    def _earliest(self, players: list[str]) -> Steps[Rewind | None]:
        """The rewind because of recorded games of ``players``."""
        found: list[int] = []
        for player in players:
            generation = yield EarliestBy(player)
            if generation is not None:
                found.append(generation)
        if not found:
            return None
        self._next = None  # tasks of before may be given out again
        return Rewind(min(found))

    def _look_after(self, work: Gathering) -> Steps[None]:
        """Repeat writes of which nothing is to be seen. Players take the newest task: where there
        is a newer one, of a learner that was believed to be dead or of games that were forgotten,
        the blocks are given out once more."""
        newest = work.tasks[-1] if work.tasks else None
        if newest is None or (yield Get(task_name(newest.number + 1))) is not None:
            sometimes("a task is given out once more, after a newer one")
            work.tasks.append((yield from self._publish(work.draft)))
            return
        if (yield Get(task_name(newest.number))) is None:
            sometimes("a task was lost")
            yield Create(task_name(newest.number), newest.to_bytes())
        yield from self._announce(newest)

    def _tidy_up(self) -> Steps[None]:
        """Remove the claims, refusals and results of tasks that are long over."""
        old, self._past = self._past[:-KEPT_TASKS], self._past[-KEPT_TASKS:]
        for number in sorted(set().union(*old).difference(*self._past)):
            names: list[str] = yield Names(blocks_of(number))
            if self._keeps_results:
                names = [name for name in names if BlockName.of_object(name) is None]
            if names:
                yield Delete(names)
