"""Games as arrays, one a row, and the step of one game by a move: for matches, environments,
engines and analysis.

Kernels get a ``GamesRecord``, ``games``, and the number of a row, ``game``. Rows depend on no
other. ``moves`` is the address of room for a list of moves, ``uint16[MOVE_BUFFER]``.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import LEGAL_BYTES, write_actions
from vecchess.chess.bitboards import tables
from vecchess.chess.history import (
    MOST_POSITIONS,
    PAST_BYTES,
    Pasts,
    earlier_position,
    mark_repeated,
    push_position,
)
from vecchess.chess.make import make_move
from vecchess.chess.movegen import MOVE_BUFFER, generate_moves
from vecchess.chess.position import COLOUR_SHIFT, COUNTERS, POSITION_BYTES, Positions, ply_of
from vecchess.chess.rules import (
    KEY_HISTORY,
    KEYS_BYTES,
    NO_PLY_CAP,
    Termination,
    push_key,
    termination_of,
)
from vecchess.jit import inline, kernel, part
from vecchess.memory_layout import I32, I64, U8, U16, Array, Record
from vecchess.shapes import MAX_MOVES, POSITION_WORDS

_ONGOING = int(Termination.ONGOING)


class Games(NamedTuple):
    """G games, in progress or over. Point of view: the side to move.

    positions: uint64[G, 8] (``chess.position``), keys: uint64[G, 102] (``chess.rules``), past:
    uint64[G, 8, 8] the positions before (``chess.history``), [G, 0, 8] where none are seen,
    repetitions: uint8[G] earlier occurrences of the position in its game, numbers: int64[G] of the
    games, starts: int32[G] where each began, a row of the start table, plies: int32[G] since then,
    codes: uint8[G] of ``Termination``, legal: uint16[G, 218] actions of the legal moves, in the
    order of generation; items behind them mean nothing. num_legal: uint8[G], 0 where the game is
    over. begun: uint64[G, 8] where the games began and moves: uint16[G, max_plies] made since,
    [G, 0] where they are not kept.
    """

    positions: Positions
    keys: NDArray[np.uint64]
    past: Pasts
    repetitions: NDArray[np.uint8]
    numbers: NDArray[np.int64]
    starts: NDArray[np.int32]
    plies: NDArray[np.int32]
    codes: NDArray[np.uint8]
    legal: NDArray[np.uint16]
    num_legal: NDArray[np.uint8]
    begun: Positions
    moves: NDArray[np.uint16]

    @classmethod
    def empty(cls, num_games: int, has_past: bool, kept_plies: int = 0) -> Self:
        """Rows whose content means nothing before games are started in them.

        kept_plies: room for the moves of a game, 0 where neither they nor its start are kept.
        """
        kept = POSITION_WORDS if kept_plies else 0
        return cls(
            positions=np.zeros((num_games, POSITION_WORDS), np.uint64),
            keys=np.zeros((num_games, KEY_HISTORY), np.uint64),
            past=np.zeros((num_games, MOST_POSITIONS * has_past, POSITION_WORDS), np.uint64),
            repetitions=np.zeros(num_games, np.uint8),
            numbers=np.arange(num_games, dtype=np.int64),
            starts=np.zeros(num_games, np.int32),
            plies=np.zeros(num_games, np.int32),
            codes=np.zeros(num_games, np.uint8),
            legal=np.zeros((num_games, MAX_MOVES), np.uint16),
            num_legal=np.zeros(num_games, np.uint8),
            begun=np.zeros((num_games, kept), np.uint64),
            moves=np.zeros((num_games, kept_plies), np.uint16),
        )

    @classmethod
    def at(cls, starts: Positions, max_plies: int) -> Self:
        """Games that begin at ``starts``, uint64[G, 8], and are drawn after ``max_plies``."""
        games = cls.empty(len(starts), has_past=True, kept_plies=max_plies)
        games.positions[:] = games.begun[:] = starts
        games.look(np.arange(len(starts)))
        return games

    @property
    def num_games(self) -> int:
        """G"""
        return len(self.plies)

    @property
    def ongoing(self) -> NDArray[np.int64]:
        """Games that are not over, int64[K]."""
        return np.flatnonzero(self.codes == _ONGOING)

    @property
    def colours(self) -> NDArray[np.uint8]:
        """uint8[G]: 0 where White is to move, 1 where Black is."""
        return (self.positions[:, COUNTERS] >> np.uint64(COLOUR_SHIFT)).astype(np.uint8)

    def copy(self) -> "Games":
        """These games in memory of their own."""
        return Games._make(array.copy() for array in self)

    def take(self, games: NDArray[np.int64]) -> "Games":
        """A copy of ``games``, int64[K], which may name a game more than once."""
        return Games._make(array[games] for array in self)

    def put(self, games: NDArray[np.int64], source: "Games", others: NDArray[np.int64]) -> None:
        """Replace ``games``, int64[K], by copies of ``others`` in ``source``."""
        for name, array in source._asdict().items():
            getattr(self, name)[games] = array[others]

    def play(self, games: NDArray[np.int64], moves: NDArray[np.uint16]) -> None:
        """Make one legal move in each of ``games``, int64[K], and note whether it ends the game.

        Games that keep their moves, as those of ``at``, are drawn where the room for them ends.
        """
        self._run(_play_rows, games, np.asarray(moves, np.uint16))

    def look(self, games: NDArray[np.int64]) -> None:
        """Note new positions of ``games``, int64[K], in their histories, what is legal there, and
        whether the games are over."""
        self._run(_look_at_rows, games)

    def _run(self, step: Any, games: NDArray[np.int64], *arguments: Any) -> None:
        max_plies = self.moves.shape[1] or NO_PLY_CAP
        record, moves = games_record(self, max_plies), np.zeros(MOVE_BUFFER, np.uint16)
        step(record.ctypes.data, np.asarray(games, np.int64), *arguments, moves.ctypes.data)


class GamesRecord(Record):
    """The addresses of ``Games``, and where they are cut."""

    tables: I64
    """the lookup tables of ``chess``"""
    positions: I64
    keys: I64
    past: I64
    """0 where no earlier positions are seen"""
    repetitions: Array[U8]
    numbers: Array[I64]
    starts: Array[I32]
    plies: Array[I32]
    codes: Array[U8]
    legal: I64
    num_legal: Array[U8]
    begun: I64
    moves: Array[U16]
    kept_plies: I64
    """room for moves of a game, 0 where they are not kept"""
    max_plies: I64


def games_record(games: Games, max_plies: int) -> NDArray[np.void]:
    """The ``GamesRecord`` of ``games``, which are drawn after ``max_plies``; it is valid as long as
    they live."""
    record: NDArray[np.void] = np.zeros((), GamesRecord.dtype)
    record["tables"], record["max_plies"] = tables.address(), max_plies
    record["kept_plies"] = games.moves.shape[1]
    for name, array in games._asdict().items():
        record[name] = array.ctypes.data if array.size else 0
    return record


@inline
def play_move(games: Any, game: Any, move: Any) -> None:
    """Make a legal move; the position before it goes to the past."""
    position = position_of(games, game)
    if games.past != 0:
        past = games.past + game * PAST_BYTES
        push_position(position, past)
        mark_repeated(earlier_position(position, past, 0), games.repetitions[game])
    if games.kept_plies > 0:
        games.moves[game * games.kept_plies + games.plies[game]] = move
    make_move(games.tables, position, move)
    games.plies[game] = games.plies[game] + 1


@part
def look_at(games, game, moves):  # type: ignore[no-untyped-def]
    """Note the legal actions of a new position and whether the game is over; true in check."""
    position = position_of(games, game)
    packed = generate_moves(games.tables, position, moves)
    num_moves, in_check = packed & 0xFFFF, packed >> 16
    repetitions = push_key(position, games.keys + game * KEYS_BYTES)
    cap = ply_of(position) + games.max_plies - games.plies[game]
    code = termination_of(position, num_moves, in_check, repetitions, cap)
    games.repetitions[game] = repetitions
    games.codes[game] = code
    games.num_legal[game] = num_moves if code == _ONGOING else 0
    if code == _ONGOING:
        write_actions(games.tables, moves, num_moves, legal_of(games, game))
    return in_check


@inline
def position_of(games: Any, game: Any) -> Any:
    """Address of the game's position."""
    return games.positions + game * POSITION_BYTES


@inline
def legal_of(games: Any, game: Any) -> Any:
    """Address of the game's legal actions."""
    return games.legal + game * LEGAL_BYTES


@kernel
def _look_at_rows(games, rows, moves):  # type: ignore[no-untyped-def]
    games = GamesRecord(games)
    for game in rows:
        look_at(games, game, moves)


@kernel
def _play_rows(games, rows, played, moves):  # type: ignore[no-untyped-def]
    games = GamesRecord(games)
    for index in range(len(rows)):
        play_move(games, rows[index], np.int64(played[index]))
        look_at(games, rows[index], moves)
