"""What a player does: take blocks, play them, write their results. It decides from what it sees.

A block is taken that nobody has claimed; once there are none left, one that was claimed long ago
by this player's own clock and has no result: its player may be slow or gone. Claims are hints: a
block that two play gives the same result twice, and the learner takes either.

    fleet/blocks/000012/00003-P           result of P
    fleet/blocks/000012/00003-P.claim     P plays it, or did
    fleet/blocks/000012/00003-P.refused   the learner takes no result of P
"""

import hashlib
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from vecchess.errors import DataError
from vecchess.fleet.steps import (
    Begin,
    Clock,
    Create,
    Get,
    IsStopping,
    Names,
    Pause,
    Played,
    Put,
    Room,
    Steps,
    TakePlayed,
    Tell,
    sometimes,
)
from vecchess.fleet.task import NEWEST_NAME, FleetTask, read_hint, task_name
from vecchess.store.remote.block_file import BlockName, blocks_of

LEAST_PAUSE_S, MOST_PAUSE_S = 0.25, 2.0
"""Between two looks for work; it grows while there is none."""
UNKNOWN_S = 10.0
"""Time that a block is believed to take before the first one is done."""
MOST_STEP_S = 60.0
"""A player that has not looked at its clock for longer was stopped."""
LOOKS = 8
"""One look for blocks in so many is for a newer task too, while there are some of this one."""
SHARES = 4
"""Beside others a player has a quarter of its even share of a task in hand, or one block."""
PATIENCE = 0.5
"""A claimed block is played by another player too after so many times what a block takes there."""
CLAIM, REFUSED = ".claim", ".refused"
BlockKey = tuple[int, int]
"""FleetTask and block."""


@lru_cache(1 << 16)  # each listing of a task has the names of the one before
def parts_of(name: str) -> tuple[int, int, str, str]:
    """FleetTask, block, player and suffix of a name in a listing; task -1 of anything else."""
    result, dot, suffix = name.partition(".")
    key = BlockName.of_object(result)
    return (-1, 0, "", "") if key is None else (*key, dot + suffix)


class Seen(NamedTuple):
    """What a listing says about the blocks of a task."""

    results: dict[int, set[str]]
    """Players with a result, by block."""
    claims: dict[int, set[str]]
    refused: dict[int, set[str]]

    @classmethod
    def of(cls, task: int, names: list[str]) -> "Seen":
        """The parts of a listing; names of nothing that belongs there are left out."""
        found = cls(defaultdict(set), defaultdict(set), defaultdict(set))
        of_suffix = {"": found.results, CLAIM: found.claims, REFUSED: found.refused}
        for name in names:
            of_task, block, player, suffix = parts_of(name)
            if of_task == task and suffix in of_suffix:
                of_suffix[suffix][block].add(player)
        return found

    def is_done(self, block: int) -> bool:
        """Whether there is a result that is not refused."""
        return bool(self.results[block] - self.refused[block])


@dataclass
class PlayerSteps:
    """One player, with all its devices."""

    me: str
    """Its name, see ``PLAYER_NAME``; no other player has it, nor had it."""
    _task: FleetTask | None = None
    _is_exhausted: bool = False
    """No block was left at the last look."""
    _idle_until: float = 0.0
    """When a block that others have claimed is late, if none was left."""
    _in_hand: dict[BlockKey, float] = field(default_factory=dict)
    """Blocks that it plays, and since when."""
    _claimed_since: dict[int, float] = field(default_factory=dict)
    """When each block of the task was first seen with a claim."""
    _others: set[str] = field(default_factory=set)
    """Players that it has seen at the task, and at the one before."""
    _others_before: set[str] = field(default_factory=set)
    _looks: int = 0
    _clock_s: float | None = None
    _passed_s: float = 0.0
    _block_s: float = UNKNOWN_S
    _has_played: bool = False

    def run(self) -> Steps[str]:
        """Play until asked to end; returns "", or why the learner takes no result of it."""
        pause_s = LEAST_PAUSE_S
        while True:
            yield from self._send_played()
            is_stopping = yield IsStopping()
            if is_stopping and not self._in_hand:
                return ""
            refusal, is_busy = ("", False) if is_stopping else (yield from self._take_blocks())
            if refusal:
                return refusal
            if not is_busy:
                yield Pause(pause_s)
            has_none = self._task is None or self._is_exhausted
            pause_s = min(2 * pause_s, MOST_PAUSE_S) if has_none else LEAST_PAUSE_S

    def _send_played(self) -> Steps[None]:
        played: list[Played] = yield TakePlayed()
        for each in played:
            name = BlockName(each.task, each.block, self.me).object
            yield Create(name, each.data)
            now = yield from self._now()
            since = self._in_hand.pop((each.task, each.block), now)
            if self._task is not None and self._task.number == each.task:
                self._claimed_since[each.block] = now  # not seen after a while: play it again
            if now > since:
                before = self._block_s if self._has_played else now - since
                self._block_s, self._has_played = (before + now - since) / 2, True

    def _take_blocks(self) -> Steps[tuple[str, bool]]:
        """Take as many blocks as the devices have room for: (why it is refused, whether any)."""
        if self._task is not None and (yield Room(self._task)) <= 0:
            return "", False
        self._looks += 1
        if self._task is None or self._is_exhausted or self._looks % LOOKS == 0:
            is_new = yield from self._look_ahead()
            if self._is_exhausted and not is_new and (yield from self._now()) < self._idle_until:
                return "", False
        if (task := self._task) is None or self._fair_share(task) <= 0:
            return "", False
        if (room := (yield Room(task))) <= 0:
            return "", False
        seen = Seen.of(task.number, (yield Names(blocks_of(task.number))))
        for players in (*seen.claims.values(), *seen.results.values()):
            self._others |= players - {self.me}
        room = min(room, self._fair_share(task))
        if any(self.me in players for players in seen.refused.values()):
            sometimes("a player learns that it is refused")
            return f"the learner takes no results of {self.me}: one of them was wrong", False
        blocks = self._choose(task, seen, room, (yield from self._now()))
        self._is_exhausted = not blocks and room > 0
        for block in blocks:
            if not (yield from self._begin(task, block)):
                self._task = None
                return "", False
        return "", bool(blocks)

    def _look_ahead(self) -> Steps[bool]:
        """Find the newest task; whether it is another one than before."""
        if self._task is None:
            number = read_hint((yield Get(NEWEST_NAME)))
        else:
            number = self._task.number + 1
        newest = yield from self._last_task(number)
        if newest is None and self._task is not None and self._looks % LOOKS == 0:
            hint = read_hint((yield Get(NEWEST_NAME)))  # the next one may be lost, and never needed
            if hint > number:
                newest = yield from self._last_task(hint)
        if newest is None:
            return False
        try:
            self._task = FleetTask.of_bytes(task_name(newest[0]), newest[1])
        except DataError as error:
            yield Tell(f"{error}: it is left out")
            return False
        self._is_exhausted = False
        self._claimed_since = {}
        self._others_before, self._others = self._others, set()
        return True

    def _last_task(self, number: int) -> Steps[tuple[int, bytes] | None]:
        """Number and object of the last of the tasks from ``number`` on that follow each other."""
        found = None
        while (data := (yield Get(task_name(number)))) is not None:
            found, number = (number, data), number + 1
        return found

    def _fair_share(self, task: FleetTask) -> int:
        """How many blocks it may take now, so that none of the others is left without, and the last
        blocks of all end at about the same time; many where it knows of no others."""
        others = max(len(self._others), len(self._others_before))
        if not others:
            return task.blocks.num_blocks
        most = task.blocks.num_blocks // (SHARES * (others + 1))
        return max(most, 1) - sum(number == task.number for number, _ in self._in_hand)

    def _choose(self, task: FleetTask, seen: Seen, room: int, now: float) -> list[int]:
        """Blocks to take now, up to ``room``."""
        count = task.blocks.num_blocks
        start = zlib.crc32(f"{self.me} {task.number}".encode()) % count
        left = dict.fromkeys([*range(start, count), *range(start)])
        for block in filter(seen.is_done, list(seen.results)):
            left.pop(block, None)
        for number, block in self._in_hand:
            if number == task.number:
                left.pop(block, None)
        for block in seen.claims.keys() & left.keys():
            self._claimed_since.setdefault(block, now)
        free = [block for block in left if block not in self._claimed_since]
        if free:
            return free[:room]
        patience = PATIENCE * self._block_s
        late = [block for block in left if now - self._claimed_since[block] >= patience]
        for block in late:
            sometimes("a block is played although another player has claimed it")
            self._claimed_since[block] = now
        oldest = min((self._claimed_since[block] for block in left), default=now)
        self._idle_until = oldest + patience
        return sorted(late, key=lambda block: len(seen.claims[block]))[:room]

    def _now(self) -> Steps[float]:
        """Seconds that have passed as this player sees it: steps of its clock back, and far ahead
        after a pause, do not count."""
        clock_s: float = yield Clock()
        if self._clock_s is not None:
            self._passed_s += min(max(clock_s - self._clock_s, 0.0), MOST_STEP_S)
        self._clock_s = clock_s
        return self._passed_s

    def _begin(self, task: FleetTask, block: int) -> Steps[bool]:
        """Claim and play a block; False where its network, or games it goes on with, are gone."""
        yield Put(BlockName(task.number, block, self.me).object + CLAIM, b"")
        cuts: list[Any] = []
        for part in task.cuts_of(block):
            data = yield Get(part.object, part.start, part.length)
            if data is None or hashlib.sha256(data).hexdigest() != part.sha256:
                sometimes("the games that a block goes on with are gone")
                return False
            cuts.append(data)
        now = yield from self._now()
        if not (yield Begin(task, block, cuts)):
            return False
        self._in_hand[task.number, block] = now
        return True
