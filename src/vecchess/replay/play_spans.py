"""Plays games again in which networks took turns: span by span, all games of a network together."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from vecchess.config import SelfplayConfig
from vecchess.runtime.devices import Device
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.games.finished_games import FinishedGames, ended_and_waiting
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_table import NO_LIMIT
from vecchess.selfplay.worker.memory_plan import check_search, fitting_share
from vecchess.selfplay.worker.setup import build_server
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames, join_saved
from vecchess.store.records import GameRecords
from vecchess.store.seating import Seating

AFTER_THE_OPENING = Seating(seats=0, turns=0)
"""Games wait once their opening is made, or when the turns are taken that they come with."""


def play_pool(
    config: SelfplayConfig,
    net: str,
    pool: GameIdPool,
    device: Device,
    report_line: ReportLine,
    seating: Seating | None = None,
) -> Iterator[list[FinishedGames]]:
    """Play the games of ``pool``, as they end or, by ``seating``, wait.

    Raises ConfigError or NetworkError where they cannot be played here, DeviceError where the
    device fails.
    """
    share = fitting_share(config, [device], len(pool))
    check_search(config.tree, share, [device])
    server = build_server(config, net, device, share, pool, report_line, seating)
    server.start()
    try:
        while not server.is_idle:
            server.step()
            if finished := server.take_finished():
                yield finished
    finally:
        server.close()


def play_spans(
    recorded: GameRecords,
    config: SelfplayConfig,
    files: Mapping[str, str],
    device: Device,
    report_line: ReportLine,
) -> Iterator[GameRecords]:
    """The games of ``recorded``, whose networks are in ``files``, as they end. Raises as
    ``play_pool``.

    Each span is played to its end before the next: the position waits there, and what a search knew
    of it is forgotten, as in the training.
    """
    spans = {int(n): recorded.spans(game) for game, n in enumerate(recorded.numbers)}
    pool, waiting = GameIdPool(), list[SavedGames]()
    pool.add(IdSet.of(recorded.numbers))
    rest = (device, report_line, AFTER_THE_OPENING)
    for finished in play_pool(config, next(iter(files.values())), pool, *rest):
        waiting.append(ended_and_waiting(finished)[1])
    while waiting:
        games = join_saved(waiting)
        numbers = games.records.numbers.tolist()
        net = Counter(spans[number][0][1] for number in numbers).most_common(1)[0][0]
        is_next = np.array([spans[number][0][1] == net for number in numbers])
        played = _with_turns(games.take(np.flatnonzero(is_next)), spans)
        waiting = [games.take(np.flatnonzero(~is_next))] if not is_next.all() else []
        pool.add_saved(played)
        for finished in play_pool(config, files[net], pool, *rest):
            ended, stopped = ended_and_waiting(finished)
            if ended.num_games:
                yield ended
            if stopped.num_games:
                waiting.append(stopped)


def _with_turns(games: SavedGames, spans: dict[int, list[tuple[int, str]]]) -> SavedGames:
    """The games with the turns that the first of their ``spans`` has, which is taken off."""
    left = []
    for number, length in zip(
        games.records.numbers.tolist(), games.records.lengths.tolist(), strict=True
    ):
        del spans[number][0]
        left.append(spans[number][0][0] - length if spans[number] else NO_LIMIT)
    return replace(games, left=np.array(left, np.int32))
