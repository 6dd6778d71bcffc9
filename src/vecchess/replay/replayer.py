"""Plays games again by their numbers, many at a time, on a device of choice (decision 36).

Games in which networks took turns are played span by span, all games of a network together.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.config import BUILT_IN_NETS, PlayConfig, SelfplayConfig, build, read_toml
from vecchess.config.settings import fixed_settings
from vecchess.errors import ConfigError, DataError, NetworkError
from vecchess.inference.source import Source
from vecchess.runtime.devices import Device, parse_gpus, see_only
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.selfplay.games.finished_games import (
    FinishedGames,
    ended_and_waiting,
    finished_records,
    joined_games,
)
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_table import NO_LIMIT
from vecchess.selfplay.worker.memory_plan import check_search, fitting_share
from vecchess.selfplay.worker.networks import kept_source, latest_net
from vecchess.selfplay.worker.setup import build_server
from vecchess.snn.integer.net_file import nets_in
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames, join_saved
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import LATEST, RunFolder
from vecchess.store.run_pins import pinned, replay_changes, replay_obstacles
from vecchess.store.seating import Seating

SHA256_DIGITS = 64
AFTER_THE_OPENING = Seating(seats=0, turns=0)
"""Games wait once their opening is made, or when the turns are taken that they come with."""


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
        waiting.append(ended_and_waiting(joined_games(finished))[1])
    while waiting:
        games = join_saved(waiting)
        numbers = games.records.numbers.tolist()
        net = Counter(spans[number][0][1] for number in numbers).most_common(1)[0][0]
        is_next = np.array([spans[number][0][1] == net for number in numbers])
        played = _with_turns(games.take(np.flatnonzero(is_next)), spans)
        waiting = [games.take(np.flatnonzero(~is_next))] if not is_next.all() else []
        pool.add_saved(played)
        for finished in play_pool(config, files[net], pool, *rest):
            ended, stopped = ended_and_waiting(joined_games(finished))
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


def by_network(records: GameRecords) -> dict[str, NDArray[np.int64]]:
    """The games that each network played, or played in: indices, int64[K], by sha256 or the name of
    a built-in one.

    Raises DataError for a game without a network.
    """
    counts = np.diff(records.span_offsets)
    if (counts < 1).any():
        raise DataError(f"game {records.numbers[np.argmin(counts)]} has no network")
    games = np.repeat(np.arange(records.num_games), counts)
    return {
        net: np.unique(games[records.span_net == index])
        for index, net in enumerate(records.nets)
        if (records.span_net == index).any()
    }


def find_networks(run: RunFolder, wanted: dict[str, NDArray[np.int64]]) -> dict[str, str]:
    """The network file, the built-in name, or the module with its weights, for each of the networks
    that ``by_network`` gave.

    Raises NetworkError where the run has not kept one of them, or where it is no network.
    """
    files_of = {net: net for net in wanted if net in BUILT_IN_NETS}
    missing = [net for net in wanted if net not in files_of]
    for net in missing:
        if len(net) != SHA256_DIGITS:
            raise NetworkError(f"{net} played games of {run.path}: that is not a network of ours")
    # those named by a hash first, so that most need not be read
    files = sorted(
        nets_in(run.nets), key=lambda file: not any(net.startswith(file.stem) for net in missing)
    )
    for file in files:
        if wanted.keys() <= files_of.keys():
            break
        source = kept_source(run, file)
        if (net := _sha256(source)) in wanted:
            files_of.setdefault(net, source.text)
    if lost := [net for net in missing if net not in files_of]:
        raise NetworkError(
            f"{run.nets} has no network {lost[0][:16]}, which played {len(wanted[lost[0]]):,} of "
            "the games to play again: put its file back"
        )
    return files_of


def newest_network(run: RunFolder) -> str:
    """The newest network of a training, or the one that plays a run of self-play, by its file.

    Raises ConfigError where the run has none, or several and none of them is the newest.
    """
    if (run.path / LATEST).is_file():
        return str(latest_net(run).file)
    files = nets_in(run.nets)
    if len(files) != 1:
        raise ConfigError(f"{run.nets} has {len(files)} networks: say which with --net")
    return str(files[0])


def _sha256(source: Source) -> str:
    """The hash of a network file, or of a module with its weights; "" for one that is damaged."""
    try:
        return source.load().sha256
    except NetworkError:
        return ""
