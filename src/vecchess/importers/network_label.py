"""Positions of recorded games labelled by a network: many at a time, and resumable.

The network is one of vecchess, after all of its time steps, one of lc0, or a module of the user.
The policy target is its policy over the legal moves, without those below LEAST_SHARE; the value is
its win, draw and loss. A label follows from its position and the moves before it, whatever else is
asked with it. So one network learns what another has learnt (Hinton et al. 2015).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.config.import_settings import NetworkLabelsConfig
from vecchess.errors import ConfigError
from vecchess.importers.import_folder import ImportWriter, OnImportProgress, open_import_folder
from vecchess.importers.imported_game import Targets, label_columns
from vecchess.importers.label_games import labelled_plies, unlabelled_games
from vecchess.importers.recorded_places import check_places, count_games
from vecchess.inference.open_network import OpenNetwork, open_network
from vecchess.inference.playable_net import Lc0Net
from vecchess.inference.requests import Requests
from vecchess.inference.source import Source, find
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.shapes import TARGET_UNIT
from vecchess.store.records import GameRecords, concatenate, empty_fingerprint_columns
from vecchess.store.replay_positions import replay_positions

LEAST_SHARE = 0.001
BATCH = 512
"""Positions asked together, about."""
HASH_DIGITS = 16


def open_labeller(config: NetworkLabelsConfig) -> OpenNetwork:
    """The network that ``config`` names: a file, a module or one of lc0, after all its time steps.

    Raises ConfigError for none or two of them, for one without weights and for a module that cannot
    be made, NetworkError for a network that cannot be used.
    """
    if (config.net is None) == (config.lc0 is None):
        raise ConfigError("name one network: net or lc0")
    source = find(config.net) if config.net is not None else Source(str(config.lc0), "lc0")
    if source.has_sizes_only or source.kind == "built-in":
        raise ConfigError(f"{source.text}: labels need a network that has learnt: a file, or lc0")
    return open_network(source, BATCH, exits=False, threads=config.concurrency)


def _engine_name(labeller: OpenNetwork) -> str:
    """Its kind and its hash: labels depend on nothing else."""
    kind = "lc0" if isinstance(labeller.net, Lc0Net) else "net"
    return f"{kind} {labeller.net.sha256[:HASH_DIGITS]}"


def gather_network_labels(
    config: NetworkLabelsConfig,
    places: Sequence[Path],
    out: Path,
    skip_bad: bool = False,
    on_progress: OnImportProgress = lambda _: None,
    report_line: ReportLine = no_report,
) -> dict[str, Any]:
    """Label the games of ``places`` that ``out`` does not hold yet; returns facts for JSON.

    ``skip_bad`` leaves out bad games of PGN files; ``on_progress`` is called after each batch.
    Raises as ``open_labeller``, and ConfigError for a missing place and for a folder with other
    games; what was finished is written first, also on Ctrl-C.
    """
    labeller = open_labeller(config)
    name = _engine_name(labeller)
    check_places(places)
    with open_import_folder(out, config.facts(name, places)) as folder:
        writer = ImportWriter(folder, count_games(places), on_progress)
        unlabelled = unlabelled_games(config, places, folder, skip_bad, report_line)
        try:
            for games, plies in _batches(unlabelled, config):
                writer.add(label_plies(labeller, games, plies))
                writer.advance()
        finally:
            writer.write()
        return writer.facts(name)


def _batches(
    games: Iterator[GameRecords], config: NetworkLabelsConfig
) -> Iterator[tuple[GameRecords, NDArray[np.int64]]]:
    """Whole games together, and the plies of them to label: indices into their ply columns."""
    waiting, plies, begin = list[GameRecords](), list[int](), 0
    for game in games:
        waiting.append(game)
        plies += (begin + ply for ply in labelled_plies(config, game))
        begin += len(game.action)
        if len(plies) >= BATCH:
            yield concatenate(waiting), np.array(plies)
            waiting, plies, begin = [], [], 0
    if waiting:
        yield concatenate(waiting), np.array(plies)


def label_plies(labeller: OpenNetwork, games: GameRecords, plies: NDArray[np.int64]) -> GameRecords:
    """``games`` with labels instead of what was recorded at ``plies``: int64[B], indices into the
    ply columns, ascending.

    A labelled ply counts as searched in full, with one visit. Raises DataError where a recorded
    move is illegal.
    """
    requests = replay_positions(games, plies, labeller.num_planes).requests
    policy, outcomes = labeller.answer(requests)
    num_plies, targets = len(games.action), _targets(requests, policy)
    columns: dict[str, Any] = label_columns(num_plies, plies, 1, outcomes[:, :2], targets)
    columns |= empty_fingerprint_columns(games.num_games, num_plies)
    return replace(games, steps=np.zeros(num_plies, np.uint8), **columns)


def _targets(requests: Requests, policy: NDArray[np.float64]) -> Targets:
    """The moves of each row with LEAST_SHARE or more."""
    rows, places = np.nonzero(policy >= LEAST_SHARE)
    actions = requests.legal[rows, places]
    order = np.lexsort((actions, rows))
    shares = np.rint(policy[rows, places] * TARGET_UNIT).astype(np.uint16)
    return np.bincount(rows, minlength=len(policy)), actions[order], shares[order]
