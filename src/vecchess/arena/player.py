"""Who can play in a match: whoever chooses moves for many games at a time."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.past import Pasts
from vecchess.rng import random_word


class Player(Protocol):
    """Chooses moves. What it plays in one game depends on no other game, nor on their order."""

    @property
    def name(self) -> str:
        """What people call it: its spelling, see ``players.open_player``."""
        ...

    def choose(
        self,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: Pasts,
        games: NDArray[np.int64],
        plies: NDArray[np.int64],
    ) -> NDArray[np.uint16]:
        """A legal move in each of K games, none of which is over: ``uint16[K]``, mover's view.

        positions: uint64[K, 8], keys: uint64[K, 102] with the positions themselves in them
        (``chess.rules``), past: uint64[K, 8, 8] the positions before (``chess.past``), games:
        int64[K] numbers of the games in the match, plies: int64[K]
        played in each so far. The last two choose the random numbers.
        """
        ...


def draw_below(
    seed: int, games: NDArray[np.int64], plies: NDArray[np.int64], ends: NDArray[np.int32]
) -> NDArray[np.int64]:
    """int64[K], each uniform in 0 .. end - 1, by the counter of its game and ply."""
    words = random_words(seed, games, plies)
    return ((words >> np.uint64(32)) * ends.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def random_words(
    seed: int, games: NDArray[np.int64], plies: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """uint64[K]: a random word for each game and ply."""
    pairs = zip(games.tolist(), plies.tolist(), strict=True)
    return np.array([random_word(seed, game, ply) for game, ply in pairs], np.uint64)
