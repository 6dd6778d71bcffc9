"""Positions of recorded games labelled by a network of lc0: many at a time, and resumable.

The policy target is the network's policy over the legal moves, without those below LEAST_SHARE; the
value is its win, draw and loss. A label follows from its position and the moves before it, whatever
else is asked with it (``lc0/lc0_backend``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import POSITION_INPUTS
from vecchess.config.import_settings import Lc0LabelsConfig
from vecchess.importers.import_folder import open_import_folder
from vecchess.importers.import_writer import ImportWriter, OnImportProgress
from vecchess.importers.label_games import labelled_plies, unlabelled_games
from vecchess.importers.recorded_places import check_places, count_games
from vecchess.inference.requests import Requests
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.shapes import TARGET_UNIT
from vecchess.store.records import (
    VALUE_UNIT,
    GameRecords,
    concatenate,
    empty_fingerprint_columns,
    empty_search_columns,
)
from vecchess.store.replay_positions import replay_positions

if TYPE_CHECKING:
    from vecchess.lc0.lc0_backend import Lc0Backend

LEAST_SHARE = 0.001
BATCH = 512
"""Positions asked together, about."""
HASH_DIGITS = 16


def gather_lc0_labels(
    config: Lc0LabelsConfig,
    places: Sequence[Path],
    out: Path,
    skip_bad: bool = False,
    on_progress: OnImportProgress = lambda _: None,
    report_line: ReportLine = no_report,
) -> dict[str, Any]:
    """Label the games of ``places`` that ``out`` does not hold yet; returns facts for JSON.

    ``skip_bad`` leaves out bad games of PGN files; ``on_progress`` is called after each batch.
    Raises NetworkError for a weight file that cannot be used, ConfigError for a missing place and
    for a folder with other games; what was finished is written first, also on Ctrl-C.
    """
    from vecchess.lc0.lc0_backend import Lc0Backend
    from vecchess.lc0.weights_file import load_weights

    weights = load_weights(config.lc0)
    check_places(places)
    name = f"lc0 {weights.sha256[:HASH_DIGITS]}"
    with open_import_folder(out, config.facts(name, places)) as folder:
        backend = Lc0Backend(weights, BATCH, threads=config.concurrency)
        writer = ImportWriter(folder, config, count_games(places), on_progress)
        unlabelled = unlabelled_games(config, places, folder, skip_bad, report_line)
        try:
            for games, plies in _batches(unlabelled, config):
                writer.add(label_plies(backend, games, plies))
                writer.advance()
        finally:
            writer.write()
        return writer.facts(name)


def _batches(
    games: Iterator[GameRecords], config: Lc0LabelsConfig
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


def label_plies(backend: "Lc0Backend", games: GameRecords, plies: NDArray[np.int64]) -> GameRecords:
    """``games`` with labels at ``plies`` instead of what was recorded. Raises as below."""
    columns: dict[str, Any] = _search_columns(backend, games, plies)
    columns |= empty_fingerprint_columns(games.num_games, len(games.action))
    return replace(games, steps=np.zeros(len(games.action), np.uint8), **columns)


def _search_columns(
    backend: "Lc0Backend", games: GameRecords, plies: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """The search columns, ``win`` and ``draw`` of ``games`` with labels at ``plies``: int64[B],
    indices into the ply columns, ascending.

    A labelled ply counts as searched in full, with one visit. Raises DataError where a recorded
    move is illegal.
    """
    requests = replay_positions(games, plies, POSITION_INPUTS).requests
    backend.answer(requests, np.arange(len(plies), dtype=np.int32))
    num_plies = len(games.action)
    columns = empty_search_columns(num_plies)
    columns["visits"][plies] = columns["full"][plies] = 1
    win, draw = np.zeros((2, num_plies), np.uint16)
    outcomes = np.rint(_softmax(requests.wdl * backend.value_scale) * VALUE_UNIT)
    win[plies] = outcomes[:, 0]
    draw[plies] = np.minimum(outcomes[:, 1], VALUE_UNIT - outcomes[:, 0])
    counts = np.zeros(num_plies, np.int64)
    counts[plies], actions, shares = _targets(requests, backend.policy_scale)
    return columns | {
        "win": win,
        "draw": draw,
        "target_offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "target_action": actions,
        "target_prob": shares,
    }


def _targets(
    requests: Requests, scale: float
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint16]]:
    """Number of moves of each row, then their action codes, ascending in a row, and shares."""
    legal = np.arange(requests.legal.shape[1]) < requests.num_legal[:, None]
    policy = _softmax(np.where(legal, requests.policy * scale, -np.inf))
    rows, places = np.nonzero(policy >= LEAST_SHARE)
    actions = requests.legal[rows, places]
    order = np.lexsort((actions, rows))
    shares = np.rint(policy[rows, places] * TARGET_UNIT).astype(np.uint16)
    return np.bincount(rows, minlength=len(legal)), actions[order], shares[order]


def _softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Of each row."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return shares
