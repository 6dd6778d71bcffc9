"""Arrays of one mover: its games in progress, and the rules of the games with their starts."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import chess960_positions, start_positions
from vecchess.chess.history import MOST_POSITIONS, Pasts
from vecchess.chess.rules import KEY_HISTORY
from vecchess.config import GameConfig, TreeConfig, parse_temperature
from vecchess.importers.opening_file import read_openings
from vecchess.search.kernels.sampling import softmax_scale
from vecchess.selfplay.games.game_log import NO_PAGE, num_tags
from vecchess.shapes import POSITION_WORDS
from vecchess.store.records import VALUE_UNIT
from vecchess.store.seating import Seating

VACANT = -1
"""``number`` of a row without a game."""
NO_LIMIT = -1
"""``left`` of a row whose game is played to its end: it never becomes 0."""


class RestartPoints(NamedTuple):
    """State of G games where each last stood with no tree: from there it can be played again.

    The columns are those of ``GameTable``.
    """

    ply: NDArray[np.int32]
    resign: NDArray[np.uint8]
    low_turns: NDArray[np.uint8]
    level_plies: NDArray[np.uint8]
    fingerprint: NDArray[np.uint64]
    target_words: NDArray[np.int32]


class GameTable(NamedTuple):
    """G games in progress, one a row.

    position: uint64[G, 8], keys: uint64[G, 102] since the last irreversible move, past:
    uint64[G, 8, 8] the positions before (``chess.history``), uint64[G, 0, 8] where none is seen,
    number: int64[G] (VACANT: none), start: int32[G] row of ``Rules.starts``, ply: int32[G] plies
    logged, pages: int32[G, 2] first and last page of the log, resign: uint8[G] bits of
    ``GameRecords.resign``, low_turns: uint8[G, 2] turns in a row below the resign limit (mover's
    colour: 0 White, 1 Black), level_plies: uint8[G] plies in a row within the draw limit,
    fingerprint: uint64[G] of the answers so far (``fingerprint``), left: int32[G] turns until the
    game waits for the next generation (NO_LIMIT or below: none), target_pages: int32[G, 2] and
    target_words: int32[G] of the log of searches, restart: used where moves are searched.
    """

    position: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    past: Pasts
    number: NDArray[np.int64]
    start: NDArray[np.int32]
    ply: NDArray[np.int32]
    pages: NDArray[np.int32]
    resign: NDArray[np.uint8]
    low_turns: NDArray[np.uint8]
    level_plies: NDArray[np.uint8]
    fingerprint: NDArray[np.uint64]
    left: NDArray[np.int32]
    target_pages: NDArray[np.int32]
    target_words: NDArray[np.int32]
    restart: RestartPoints

    @classmethod
    def vacant(cls, num_games: int, history: int = 1) -> "GameTable":
        """G = ``num_games`` vacant rows, for a network that sees ``history`` positions."""
        rows_of_past = MOST_POSITIONS if history > 1 else 0
        columns: dict[str, Any] = {
            "ply": np.zeros(num_games, np.int32),
            "resign": np.zeros(num_games, np.uint8),
            "low_turns": np.zeros((num_games, 2), np.uint8),
            "level_plies": np.zeros(num_games, np.uint8),
            "fingerprint": np.zeros(num_games, np.uint64),
            "target_words": np.zeros(num_games, np.int32),
        }
        return cls(
            position=np.zeros((num_games, POSITION_WORDS), np.uint64),
            keys=np.zeros((num_games, KEY_HISTORY), np.uint64),
            past=np.zeros((num_games, rows_of_past, POSITION_WORDS), np.uint64),
            number=np.full(num_games, VACANT, np.int64),
            start=np.zeros(num_games, np.int32),
            left=np.full(num_games, NO_LIMIT, np.int32),
            pages=np.full((num_games, 2), NO_PAGE, np.int32),
            target_pages=np.full((num_games, 2), NO_PAGE, np.int32),
            restart=RestartPoints(**{name: array.copy() for name, array in columns.items()}),
            **columns,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(array.nbytes for array in (*self[:-1], *self.restart))


class Rules(NamedTuple):
    """What decides every move of game n: the same for all movers and workers.

    seed: uint64. starts: uint64[starts, 8], one drawn for each game. policy_scale:
    float32[max_plies] log2 of the odds for one unit of accumulator over one time step, with the
    temperature of that ply in it (0: take the best). value_scale: float32 likewise. The limits
    are in 1/511 (``VALUE_UNIT``); resign_below counts win twice and draw once. most_steps: time
    steps a logged ply may have, 0 where moves are searched; num_tags: see ``game_log``. Where moves
    are searched: temperature: float64[max_plies] by ply; simulations of full and fast searches;
    how many of 2**64 random words make a search full. seats and turns: of a training's generations
    (``store/seating.py``); 0 and NO_LIMIT where every game is played to its end.
    """

    seed: np.uint64
    starts: NDArray[np.uint64]
    policy_scale: NDArray[np.float32]
    value_scale: np.float32
    max_plies: int
    random_plies: int
    resign_below: int
    resign_turns: int
    playthrough: np.uint64
    level_within: int
    level_plies: int
    temperature: NDArray[np.float64]
    full_sims: int
    fast_sims: int
    full_share: np.uint64
    most_steps: int
    num_tags: int
    seats: int
    turns: int


def make_rules(
    config: GameConfig,
    tree: TreeConfig,
    seed: int,
    starts: NDArray[np.uint64],
    policy_scale: float,
    value_scale: float,
    time_steps: int,
    seating: Seating | None = None,
) -> Rules:
    """Rules of the games of one run; the scales are the network's, logits per accumulator.

    time_steps: T, the most that the network takes. seating: None plays every game to its end.
    """
    most_steps = time_steps if tree.search == "none" else 0
    temperature = np.ones(config.max_plies)
    for ply, value in parse_temperature(config.temperature):
        temperature[ply:] = value
    return Rules(
        seed=np.uint64(seed),
        starts=starts,
        policy_scale=_policy_scale(temperature, policy_scale),
        value_scale=_value_scale(value_scale),
        max_plies=config.max_plies,
        random_plies=config.random_plies,
        resign_below=round(config.resign_below * 2 * VALUE_UNIT),
        resign_turns=config.resign_turns,
        playthrough=_words_below(config.resign_playthrough),
        level_within=round(config.adjudicate_draw_within * VALUE_UNIT),
        level_plies=config.adjudicate_draw_plies if config.adjudicate_draw_within else 0,
        temperature=temperature,
        full_sims=tree.sims,
        fast_sims=tree.fast_sims,
        full_share=_words_below(tree.full_share),
        most_steps=most_steps,
        num_tags=num_tags(most_steps),
        seats=seating.seats if seating else 0,
        turns=seating.turns if seating else NO_LIMIT,
    )


def rescaled(rules: Rules, policy_scale: float, value_scale: float, time_steps: int) -> Rules:
    """``rules`` with the scales of another network, logits per accumulator, and its T."""
    most_steps = time_steps if rules.most_steps else 0
    return rules._replace(
        policy_scale=_policy_scale(rules.temperature, policy_scale),
        value_scale=_value_scale(value_scale),
        most_steps=most_steps,
        num_tags=num_tags(most_steps),
    )


def _policy_scale(temperature: NDArray[np.float64], scale: float) -> NDArray[np.float32]:
    """float32[max_plies]: the network's ``scale`` with the temperature of each ply in it."""
    cold = temperature < 1e-3
    inverse = np.where(cold, 0.0, 1.0 / np.where(cold, 1.0, temperature))
    return softmax_scale(inverse * scale)


def _value_scale(scale: float) -> np.float32:
    return np.float32(softmax_scale(scale))


def _words_below(share: float) -> np.uint64:
    """How many of the 2**64 random words stand for a share of all cases."""
    return np.uint64(min(int(share * 2**64), 2**64 - 1))


def start_table(config: GameConfig) -> NDArray[np.uint64]:
    """uint64[starts, 8]: the positions a game draws its start from.

    Raises ConfigError with file and line where one cannot be read or is over already.
    """
    if config.chess960:
        return chess960_positions(np.arange(960))
    if config.openings is None:
        return start_positions(1)
    return read_openings(config.openings)
