"""Thousands of games of chess as arrays, stepped by actions."""

from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.arena.match.match_openings import load_book
from vecchess.chess.chess960 import NUM_CHESS960, chess960_positions, start_positions
from vecchess.chess.game_arrays import Games
from vecchess.chess.planes import NUM_PLANES, positions_seen, require_planes_alone
from vecchess.chess.position import Positions, checked
from vecchess.chess.rules import Termination, terminations
from vecchess.chess.unpack_planes import plane_memory, writable_address
from vecchess.env.row_kernels import (
    STAY,
    RowRunner,
    draw_actions,
    find_illegal,
    show_rows,
    start_rows,
    step_rows,
)
from vecchess.errors import ConfigError
from vecchess.selfplay.games.game_kernel import MAX_OPENING_PLIES
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS, POSITION_WORDS

Starts: TypeAlias = str | Path | Positions
"""``"standard"``, ``"chess960"``, ``"book"``, an EPD, FEN or PGN file, or ``uint64[K, 8]``."""
__all__ = ["STAY", "ChessEnv", "EnvStep"]
MOST_SEED = 2**64 - 1


def start_table(starts: Starts) -> Positions:
    """``uint64[K, 8]``: the positions that games draw their start from.

    ``"book"`` is the book of matches, 500 balanced positions after eight plies. Raises ConfigError
    for a name that is none of ``Starts``, a file that cannot be read and a position that is over.
    """
    if isinstance(starts, np.ndarray):
        return _checked_table(starts)
    if isinstance(starts, Path):
        return load_book(starts)
    if starts == "standard":
        return start_positions(1)
    if starts == "chess960":
        return chess960_positions(np.arange(NUM_CHESS960))
    if starts == "book":
        return load_book()
    raise ConfigError(
        f"starts {starts!r}: give 'standard', 'chess960', 'book', a Path or uint64[K, 8]"
    )


def _checked_table(positions: Positions) -> Positions:
    """A copy of the positions. Raises ConfigError where there are none, or one is over."""
    table = checked(positions).copy()
    over = np.flatnonzero(terminations(table) != Termination.ONGOING)
    if len(over) or not len(table):
        what = f"position {over[0]} is of a game that is over" if len(over) else "no positions"
        raise ConfigError(f"starts: {what}; no game can begin there")
    return table


class EnvStep(NamedTuple):
    """What one step gave in each of G games.

    rewards: float32[G] for the side that moved: 1 where it gave mate, 0 everywhere else; the other
    side's reward is the negative. codes: uint8[G] of ``Termination``: why the game ended with this
    step, 0 where it did not. Both are arrays of their own, which later steps leave alone.
    """

    rewards: NDArray[np.float32]
    codes: NDArray[np.uint8]


def endings(codes: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Terminated, bool[G]: over by the rules; truncated, bool[G]: by the cap on plies."""
    is_cut: NDArray[np.bool_] = codes == Termination.PLY_CAP
    return (codes != Termination.ONGOING) & ~is_cut, is_cut


class CopiedWhole:
    """Copies of an environment, shallow ones too, have games of their own."""

    def __copy__(self) -> Self:
        """A deep copy: there is no part that two environments could share."""
        return deepcopy(self)


class ChessEnv(CopiedWhole):
    """G games at a time, each a row of arrays. Point of view: the side to move. Not thread-safe.

    A game is known by its number, and its opening and the random actions in it depend on the seed
    and the number alone. Row g plays the games g, g + G, g + 2 G ...; the rules are those of
    self-play: a draw counts as soon as it could be claimed.

    rows: ``Games``, the games themselves, to be read only. observations, masks: the memory that
    each step writes, None where there is none. final_positions: uint64[G, 8] and final_plies:
    int32[G] of the game that ended last in each row. starts: uint64[K, 8] where games begin.
    """

    def __init__(
        self,
        num_games: int,
        *,
        seed: int = 0,
        starts: Starts = "standard",
        random_plies: int = 0,
        max_plies: int = 512,
        auto_reset: bool = True,
        observations: Any = None,
        num_planes: int = NUM_PLANES,
        masks: Any = None,
        keep_past: bool = False,
        threads: int = 1,
    ) -> None:
        """Begin the games 0 .. G - 1.

        ``starts``: "standard", "chess960", "book", the Path of an EPD, FEN or PGN file, or
        uint64[K, 8]; ``random_plies`` random plies follow. Games are drawn after ``max_plies``.
        auto_reset: the next game begins in the step in which one ends; else it stays, over, and
        further actions are ignored.

        observations: "bitboards" for uint64[G, P], "planes" for float32[G, P, 8, 8], or memory of
        numpy or torch of such a shape (``unpack_planes.ONES`` has the types) that steps write to;
        ``num_planes``: P, as networks have it (``chess.planes``). masks: True, or memory bool,
        uint8 or int8[G, 4672], 1 where an action is legal. keep_past: keep ``rows.past`` even if
        nothing observed needs it. threads: they change no result.

        Raises ConfigError for settings out of range, ValueError for memory that cannot be used,
        NetworkError for a P that vecchess does not make.
        """
        _check(num_games, random_plies, max_plies, threads, seed)
        self.num_games, self.seed, self.max_plies = num_games, seed, max_plies
        self.starts = start_table(starts)
        self.observations = _observations(observations, num_games, num_planes)
        self.masks: Any = None if masks is False else masks
        if self.observations is not None:
            num_planes = int(self.observations.shape[1])
        require_planes_alone(num_planes)
        has_past = keep_past or positions_seen(num_planes) > 1
        self.rows = Games.empty(num_games, has_past)
        self.final_positions = np.zeros((num_games, POSITION_WORDS), np.uint64)
        self.final_plies = np.zeros(num_games, np.int32)
        self._actions = np.zeros(num_games, np.int64)
        self._threads = threads
        self._numbers = {
            "random_plies": random_plies, "auto_reset": int(auto_reset), "num_planes": num_planes,
        }  # fmt: skip
        self._runner = self._open_runner()
        self._runner.run_with_scratch(start_rows)

    def __repr__(self) -> str:
        return f"ChessEnv({self.num_games}, seed={self.seed}, max_plies={self.max_plies})"

    def __getstate__(self) -> dict[str, Any]:
        """All but the record of addresses; memory of the user is copied too, because processes
        would share that of torch."""
        state = {name: value for name, value in self.__dict__.items() if name != "_runner"}
        for name in ("observations", "masks"):
            if hasattr(state[name], "clone"):
                state[name] = state[name].clone()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on from where the original was."""
        self.__dict__.update(state)
        self.rows = Games(*map(writable, self.rows))
        for name in ("final_positions", "final_plies", "_actions", "masks", "observations"):
            setattr(self, name, writable(getattr(self, name)))
        self._runner = self._open_runner()
        self._runner.run_with_scratch(show_rows)

    @property
    def positions(self) -> NDArray[np.uint64]:
        """uint64[G, 8] (``chess.position``), a view."""
        return self.rows.positions

    @property
    def legal(self) -> NDArray[np.uint16]:
        """uint16[G, 218] actions of the legal moves, a view; ``num_legal`` of each row count."""
        return self.rows.legal

    @property
    def num_legal(self) -> NDArray[np.uint8]:
        """uint8[G], a view; 0 where the game is over."""
        return self.rows.num_legal

    @property
    def is_over(self) -> NDArray[np.bool_]:
        """bool[G]; never true with ``auto_reset``."""
        over: NDArray[np.bool_] = self.rows.codes != Termination.ONGOING
        return over

    @property
    def colours(self) -> NDArray[np.uint8]:
        """uint8[G]: 0 where White is to move, 1 where Black is."""
        return self.rows.colours

    def reset(
        self,
        rows: ArrayLike | None = None,
        numbers: ArrayLike | None = None,
        seed: int | None = None,
    ) -> None:
        """Begin games anew: in all rows, or in ``rows``, int[K], or bool[G] which of them.

        ``numbers``, int[K]: which games begin; None for the first one of each row where all are
        reset, and for the next one of each of ``rows``. ``seed``: of games that begin from now on,
        None for the one that was. Raises ValueError for rows or numbers out of range, ConfigError
        for such a seed.
        """
        chosen = np.arange(self.num_games) if rows is None else self._row_numbers(rows)
        if ((chosen < 0) | (chosen >= self.num_games)).any():
            raise ValueError(f"rows must be from 0 to {self.num_games - 1}")
        following = chosen if rows is None else self.rows.numbers[chosen] + self.num_games
        begun = following if numbers is None else np.asarray(numbers, np.int64)
        if begun.shape != chosen.shape or (begun < 0).any():
            raise ValueError(f"numbers must be int[{len(chosen)}], from 0 on")
        if seed is not None:
            _check_range("seed", seed, 0, MOST_SEED)
            self.seed = seed
            self._runner.set(seed=seed)
        self.rows.numbers[chosen] = begun
        self._find_memory()
        if rows is None:
            self._runner.run_with_scratch(start_rows)
        else:
            self._runner.run_rows(start_rows, chosen)

    def _row_numbers(self, rows: ArrayLike) -> NDArray[np.int64]:
        """int64[K]"""
        given = np.atleast_1d(rows)
        if given.dtype == np.bool_ and given.shape == (self.num_games,):
            return np.flatnonzero(given)
        if len(given) and given.dtype.kind not in "iu":
            raise ValueError(f"rows must be int[K] or bool[{self.num_games}], not {given.dtype}")
        return given.astype(np.int64)

    def step(self, actions: ArrayLike) -> EnvStep:
        """Make an action in every game, int[G]; those of games that are over are ignored, and with
        ``STAY``, -1, a game does not move.

        Raises ValueError for another shape or type, and with the first game whose action is not
        legal; then no game has moved.
        """
        self._take(actions)
        step = EnvStep(np.empty(self.num_games, np.float32), np.empty(self.num_games, np.uint8))
        self._find_memory()
        self._runner.point(rewards=step.rewards, ended=step.codes)
        self._runner.run_with_scratch(step_rows)
        return step

    def random_actions(self, seed: int | None = None) -> NDArray[np.int64]:
        """int64[G]: a uniformly random legal action of each game, 0 where it is over.

        It depends on ``seed`` (None: the environment's), the game's number and its ply alone.
        """
        self._runner.run(draw_actions, self.seed if seed is None else seed)
        return self._actions.copy()

    def is_legal(self, actions: ArrayLike) -> NDArray[np.bool_]:
        """bool[G]: whether each action, int[G], is legal in its game; never in one that is over."""
        given = np.asarray(actions)[:, None]
        is_listed = np.arange(MAX_MOVES) < self.num_legal[:, None]
        legal: NDArray[np.bool_] = ((self.legal == given) & is_listed).any(axis=1)
        return legal

    def legal_masks(self, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """``bool[G, 4672]``, true where an action is legal; written to ``out`` if it is given."""
        masks = np.zeros((self.num_games, NUM_ACTIONS), np.bool_) if out is None else out
        masks[:] = 0
        is_legal = np.arange(MAX_MOVES) < self.num_legal[:, None]
        rows, _ = np.nonzero(is_legal)
        masks[rows, self.legal[is_legal]] = 1
        return masks

    def snapshot(self) -> Games:
        """A copy of all games, for ``restore``."""
        return self.rows.copy()

    def restore(self, rows: Games) -> None:
        """Go on from the games of a snapshot of an environment with the same settings.

        Masks and observations show them too. Raises ValueError for other shapes.
        """
        shapes = [array.shape for array in self.rows]
        if [array.shape for array in rows] != shapes:
            raise ValueError("the snapshot is of an environment with other settings")
        for name, own in self.rows._asdict().items():
            own[:] = getattr(rows, name)
        if self.masks is not None:
            self.masks[:] = 0
        self._find_memory()
        self._runner.run_with_scratch(show_rows)

    def _take(self, actions: ArrayLike) -> None:
        """Copy legal actions to where kernels read them. Raises ValueError, see ``step``."""
        self._actions[:] = whole_numbers(actions, self.num_games)
        illegal = [game for game in self._runner.run(find_illegal) if game >= 0]
        if illegal:
            action = self._actions[illegal[0]]
            raise ValueError(f"game {illegal[0]}: action {action} is not legal there")

    def _open_runner(self) -> RowRunner:
        """Let the kernels read and write this environment's memory, and that of the user."""
        runner = RowRunner(self.rows, self.max_plies, self._threads, self._numbers["num_planes"])
        runner.set(seed=self.seed, num_starts=len(self.starts), **self._numbers)
        runner.point(start_table=self.starts, actions=self._actions)
        runner.point(final_positions=self.final_positions, final_plies=self.final_plies)
        if self.masks is True:
            self.masks = np.zeros((self.num_games, NUM_ACTIONS), np.bool_)
        if self.masks is not None:
            runner.set(masks=_mask_address(self.masks, self.num_games))
            self.masks[:] = 0
        shape = (self.num_games, self._numbers["num_planes"])
        if self.observations is not None and self.observations.ndim == 2:
            _require_shape(self.observations, shape)
            runner.set(observations=writable_address(self.observations))
        elif self.observations is not None:
            memory = plane_memory(self.observations, (*shape, 8, 8))
            runner.set(observations=memory.address)
            runner.set(item_bytes=memory.item_bytes, one=memory.one)
        self._places = self._memory_places()
        return runner

    def _memory_places(self) -> list[tuple[int, Any]]:
        """Address and shape of each tensor that is written to."""
        found = (self.observations, self.masks)
        return [
            (memory.data_ptr(), memory.shape) for memory in found if hasattr(memory, "data_ptr")
        ]

    def _find_memory(self) -> None:
        """Follow memory of torch that has moved, as it does when it is shared with processes.

        Raises ValueError where it has become another shape.
        """
        if self._places and self._places != self._memory_places():
            self._runner = self._open_runner()
            self._runner.run_with_scratch(show_rows)


def _check(num_games: int, random_plies: int, max_plies: int, threads: int, seed: int) -> None:
    """Raise ConfigError for settings out of range."""
    limits = {
        "num_games": (num_games, 1, 1 << 24),
        "threads": (threads, 1, 1024),
        "max_plies": (max_plies, 1, 8192),
        "random_plies": (random_plies, 0, min(max_plies - 1, MAX_OPENING_PLIES - 4)),
        "seed": (seed, 0, MOST_SEED),
    }
    for name, (value, least, most) in limits.items():
        _check_range(name, value, least, most)


def _check_range(name: str, value: Any, least: int, most: int) -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise ConfigError(f"{name} must be from {least} to {most}, not {value!r}")


def whole_numbers(actions: ArrayLike, num_games: int) -> NDArray[np.int64]:
    """int64[G]: an action of each game; raises ValueError for another shape or type."""
    given = np.asarray(actions)
    if given.shape != (num_games,) or given.dtype.kind not in "iu":
        kind = f"{given.dtype}{list(given.shape)}"
        raise ValueError(f"actions must be int[{num_games}], not {kind}")
    return given.astype(np.int64)


def _require_shape(memory: Any, shape: tuple[int, ...]) -> None:
    if tuple(memory.shape) != shape:
        raise ValueError(f"observations must be {list(shape)}, not {list(memory.shape)}")


def writable(memory: Any) -> Any:
    """The array, or a copy: what comes from another process may be read-only."""
    is_array = isinstance(memory, np.ndarray)
    return memory.copy() if is_array and not memory.flags.writeable else memory


def _mask_address(masks: Any, num_games: int) -> int:
    """Address of the user's masks. Raises ValueError where they cannot be used."""
    kind, shape = _kind_and_shape(masks)
    if kind not in ("bool", "uint8", "int8") or shape != (num_games, NUM_ACTIONS):
        wants = f"bool, uint8 or int8[{num_games}, {NUM_ACTIONS}]"
        raise ValueError(f"masks must be {wants}, not {kind}{list(shape)}")
    return writable_address(masks)


def _kind_and_shape(memory: Any) -> tuple[str, tuple[int, ...]]:
    """Type and shape of memory of numpy or torch; those of a scalar for anything else."""
    kind = str(getattr(memory, "dtype", type(memory).__name__)).removeprefix("torch.")
    return kind, tuple(getattr(memory, "shape", ()))


def _observations(wanted: Any, num_games: int, num_planes: int) -> Any:
    """The memory of observations: made here, or checked. Raises ConfigError and ValueError."""
    if wanted is None:
        return None
    if isinstance(wanted, str):
        if wanted == "bitboards":
            return np.zeros((num_games, num_planes), np.uint64)
        if wanted == "planes":
            return np.zeros((num_games, num_planes, 8, 8), np.float32)
        raise ConfigError(f"observations {wanted!r}: give 'bitboards', 'planes' or memory")
    kind, shape = _kind_and_shape(wanted)
    is_packed = len(shape) == 2 and kind in ("uint64", "int64")
    is_unpacked = len(shape) == 4 and shape[2:] == (8, 8)
    if not (is_packed or is_unpacked) or shape[0] != num_games:
        found = f"{kind}{list(shape)}"
        wants = f"uint64[{num_games}, P] or numbers of [{num_games}, P, 8, 8]"
        raise ValueError(f"observations must be {wants}, not {found}")
    return wanted
