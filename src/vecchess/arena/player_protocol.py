"""The interface of players: they choose moves for many games at a time.

A player gets ``MoveRequests``, thinks in steps, and gives ``MoveReplies`` in any order.
``ImmediatePlayer`` is the base of players that choose at once.
"""

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.game_arrays import Games
from vecchess.chess.history import Pasts
from vecchess.rng import random_word

NO_FORFEIT = 0


@dataclass(frozen=True)
class SlotRows:
    """K rows in arrays. slots: int64[K] slot of the match of each game, from 0, no two alike."""

    slots: NDArray[np.int64]

    def __len__(self) -> int:
        """K"""
        return len(self.slots)

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Some of them, int64[k] of 0 .. K - 1."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class MoveRequests(SlotRows):
    """K games, none of them over, in which the player is to move.

    games: int64[K] numbers of the games, plies: int64[K] played in each so far; both choose the
    random numbers. positions: uint64[K, 8], keys: uint64[K, 102] with the positions themselves in
    them (``chess.rules``), past: uint64[K, 8, 8] the positions before (``chess.history``),
    repetitions: uint8[K] earlier occurrences of the position in its game. starts: uint64[K, 8]
    where the games began, moves: uint16[K, plies] made since, mover's view.
    """

    games: NDArray[np.int64]
    plies: NDArray[np.int64]
    positions: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    past: Pasts
    repetitions: NDArray[np.uint8]
    starts: NDArray[np.uint64]
    moves: NDArray[np.uint16]

    @classmethod
    def of(cls, boards: Games, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Self:
        """Requests to the sides to move in ``rows``, int64[K] of ``boards``, which keep their
        moves: games with these ``numbers``, in slots of the same numbers as the rows."""
        plies = boards.plies[rows].astype(np.int64)
        return cls(
            slots=rows,
            games=numbers,
            plies=plies,
            positions=boards.positions[rows],
            keys=boards.keys[rows],
            past=boards.past[rows],
            repetitions=boards.repetitions[rows],
            starts=boards.begun[rows],
            moves=boards.moves[rows, : plies.max(initial=0)],
        )


@dataclass(frozen=True)
class MoveReplies(SlotRows):
    """The moves of a player in K games.

    moves: uint16[K] legal ones, mover's view. values: float32[K] the score the
    mover expects, 0 to 1, NaN where unknown. visits: int64[K] positions searched, 0 where unknown.
    forfeits: uint8[K] ``match_game.Forfeit`` of a player that loses instead of moving.
    """

    moves: NDArray[np.uint16]
    values: NDArray[np.float32]
    visits: NDArray[np.int64]
    forfeits: NDArray[np.uint8]

    @classmethod
    def of_moves(
        cls,
        slots: NDArray[np.int64],
        moves: NDArray[np.uint16],
        values: ArrayLike = np.nan,
        visits: ArrayLike = 0,
        forfeits: ArrayLike = NO_FORFEIT,
    ) -> Self:
        """Moves with K values, visits and forfeits, or one for all."""
        num = len(slots)
        return cls(
            slots,
            moves,
            values=np.full(num, values, np.float32),
            visits=np.full(num, visits, np.int64),
            forfeits=np.full(num, forfeits, np.uint8),
        )

    @classmethod
    def none(cls) -> Self:
        """K = 0"""
        return cls.of_moves(np.zeros(0, np.int64), np.zeros(0, np.uint16))

    @classmethod
    def joined(cls, parts: "list[MoveReplies]") -> Self:
        """All of ``parts``, in that order."""
        if not parts:
            return cls.none()
        return cls(
            *(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls))
        )


class Player(Protocol):
    """Chooses moves. Its moves in one game depend on no other game, nor on the games' order.

    Used by one thread at a time. Engines with clocks are the exception to the rule.
    """

    name: str
    """Its spec, see ``players.player_registry``."""
    max_games: int | None
    """Games it can play at a time, in slots from 0; None: any number."""

    @property
    def is_idle(self) -> bool:
        """True where it owes no reply."""
        ...

    def ask(self, requests: MoveRequests) -> None:
        """Begin to think about ``requests``, besides earlier ones."""
        ...

    def replies(self) -> MoveReplies:
        """Think for a moment, as for one time step of a network; the moves decided by now."""
        ...

    def close(self) -> None:
        """End its processes and threads, if it has any."""
        return


class ImmediatePlayer(Player):
    """A player that chooses at once."""

    max_games: int | None = None

    def __init__(self, name: str) -> None:
        """``name``: its spec."""
        self.name = name
        self._asked: list[MoveRequests] = []

    @abstractmethod
    def choose(self, requests: MoveRequests) -> NDArray[np.uint16]:
        """A legal move in each of the K games of ``requests``, ``uint16[K]``, mover's view."""

    @property
    def is_idle(self) -> bool:
        """True where it owes no reply."""
        return not self._asked

    def ask(self, requests: MoveRequests) -> None:
        """Keep ``requests`` for the next ``replies``."""
        self._asked.append(requests)

    def replies(self) -> MoveReplies:
        """Replies to all requests."""
        parts = [MoveReplies.of_moves(asked.slots, self.choose(asked)) for asked in self._asked]
        self._asked.clear()
        return MoveReplies.joined(parts)


def choose_moves(player: Player, requests: MoveRequests) -> MoveReplies:
    """The replies of ``player`` to all of ``requests``, in their order."""
    player.ask(requests)
    parts = []
    while not player.is_idle:
        parts.append(player.replies())
    replies = MoveReplies.joined(parts)
    row_of = {slot: row for row, slot in enumerate(replies.slots.tolist())}
    order = [row_of[slot] for slot in requests.slots.tolist()]
    return replies.take(np.array(order, np.int64))


def draw_below(seed: int, requests: MoveRequests, ends: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64[K]: a number from 0 to below each of ``ends``, chosen by seed, game and ply."""
    words = random_words(seed, requests) >> np.uint64(32)
    return (words * ends.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def random_words(seed: int, requests: MoveRequests) -> NDArray[np.uint64]:
    """uint64[K]: 64 random bits for each game and ply."""
    pairs = zip(requests.games.tolist(), requests.plies.tolist(), strict=True)
    return np.array([random_word(seed, game, ply) for game, ply in pairs], np.uint64)
