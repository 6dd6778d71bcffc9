"""The first difference of a game that was played again from its record (decisions 34 and 35)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination
from vecchess.store.records import FINGERPRINT_COLUMNS, NO_FINGERPRINT, TARGET_COLUMNS, GameRecords

PLY_NAMES = ("action", "steps", "win", "draw", "prob", "visits", "full", "thought", "tag")
GAME_NAMES = ("result", "termination", "resign", "fingerprint")
TARGET = "target"
"""Stands for the policy target of a ply."""
LENGTH = "length"
START = "start"

Value = int | float | str


@dataclass(frozen=True)
class RecordChange:
    """One value that differs."""

    what: str
    """A column of ``GameRecords``, or TARGET, or LENGTH in plies."""
    recorded: Value
    now: Value


@dataclass(frozen=True)
class GameDifference:
    """The first place where a game differs from its record."""

    game: int
    """Its number."""
    ply: int | None
    """None: every ply is the same, but not a value of the game as a whole."""
    changes: tuple[RecordChange, ...]
    """All values that differ there."""


def has_fingerprint(records: GameRecords) -> NDArray[np.bool_]:
    """bool[G]: whether a hash of the accumulators behind a game is recorded."""
    has: NDArray[np.bool_] = records.fingerprint != NO_FINGERPRINT
    return has


def first_difference(recorded: GameRecords, now: GameRecords) -> GameDifference | None:
    """Compare two records of one game each; None where they are bit-identical.

    Hashes that were not recorded are not compared.
    """
    number = int(recorded.numbers[0])
    if not np.array_equal(recorded.start, now.start):
        words = [
            " ".join(f"{word:x}" for word in game.start[0].tolist()) for game in (recorded, now)
        ]
        return GameDifference(number, 0, (RecordChange(START, *words),))
    hidden = () if has_fingerprint(recorded).all() else FINGERPRINT_COLUMNS
    shared = min(len(recorded.action), len(now.action))
    changed = {
        name: np.flatnonzero(getattr(recorded, name)[:shared] != getattr(now, name)[:shared])
        for name in PLY_NAMES
        if name not in hidden
    }
    changed[TARGET] = _unequal_targets(recorded, now, shared)
    first = min((int(plies[0]) for plies in changed.values() if len(plies)), default=shared)
    if first < shared:
        names = [name for name, plies in changed.items() if first in plies[:1]]
        changes = [
            RecordChange(name, *(_at(game, name, first) for game in (recorded, now)))
            for name in names
        ]
        return GameDifference(number, first, tuple(changes))
    return _game_difference(recorded, now, hidden)


def _game_difference(
    recorded: GameRecords, now: GameRecords, hidden: tuple[str, ...]
) -> GameDifference | None:
    """The difference of games whose common plies are the same."""
    lengths = [len(game.action) for game in (recorded, now)]
    changes = [RecordChange(LENGTH, *lengths)] if lengths[0] != lengths[1] else []
    for name in GAME_NAMES:
        values = [_at(game, name, 0) for game in (recorded, now)]
        if name not in hidden and values[0] != values[1]:
            changes.append(RecordChange(name, *values))
    ply = min(lengths) if lengths[0] != lengths[1] else None
    return GameDifference(int(recorded.numbers[0]), ply, tuple(changes)) if changes else None


def _unequal_targets(recorded: GameRecords, now: GameRecords, shared: int) -> NDArray[np.int64]:
    """int64[K]: those of the first ``shared`` plies whose policy targets differ."""
    columns = ("target_offsets", *TARGET_COLUMNS)
    if all(np.array_equal(getattr(recorded, name), getattr(now, name)) for name in columns):
        return np.empty(0, np.int64)
    return np.flatnonzero(
        [_at(recorded, TARGET, ply) != _at(now, TARGET, ply) for ply in range(shared)]
    )


def _at(game: GameRecords, name: str, index: int) -> Value:
    """An entry of a column, or a ply's target, as a plain value."""
    if name == TARGET:
        span = slice(*game.target_offsets[index : index + 2])
        entries = zip(game.target_action[span], game.target_prob[span], strict=True)
        return " ".join(f"{action}:{prob}" for action, prob in entries)
    value = getattr(game, name)[index]
    if name == "termination":
        return Termination(value).name.lower().replace("_", " ")
    if name == "fingerprint":
        return f"{int(value):016x}"
    plain: int | float = value.item()
    return plain
