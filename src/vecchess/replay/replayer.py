"""Plays games again by their numbers, many at a time, on a device of choice (decision 36)."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from vecchess.config import PlayConfig, SelfplayConfig, build, read_toml
from vecchess.replay.find_networks import by_network, find_networks
from vecchess.runtime.devices import Device, parse_gpus, see_only, share_out
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.selfplay.games.finished_games import finished_records
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.worker.setup import build_server, check_search
from vecchess.store.id_set import IdSet
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder

RESOURCES = ("gpus", "slots", "concurrent_games", "movers", "threads", "backend")
"""Settings that decide no move: a game is played again with others."""


class GameReplayer:
    """Recorded games, their networks, and the settings to play them again."""

    def __init__(
        self,
        run: RunFolder,
        recorded: GameRecords,
        resources: Mapping[str, Any],
        report_line: ReportLine,
    ) -> None:
        """Find their networks among those that ``run`` has kept. Only one device is visible to this
        process from now on: the first that ``resources`` name.

        Raises NetworkError where one is missing, ConfigError for impossible resources.
        """
        self.config = settings_of(run, resources)
        self.by_network = by_network(recorded)
        """The games of each network: indices, int64[K], by its sha256 or name."""
        self.device = parse_gpus(self.config.gpus)[0]
        see_only(self.device)
        self._recorded, self._report_line = recorded, report_line
        self._files = find_networks(run, self.by_network)

    def pairs(self) -> Iterator[tuple[GameRecords, GameRecords]]:
        """The record of each game, and the game played again, as they end. Raises as
        ``play_games``."""
        for net, indices in self.by_network.items():
            numbers = self._recorded.numbers[indices].tolist()
            for ended in play_games(
                self.config, self._files[net], numbers, self.device, self._report_line
            ):
                for index, number in enumerate(ended.numbers):
                    record = np.searchsorted(self._recorded.numbers, [number])
                    yield self._recorded.take(record), ended.take(np.array([index]))


def settings_of(run: RunFolder, resources: Mapping[str, Any]) -> SelfplayConfig:
    """The settings that the games of ``run`` were played with, by any command, but with other
    ``resources``: those of RESOURCES that are given, and defaults for the others. Raises
    ConfigError for a run or resources that are impossible.
    """
    stored, known = read_toml(run.config), PlayConfig.model_fields
    played = {key: value for key, value in stored.items() if key in known}
    played |= {name: SelfplayConfig.model_fields[name].default for name in RESOURCES}
    played |= {name: value for name, value in resources.items() if value is not None}
    return build(SelfplayConfig, played)


def play_games(
    config: SelfplayConfig,
    net: str,
    numbers: list[int],
    device: Device,
    report_line: ReportLine = no_report,
) -> Iterator[GameRecords]:
    """The games with ``numbers``, ascending, as they end. ``net``: a file or a built-in name.

    Raises ConfigError or NetworkError where they cannot be played here, DeviceError where the
    device fails.
    """
    pool = GameIdPool()
    pool.add(IdSet.of(np.array(numbers, np.int64)))
    share = share_out(config, [device], len(numbers))
    check_search(config.tree, share, 1)
    server = build_server(config, net, device, share, pool, report_line)
    server.start()
    try:
        while not server.is_idle:
            server.step()
            if finished := server.take_finished():
                yield finished_records(finished)
    finally:
        server.close()
