"""A match that all ranks play: each a share of its pairs, on its own device.

Pair p is played by rank p modulo the number of ranks. Twice a second the ranks exchange the games
that ended, and all count them in the order of their numbers (``PairCounter``): so the result, and
the decision of a sequential test, depend on the games alone, not on how many ranks play them.

Decision 226.
"""

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event
from time import monotonic
from typing import Any

import numpy as np

from vecchess.arena.match.pair_counter import PairCounter
from vecchess.arena.match.play_match import MatchResult, match_result, play_games
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import Player
from vecchess.arena.ratings.sprt import Sprt
from vecchess.config import MatchConfig
from vecchess.runtime.signals import StopSignals
from vecchess.train.distributed.control import has_ended, in_thread
from vecchess.train.distributed.ranks import Ranks

BEAT_S = 0.5
LEAVE_S = 5.0
"""A match that was asked to end has so long; after that it is abandoned."""
MOST_GAMES = 256
"""Games that a rank sends at a time."""

OpenPlayers = Callable[[], tuple[Player, Player]]


class SharedMatch:
    """One rank's part of a match. All ranks make it and call ``play``."""

    def __init__(
        self, config: MatchConfig, open_players: OpenPlayers, ranks: Ranks, stop: StopSignals
    ) -> None:
        """``open_players`` is called in a thread; the same players on every rank."""
        self._config, self._open_players = config, open_players
        self._ranks, self._stop = ranks, stop
        self._must_end = Event()
        self._ended: deque[MatchGame] = deque()
        """Games that the other ranks do not know yet."""
        self._counter = PairCounter(Sprt.parse(config.sprt) if config.sprt else None)

    def play(self) -> MatchResult | None:
        """The result, the same on all ranks; None where a stop was requested meanwhile.

        Raises what a player raises.
        """
        start, own = monotonic(), in_thread("vecchess-match", self._play_share)
        while True:
            is_done = has_ended(own, BEAT_S)
            if is_done:
                own.result()
            parts = self._ranks.gather_object(self._news(is_done))
            for part in parts:
                self._counter.add(map(_unpacked, part["games"]))
            if stopped := [part["stop"] for part in parts if part["stop"]]:
                self._stop.request_stop(stopped[0])
                self._must_end.set()
                has_ended(own, LEAVE_S)
                return None
            if self._counter.is_decided:
                self._must_end.set()
            if all(part["is_done"] for part in parts):
                break
        names, plies = own.result()
        stopped_by = "sprt" if self._counter.is_decided else "games"
        return match_result(names, self._counter, stopped_by, plies, monotonic() - start)

    def _news(self, is_done: bool) -> dict[str, Any]:
        """What this rank tells the others; it is done when all its games are told."""
        games = [_packed(self._ended.popleft()) for _ in range(min(MOST_GAMES, len(self._ended)))]
        is_done = is_done and not self._ended
        return {"games": games, "is_done": is_done, "stop": self._stop.reason}

    def _play_share(self) -> tuple[tuple[str, str], int]:
        """Play this rank's games; the players' names, and the plies."""

        def must_end(ended: list[MatchGame], plies: int) -> bool:
            self._ended.extend(ended)
            return self._must_end.is_set()

        pairs = range(self._ranks.rank, self._config.games // 2, self._ranks.world_size)
        numbers = [number for pair in pairs for number in (2 * pair, 2 * pair + 1)]
        with ExitStack() as stack:
            players = self._open_players()
            for player in players:
                stack.callback(player.close)
            plies = play_games(*players, self._config, numbers, must_end) if numbers else 0
        return (players[0].name, players[1].name), plies


def _packed(game: MatchGame) -> dict[str, Any]:
    """A game as JSON values, without the values and visits of its moves."""
    arrays = {"start": game.start.tobytes(), "moves": game.moves.tobytes()}
    texts = {name: b64encode(data).decode() for name, data in arrays.items()}
    return vars(game) | {"values": None, "visits": None} | texts


def _unpacked(values: dict[str, Any]) -> MatchGame:
    """The inverse of ``_packed``."""
    start = np.frombuffer(b64decode(values["start"]), np.uint64)
    moves = np.frombuffer(b64decode(values["moves"]), np.uint16)
    none = {"values": np.empty(0, np.float32), "visits": np.empty(0, np.int32)}
    return MatchGame(**(values | none | {"start": start, "moves": moves}))
