"""Plays games again by their numbers, many at a time, on a device of choice (decision 36)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from vecchess.config import PlayConfig, SelfplayConfig, build, read_toml
from vecchess.config.settings import fixed_settings
from vecchess.replay.find_networks import by_network, find_networks
from vecchess.replay.play_spans import play_pool, play_spans
from vecchess.runtime.devices import Device, parse_gpus, see_only
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.selfplay.games.finished_games import finished_records
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.store.id_set import IdSet
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pinned, replay_changes, replay_obstacles


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
        self._obstacles, self._changes = replay_obstacles(run, self.config), replay_changes(run)
        for obstacle in self._obstacles:
            report_line(f"{run.path} cannot be replayed exactly: {obstacle}")
        self.by_network = by_network(recorded)
        """The games of each network: indices, int64[K], by its sha256 or name."""
        self.device = parse_gpus(self.config.gpus)[0]
        see_only(self.device)
        self._recorded, self._report_line = recorded, report_line
        self._files = find_networks(run, self.by_network)

    def reasons(self, is_same: bool) -> list[str]:
        """Why games may differ from their records, in words; of those that do, all that is known.

        A game's record does not depend on program and processor: it is a fault where they matter.
        """
        changed = f"the run was played with {self._changes}"
        return self._obstacles + ([changed] if self._changes and not is_same else [])

    def pairs(self) -> Iterator[tuple[GameRecords, GameRecords]]:
        """The record of each game, and the game played again, as they end. Raises as
        ``play_games``."""
        is_shared = np.diff(self._recorded.span_offsets) > 1
        for net, indices in self.by_network.items():
            if len(alone := indices[~is_shared[indices]]):
                numbers = self._recorded.numbers[alone].tolist()
                yield from self._pairs_of(
                    play_games(
                        self.config, self._files[net], numbers, self.device, self._report_line
                    )
                )
        if is_shared.any():
            shared = self._recorded.take(np.flatnonzero(is_shared))
            rest = (self.config, self._files, self.device, self._report_line)
            yield from self._pairs_of(play_spans(shared, *rest))

    def _pairs_of(self, parts: Iterable[GameRecords]) -> Iterator[tuple[GameRecords, GameRecords]]:
        for ended in parts:
            for index, number in enumerate(ended.numbers):
                record = np.searchsorted(self._recorded.numbers, [number])
                yield self._recorded.take(record), ended.take(np.array([index]))


def settings_of(run: RunFolder, resources: Mapping[str, Any]) -> SelfplayConfig:
    """The settings that decide the games of ``run``, of any command, with the files it has kept,
    and ``resources``; defaults for the others. Raises ConfigError for a run or resources that are
    impossible, DataError as ``pinned``.
    """
    decisive = {section or name for name, section in fixed_settings(PlayConfig)}
    played = {key: value for key, value in read_toml(run.config).items() if key in decisive}
    played |= {name: value for name, value in resources.items() if value is not None}
    return pinned(run, build(SelfplayConfig, played))


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
    for finished in play_pool(config, net, pool, device, report_line):
        yield finished_records(finished)
