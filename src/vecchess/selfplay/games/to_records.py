"""From a mover's arrays to records: of games that ended, and of games in progress."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.selfplay.games.game_table import Rules
from vecchess.selfplay.games.ply_log import unpack_plies
from vecchess.selfplay.games.target_log import unpack_targets
from vecchess.store.records import GameRecords


class Played(NamedTuple):
    """n games as far as they were played, with what was logged of each ply and search.

    number: int64[n], start: int32[n] row of ``Rules.starts``, result: int8[n], termination,
    resign: uint8[n], fingerprint: uint64[n], plies, num_words: [n] how many each has in logged:
    uint16[plies, 3] (``ply_log``) and words: uint32[words] (``target_log``).
    """

    number: NDArray[np.int64]
    start: NDArray[np.int32]
    result: NDArray[np.int8]
    termination: NDArray[np.uint8]
    resign: NDArray[np.uint8]
    fingerprint: NDArray[np.uint64]
    plies: NDArray[np.int32]
    logged: NDArray[np.uint16]
    num_words: NDArray[np.integer[Any]]
    words: NDArray[np.uint32]


def recorded(played: Played, rules: Rules, net_sha: str) -> GameRecords:
    """Records of their own memory of games that were played by these rules, with this network."""
    offsets = np.concatenate([[0], np.cumsum(played.plies)]).astype(np.int64)
    word_offsets = np.concatenate([[0], np.cumsum(played.num_words)]).astype(np.int64)
    columns = unpack_plies(played.logged, rules.most_steps)
    columns |= unpack_targets(played.words, word_offsets, offsets)
    num_games = len(played.number)
    return GameRecords(
        numbers=played.number.copy(),
        start=rules.starts[played.start],
        result=played.result.copy(),
        termination=played.termination.copy(),
        resign=played.resign.copy(),
        fingerprint=played.fingerprint.copy(),
        offsets=offsets,
        span_offsets=np.arange(num_games + 1, dtype=np.int64),
        span_ply=np.zeros(num_games, np.int32),
        span_net=np.zeros(num_games, np.int32),
        nets=(net_sha,),
        **columns,
    )
