"""Finished games as arrays: the content of a shard, in memory.

    games   numbers[G] start[G, 8] result[G] termination[G] resign[G]    one entry a game
            fingerprint[G]
    plies   action[..] steps[..] win[..] draw[..] prob[..] tag[..]       games one after another
            visits[..] full[..] thought[..]                              zero without a search
    targets target_action[..] target_prob[..]                            plies one after another
    spans   span_net[..] span_ply[..]                             networks, and their first plies

``offsets[i] : offsets[i + 1]`` are the plies of game i, ``span_offsets`` likewise the spans, and
``target_offsets[p] : target_offsets[p + 1]`` the moves in the policy target of ply p. Zeros are
left out of a target, so that a ply without one takes no room.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.config.settings import MOST_GAMES
from vecchess.errors import DataError
from vecchess.ragged import offsets_of
from vecchess.shapes import (
    MAX_MOVES,
    MAX_TIME_STEPS,
    NUM_ACTIONS,
    POSITION_WORDS,
    TARGET_UNIT,
)

SCHEMA = 2
"""Schema of shards and of manifests."""
VALUE_UNIT = 511
"""``win`` and ``draw`` are stored as integers out of this."""

MAX_PLIES = 1 << 15
"""Most plies of a game; the rules end all below 18,000 (75 moves without capture or pawn move)."""

PLAYTHROUGH = 1
"""Bit of ``resign``: resigning was forbidden in this game, to check resignations."""
WHITE_WOULD_RESIGN = 2
"""Bit of ``resign``: White met the condition for resigning at some ply."""
BLACK_WOULD_RESIGN = 4
"""Bit of ``resign``: Black met the condition for resigning at some ply."""

GAME_COLUMNS = {
    "numbers": np.int64,
    "result": np.int8,
    "termination": np.uint8,
    "resign": np.uint8,
    "fingerprint": np.uint64,
}
PLY_COLUMNS = {
    "action": np.uint16,
    "steps": np.uint8,
    "win": np.uint16,
    "draw": np.uint16,
    "prob": np.float32,
    "tag": np.uint8,
    "visits": np.uint32,
    "full": np.uint8,
    "thought": np.uint32,
}
TARGET_COLUMNS = {"target_action": np.uint16, "target_prob": np.uint16}
_TYPES: dict[str, Any] = {
    **GAME_COLUMNS,
    **PLY_COLUMNS,
    **TARGET_COLUMNS,
    **dict.fromkeys(("offsets", "target_offsets", "span_offsets", "schema"), np.int64),
    **dict.fromkeys(("span_ply", "span_net"), np.int32),
    "start": np.uint64,
    "nets": "<U64",
    "run": "<U32",
}
COLUMN_DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(_TYPES[name]) for name in _TYPES}
"""The types of a shard's columns."""
SEARCH_COLUMNS = ("visits", "full", "thought", "target_offsets", *TARGET_COLUMNS)
"""Columns that only a search fills; all zero or empty without one."""
FINGERPRINT_COLUMNS = ("fingerprint", "tag")
"""Hashes of the answers that decided the moves; all zero where unknown."""
NO_FINGERPRINT = 0
"""Fingerprint of a game that was not played by a network of ours."""
_MOST = {"termination": 9, "resign": 7, "full": 1, "steps": MAX_TIME_STEPS}
"""Largest values of columns whose types hold more: ``chess.rules.Termination``, three bits, one."""
Spans = list[tuple[int, str]]
"""First ply that each network of one game played, and the network."""


@dataclass(frozen=True)
class GameRecords:
    """G finished games.

    numbers: int64[G]        number of the game in its run
    start: uint64[G, 8]      start position (``chess/position.py``)
    result: int8[G]          1 White won, 0 draw, -1 Black won
    termination: uint8[G]    ``chess.rules.Termination``
    resign: uint8[G]         bits PLAYTHROUGH, WHITE_WOULD_RESIGN, BLACK_WOULD_RESIGN
    fingerprint: uint64[G]   hash of all answers (``selfplay/fingerprint.py``); 0: unknown
    offsets: int64[G + 1]    first ply of each game in the columns below
    action: uint16[plies]    move played, as action code, mover's view
    steps: uint8[plies]      time steps the network took; 0 where it was not asked
    win, draw: uint16[plies] value of the position in 1/511, mover's view; the root's if searched
    prob: float32[plies]     probability with which the move was drawn, to 1 part in 256
    tag: uint8[plies]        a few bits of the fingerprint up to this ply; 0 without a network
    visits: uint32[plies]    simulations of the root when its search ended; 0: not searched
    full: uint8[plies]       1 after a full search, 0 after a fast one or none
    thought: uint32[plies]   time steps the network took for all answers of the search
    target_offsets: int64[plies + 1]   first move of each ply in the policy targets
    target_action: uint16[E] a target's moves, as action codes ascending, mover's view
    target_prob: uint16[E]   its share in 1/65535; about 1 in all for a ply
    span_offsets: int64[G + 1], span_ply: int32[spans], span_net: int32[spans]
    nets: the networks' sha256, indexed by ``span_net``; for imported games the source of the moves

    A ply counts as evaluated where ``steps`` or ``visits`` is above 0; elsewhere ``win`` and
    ``draw`` mean nothing. A full search may come without a policy target: then it recommends only
    the move played, as an engine does. A fast search without one recommends
    nothing. Imported games: ``visits`` are the engine's nodes, 0 for moves of a PGN file.
    """

    numbers: NDArray[np.int64]
    start: NDArray[np.uint64]
    result: NDArray[np.int8]
    termination: NDArray[np.uint8]
    resign: NDArray[np.uint8]
    fingerprint: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    action: NDArray[np.uint16]
    steps: NDArray[np.uint8]
    win: NDArray[np.uint16]
    draw: NDArray[np.uint16]
    prob: NDArray[np.float32]
    tag: NDArray[np.uint8]
    visits: NDArray[np.uint32]
    full: NDArray[np.uint8]
    thought: NDArray[np.uint32]
    target_offsets: NDArray[np.int64]
    target_action: NDArray[np.uint16]
    target_prob: NDArray[np.uint16]
    span_offsets: NDArray[np.int64]
    span_ply: NDArray[np.int32]
    span_net: NDArray[np.int32]
    nets: tuple[str, ...]

    @property
    def num_games(self) -> int:
        """G."""
        return len(self.numbers)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[G]: plies of each game."""
        return np.diff(self.offsets)

    def evaluated(self, plies: slice = slice(None)) -> NDArray[np.bool_]:
        """bool[plies]: a network, a search or an engine evaluated the position, so that its value
        means something."""
        evaluated: NDArray[np.bool_] = (self.steps[plies] > 0) | (self.visits[plies] > 0)
        return evaluated

    def plies(self, game: int) -> slice:
        """The plies of the game with this index, in the ply columns."""
        return slice(*self.offsets[game : game + 2].tolist())

    def take(self, indices: NDArray[np.int64]) -> "GameRecords":
        """The games at ``indices`` (int64[K]), in that order."""
        plies, offsets = _ranges(self.offsets, indices)
        moves, target_offsets = _ranges(self.target_offsets, plies)
        spans, span_offsets = _ranges(self.span_offsets, indices)
        columns: dict[str, Any] = {name: getattr(self, name)[indices] for name in GAME_COLUMNS}
        columns |= {name: getattr(self, name)[plies] for name in PLY_COLUMNS}
        columns |= {name: getattr(self, name)[moves] for name in TARGET_COLUMNS}
        return GameRecords(
            start=self.start[indices],
            offsets=offsets,
            target_offsets=target_offsets,
            span_offsets=span_offsets,
            span_ply=self.span_ply[spans],
            span_net=self.span_net[spans],
            nets=self.nets,
            **columns,
        )

    def spans(self, game: int) -> Spans:
        """The networks that played the game with this index."""
        rows = slice(*self.span_offsets[game : game + 2])
        nets = [self.nets[net] for net in self.span_net[rows]]
        return list(zip(self.span_ply[rows].tolist(), nets, strict=True))

    def locate(self, ply: int) -> tuple[int, int]:
        """Number of the game, and ply in it, of an index into the ply columns."""
        game = int(np.searchsorted(self.offsets, ply, side="right")) - 1
        return int(self.numbers[game]), ply - int(self.offsets[game])

    def by_number(self) -> "GameRecords":
        """These games in the order of their numbers."""
        return self.take(np.argsort(self.numbers, kind="stable"))

    def with_used_nets(self) -> "GameRecords":
        """These games, with a list of the networks that played them and no other, in the order
        of the games: so equal games are equal columns."""
        spans = [self.spans(game) for game in range(self.num_games)]
        return replace(self, **span_columns(spans))

    def digest(self) -> str:
        """sha256 of everything played, game by game in the order of the numbers.

        Independent of which worker played a game and of how games were put into shards. The
        columns of a search count where one of them is not zero, those of the fingerprints never.
        """
        ordered = self.by_number()
        digest = hashlib.sha256()
        left_out = {"nets", "span_net", *FINGERPRINT_COLUMNS}
        if not any(getattr(self, name).any() for name in SEARCH_COLUMNS):
            left_out.update(SEARCH_COLUMNS)
        for column in fields(self):
            if column.name not in left_out:
                digest.update(np.ascontiguousarray(getattr(ordered, column.name)).tobytes())
        for net in ordered.span_net:
            digest.update(self.nets[net].encode())
        return digest.hexdigest()

    def validate(self) -> None:
        """Raise DataError, naming the first contradiction, if the arrays do not fit together."""
        games, plies = self.num_games, _end(self.offsets)
        expected = {"offsets": games + 1, "span_offsets": games + 1, "target_offsets": plies + 1}
        for name in expected:
            offsets = getattr(self, name)
            if offsets.ndim != 1 or len(offsets) == 0:
                raise DataError(f'column "{name}" holds no offsets')
            if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
                raise DataError(f'column "{name}" does not ascend from 0')
        expected |= dict.fromkeys(GAME_COLUMNS, games)
        expected |= dict.fromkeys(PLY_COLUMNS, plies)
        expected |= dict.fromkeys(TARGET_COLUMNS, _end(self.target_offsets))
        expected |= dict.fromkeys(("span_ply", "span_net"), _end(self.span_offsets))
        for name, length in expected.items():
            if getattr(self, name).shape != (length,):
                raise DataError(f'column "{name}" has {getattr(self, name).shape}, not ({length},)')
        if self.start.shape != (games, POSITION_WORDS):
            raise DataError(f'column "start" has {self.start.shape}, not ({games}, 8)')
        if len(self.span_net) and not 0 <= self.span_net.min() <= self.span_net.max() < len(
            self.nets
        ):
            raise DataError("a span refers to a network that is not listed")
        if max(self.action.max(initial=0), self.target_action.max(initial=0)) >= NUM_ACTIONS:
            raise DataError(f"an action code is not below {NUM_ACTIONS}")
        if self.lengths.max(initial=0) > MAX_PLIES:
            raise DataError(f"a game has more than {MAX_PLIES} plies")
        check_outcomes(self.numbers, self.result, self.termination)
        self._check_values()
        self._check_targets()
        self._check_spans()

    def _check_values(self) -> None:
        """Raise DataError for a number that no game has; the lengths are checked."""
        for name in ("resign", "full", "steps"):
            _check_most(name, getattr(self, name))
        if np.add(self.win, self.draw, dtype=np.uint32).max(initial=0) > VALUE_UNIT:
            raise DataError(f"a win and a draw are more than {VALUE_UNIT} together")
        # written so that NaN fails too
        if not (self.prob.min(initial=0) >= 0 and self.prob.max(initial=0) <= 1):
            raise DataError("a probability is not from 0 to 1")
        if not all(map(str.isprintable, self.nets)):
            raise DataError("a network's name cannot be printed")

    def _check_targets(self) -> None:
        """Raise DataError for a policy target that is none; the lengths are checked."""
        counts = np.diff(self.target_offsets)
        if counts.max(initial=0) > MAX_MOVES:
            raise DataError(
                f"a policy target of more than {MAX_MOVES} moves cannot be put back into a log"
            )
        first = self.target_offsets[:-1][counts > 0]
        if not len(first):
            return
        # each share is rounded, so that all together may be a little more than one
        if (
            np.add.reduceat(self.target_prob, first, dtype=np.uint32).max()
            > TARGET_UNIT + MAX_MOVES
        ):
            raise DataError("the shares of a policy target are more than one together")

    def _check_spans(self) -> None:
        """Raise DataError where the networks of a game do not follow each other from its start."""
        first, counts = self.span_offsets[:-1], np.diff(self.span_offsets)
        if counts.min(initial=1) < 1:
            raise DataError("a game was played by no network")
        game = np.repeat(np.arange(self.num_games), counts)
        is_next = np.diff(self.span_ply, prepend=0) > 0
        is_next[first] = self.span_ply[first] == 0
        if not is_next.all() or (self.span_ply > self.lengths[game]).any():
            raise DataError("the networks of a game do not follow each other from its start")


def check_outcomes(
    numbers: NDArray[np.int64], result: NDArray[np.int8], termination: NDArray[np.uint8]
) -> None:
    """Raise DataError for a number, result or termination that no game has; G of each."""
    is_number = 0 <= numbers.min(initial=0) <= numbers.max(initial=0) < MOST_GAMES
    if not is_number or not -1 <= result.min(initial=0) <= result.max(initial=0) <= 1:
        raise DataError("a game's number or result is none")
    if len(np.unique(numbers)) < len(numbers):
        raise DataError("two games have the same number")
    _check_most("termination", termination)


def _check_most(name: str, column: NDArray[Any]) -> None:
    if (largest := column.max(initial=0)) > _MOST[name]:
        raise DataError(f'column "{name}" has {largest}; {_MOST[name]} is the most')


def span_columns(spans: Sequence[Spans]) -> dict[str, Any]:
    """The columns of G games about the networks that played them: ``spans`` of each."""
    nets = tuple(dict.fromkeys(net for game in spans for _, net in game))
    index = {net: i for i, net in enumerate(nets)}
    return {
        "span_offsets": offsets_of([len(game) for game in spans]),
        "span_ply": np.array([ply for game in spans for ply, _ in game], np.int32),
        "span_net": np.array([index[net] for game in spans for _, net in game], np.int32),
        "nets": nets,
    }


def empty_search_columns(num_plies: int) -> dict[str, NDArray[Any]]:
    """The search columns of so many plies that were not searched."""
    return {
        "visits": np.zeros(num_plies, np.uint32),
        "full": np.zeros(num_plies, np.uint8),
        "thought": np.zeros(num_plies, np.uint32),
        "target_offsets": np.zeros(num_plies + 1, np.int64),
        "target_action": np.zeros(0, np.uint16),
        "target_prob": np.zeros(0, np.uint16),
    }


def empty_fingerprint_columns(num_games: int, num_plies: int) -> dict[str, NDArray[Any]]:
    """The columns of so many games and plies without fingerprints."""
    return {
        "fingerprint": np.zeros(num_games, np.uint64),
        "tag": np.zeros(num_plies, np.uint8),
    }


def concatenate(parts: list[GameRecords]) -> GameRecords:
    """One after another; networks are listed once. Needs at least one part."""
    nets = tuple(dict.fromkeys(net for part in parts for net in part.nets))
    index = {net: i for i, net in enumerate(nets)}
    span_net = [np.array([index[n] for n in p.nets] or [0], np.int32)[p.span_net] for p in parts]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*GAME_COLUMNS, *PLY_COLUMNS, *TARGET_COLUMNS, "start", "span_ply")
    }
    return GameRecords(
        offsets=_joined([part.offsets for part in parts]),
        target_offsets=_joined([part.target_offsets for part in parts]),
        span_offsets=_joined([part.span_offsets for part in parts]),
        span_net=np.concatenate(span_net),
        nets=nets,
        **columns,
    )


def _joined(offsets: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return offsets_of(np.concatenate([np.diff(part) for part in offsets]))


def _ranges(
    offsets: NDArray[np.int64], indices: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of all elements of the chosen ranges, and the offsets they then have."""
    lengths = np.diff(offsets)[indices]
    joined = offsets_of(lengths)
    shift = np.repeat(offsets[:-1][indices] - joined[:-1], lengths)
    return np.arange(joined[-1]) + shift, joined


def _end(offsets: NDArray[np.int64]) -> int:
    """How many entries the ranges of ``offsets`` have, which may be of any shape as yet."""
    return int(offsets.flat[-1]) if offsets.size else 0
