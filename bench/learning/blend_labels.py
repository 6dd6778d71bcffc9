"""Recorded games again, with the labels of another blended into what was recorded.

    vecchess gather label runs/own --engine stockfish --every 1 --out data/labels
    python bench/learning/blend_labels.py runs/own data/labels --policy 0.3 --out data/blended

LABELS: a folder of ``vecchess gather label`` of the same games, by an engine or a network. Values
and policy targets of labelled plies become means of the recorded and the labelled ones, of which
``--value`` and ``--policy`` are the label's shares; plies without a label teach nothing. So a
network learns moves from its own search, and values from who judges better.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.importers.import_folder import open_import_folder
from vecchess.ragged import offsets_of
from vecchess.shapes import NUM_ACTIONS, TARGET_UNIT
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.sources import find_shards, read_games


def blended(games: GameRecords, labels: GameRecords, value: float, policy: float) -> GameRecords:
    """``games`` with these shares of the labels of the same games, in the same order.

    Raises DataError where the labels are of other games.
    """
    if not np.array_equal(games.action, labels.action):
        raise DataError("the labels are of other games")
    kept = (games.visits > 0) & (labels.visits > 0)
    columns = {}
    for name in ("win", "draw"):
        ours, theirs = getattr(games, name), getattr(labels, name)
        columns[name] = np.rint(value * theirs + (1 - value) * ours).astype(np.uint16)
    columns["draw"] = np.minimum(columns["draw"], VALUE_UNIT - columns["win"])
    full = games.full | labels.full if policy else games.full
    for name, column in (("steps", games.steps), ("visits", games.visits), ("full", full)):
        columns[name] = np.where(kept, column, 0)
    return replace(games, **columns, **_blended_targets(games, labels, policy, kept))


def _blended_targets(
    games: GameRecords, labels: GameRecords, policy: float, kept: NDArray[np.bool_]
) -> dict[str, NDArray[np.generic]]:
    """The columns of the policy targets: ``policy`` of the labels', the rest the games'."""
    keys, shares = [], []
    for records, share in ((games, 1 - policy), (labels, policy)):
        plies = np.repeat(np.arange(len(kept)), np.diff(records.target_offsets))
        used = kept[plies] & (share > 0)
        keys.append(plies[used] * NUM_ACTIONS + records.target_action[used])
        shares.append(share * records.target_prob[used])
    found, where = np.unique(np.concatenate(keys), return_inverse=True)
    summed = np.minimum(np.rint(np.bincount(where, np.concatenate(shares))), TARGET_UNIT)
    counts = np.bincount(found // NUM_ACTIONS, minlength=len(kept))
    return {
        "target_offsets": offsets_of(counts),
        "target_action": (found % NUM_ACTIONS).astype(np.uint16),
        "target_prob": summed.astype(np.uint16),
    }


def main() -> None:
    """Write what is missing, a shard for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("games", type=Path, help="a run, or a folder of shards")
    parser.add_argument("labels", type=Path, help="a folder of gather label of these games")
    parser.add_argument("--value", type=float, default=1.0, help="the label's share, 0 to 1")
    parser.add_argument("--policy", type=float, default=0.0, help="the label's share, 0 to 1")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if not (0 <= options.value <= 1 and 0 <= options.policy <= 1):
        parser.error("--value, --policy: from 0 to 1")
    shards, labels = find_shards([options.games]), read_games([options.labels]).by_number()
    facts = {"schema": 1, "source": "blended labels"} | {
        name: value if isinstance(value, float) else str(value)
        for name, value in vars(options).items()
        if name != "out"
    }
    with open_import_folder(options.out, facts) as folder:
        for shard in shards[len(folder.manifest.entries) :]:
            games = shard.read().by_number()
            chosen = np.flatnonzero(np.isin(games.numbers, labels.numbers))
            if not len(chosen):
                parser.error(f"{options.labels}: no labels of the games in {shard.path}")
            games = games.take(chosen)
            own = labels.take(np.searchsorted(labels.numbers, games.numbers))
            try:
                folder.write(blended(games, own, options.value, options.policy))
            except DataError as error:
                parser.error(f"{options.labels}: {error} than {shard.path}")
            print(f"{len(folder.manifest.entries)} of {len(shards)} shards", flush=True)


if __name__ == "__main__":
    main()
