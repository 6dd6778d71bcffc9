"""Games as the movers' kernels log them, and their one conversion to records (decision 211)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination
from vecchess.ragged import offsets_of
from vecchess.selfplay.games.game_log import PLY_WORDS, unpack_plies, unpack_targets
from vecchess.selfplay.games.game_table import Rules
from vecchess.store.inflight import SavedGames
from vecchess.store.records import GameRecords, Spans, concatenate, span_columns

GameSpans = Mapping[int, Spans]
"""Networks that played a game, by its number, where they are several."""


class LoggedGames(NamedTuple):
    """n games; a kernel fills one with room to spare.

    logged: uint16[plies, 3] and words: uint32[W, 1] (``game_log``), and for each game
    number: int64[n] its id, start: int32[n] row of ``Rules.starts``, plies: int32[n], num_words:
    int32[n], result: int8[n] White's, termination: uint8[n] (ONGOING: the game waits for the next
    generation), resign: uint8[n], fingerprint: uint64[n], low_turns: uint8[n, 2], level_plies:
    uint8[n], see ``SavedGames``.
    """

    logged: NDArray[np.uint16]
    words: NDArray[np.uint32]
    number: NDArray[np.int64]
    start: NDArray[np.int32]
    plies: NDArray[np.int32]
    num_words: NDArray[np.int32]
    result: NDArray[np.int8]
    termination: NDArray[np.uint8]
    resign: NDArray[np.uint8]
    fingerprint: NDArray[np.uint64]
    low_turns: NDArray[np.uint8]
    level_plies: NDArray[np.uint8]

    @classmethod
    def with_room(cls, num_games: int, num_plies: int, num_words: int = 0) -> "LoggedGames":
        """Room for so many games of so many plies in all, and words of their searches."""
        return cls(
            logged=np.zeros((num_plies, PLY_WORDS), np.uint16),
            words=np.zeros((num_words, 1), np.uint32),
            number=np.zeros(num_games, np.int64),
            start=np.zeros(num_games, np.int32),
            plies=np.zeros(num_games, np.int32),
            num_words=np.zeros(num_games, np.int32),
            result=np.zeros(num_games, np.int8),
            termination=np.zeros(num_games, np.uint8),
            resign=np.zeros(num_games, np.uint8),
            fingerprint=np.zeros(num_games, np.uint64),
            low_turns=np.zeros((num_games, 2), np.uint8),
            level_plies=np.zeros(num_games, np.uint8),
        )

    def copy_first(self, num_games: int, num_plies: int, num_words: int) -> "LoggedGames":
        """A copy of the first ``num_games`` games, which have so many plies and words in all."""
        ends = {"logged": num_plies, "words": num_words}
        parts = self._asdict().items()
        return LoggedGames(
            **{name: array[: ends.get(name, num_games)].copy() for name, array in parts}
        )


class FinishedGames(NamedTuple):
    """Finished games of one mover, and what their records take from rules and network.

    Among them are those that wait for the next generation of a training.
    """

    games: LoggedGames
    rules: Rules
    net_sha: str
    spans: GameSpans

    @property
    def numbers(self) -> NDArray[np.int64]:
        """int64[n]: the ids of the games."""
        return self.games.number

    @property
    def num_games(self) -> int:
        """n."""
        return len(self.games.number)

    @property
    def num_ended(self) -> int:
        """Number of games that have ended and do not wait."""
        return int((self.games.termination != Termination.ONGOING).sum())

    @property
    def num_plies(self) -> int:
        """Plies of all games together."""
        return len(self.games.logged)


def finished_records(parts: Sequence[FinishedGames]) -> GameRecords:
    """Records of at least one part, in the order of their ids."""
    by_net: dict[str, list[FinishedGames]] = {}
    for part in parts:
        by_net.setdefault(part.net_sha, []).append(part)
    records = [
        to_records(
            _joined([part.games for part in same]),
            same[0].rules,
            net_sha,
            {number: spans for part in same for number, spans in part.spans.items()},
        )
        for net_sha, same in by_net.items()
    ]
    return (records[0] if len(records) == 1 else concatenate(records)).by_number()


def joined_games(parts: Sequence[FinishedGames]) -> SavedGames:
    """The games of at least one part by their ids, those that ended and those that wait."""
    order = np.argsort(np.concatenate([part.numbers for part in parts]))
    low_turns, level_plies = (
        np.concatenate([getattr(part.games, name) for part in parts])[order]
        for name in ("low_turns", "level_plies")
    )
    return SavedGames(finished_records(parts), low_turns, level_plies)


def ended_and_waiting(games: SavedGames) -> tuple[GameRecords, SavedGames]:
    """Records of the ``games`` that ended, and those that wait."""
    is_waiting = games.records.termination == Termination.ONGOING
    ended = games.records.take(np.flatnonzero(~is_waiting))
    return ended, games.take(np.flatnonzero(is_waiting))


def to_records(games: LoggedGames, rules: Rules, net_sha: str, spans: GameSpans) -> GameRecords:
    """Records of games played by ``rules`` with the network ``net_sha``, those in ``spans`` with
    others before it; they share columns."""
    offsets, word_offsets = offsets_of(games.plies), offsets_of(games.num_words)
    columns: dict[str, Any] = unpack_plies(games.logged, rules.most_steps)
    columns |= unpack_targets(games.words[:, 0], word_offsets, offsets)
    columns |= span_columns([spans.get(n, [(0, net_sha)]) for n in games.number.tolist()])
    return GameRecords(
        numbers=games.number,
        start=rules.starts[games.start],
        result=games.result,
        termination=games.termination,
        resign=games.resign,
        fingerprint=games.fingerprint,
        offsets=offsets,
        **columns,
    )


def _joined(parts: list[LoggedGames]) -> LoggedGames:
    if len(parts) == 1:
        return parts[0]
    return LoggedGames(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
