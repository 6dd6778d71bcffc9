"""A few of a worker's games in progress, in a file for ``watch`` and the dashboard.

live/<worker>.npz is a shard (``store/shard.py``) of unfinished games, replaced about once a second
and removed when the worker rests. Games that were shown and have just ended, which may be recorded
only half a minute later, keep their row until another game has it, and then stand after the rest.
Errors of the disk are ignored: the file is for show.

Decision 149.
"""

from collections import deque
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination
from vecchess.runtime.async_file import LatestFile
from vecchess.selfplay.games.finished_games import FinishedGames, finished_records
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.shard import NO_RUN, shard_bytes

SHOWN_GAMES = 16
INTERVAL_S = 1.0
ENDED_S = 5.0
"""A shown game stays for so long after its end."""
CLOSE_WAIT_S = 2.0


class LiveGames:
    """Keeps the file of one worker up to date."""

    def __init__(self, folder: Path, worker: int, run_id: str = NO_RUN) -> None:
        """Files lie in ``folder``, which is made where it is missing."""
        encode = partial(shard_bytes, run_id=run_id, compressed=False)
        self._file = LatestFile(folder / f"{worker:03d}.npz", encode, durably=False)
        self._shown: NDArray[np.int64] = np.empty(0, np.int64)
        self._ended: deque[tuple[float, GameRecords]] = deque()
        self._next_update = 0.0

    def update(self, server: SelfplayServer, finished: list[FinishedGames]) -> None:
        """Show games of ``server``, and ``finished`` ones, if a second has passed."""
        self.add_ended(finished)
        if monotonic() >= self._next_update:
            self._next_update = monotonic() + INTERVAL_S
            self.show(server.snapshot(SHOWN_GAMES))

    def show(self, games: GameRecords | None) -> None:
        """Replace the games in progress; None: there are none, and nothing is shown. Returns at
        once."""
        while self._ended and monotonic() - self._ended[0][0] > ENDED_S:
            self._ended.popleft()
        if games is not None:
            self._shown = games.numbers
            games = concatenate([games, *(part for _, part in self._ended)])
            # a mover may have reported a game before it ended: its row is the seat, and stays
            rows = {number: row for row, number in enumerate(games.numbers.tolist())}
            games = games.take(np.array(list(rows.values()), np.int64))
        self._file.put(games)

    def add_ended(self, finished: list[FinishedGames]) -> None:
        """Show those of ``finished`` that were shown in progress for a while longer."""
        for part in finished:
            if np.isin(part.numbers, self._shown).any():
                records = finished_records([part])
                has_ended = records.termination != Termination.ONGOING
                places = np.flatnonzero(has_ended & np.isin(records.numbers, self._shown))
                self._ended.append((monotonic(), records.take(places)))

    def close(self) -> None:
        """Show nothing from now on."""
        self._file.put(None)
        self._file.close(CLOSE_WAIT_S)
