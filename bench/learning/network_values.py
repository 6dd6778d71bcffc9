"""Labelled games again, with a network's judgement of positions in place of the label's.

    python bench/learning/network_values.py NET GAMES --out data/judged

The policy targets stay; the values of labelled or searched positions become those of NET, a network
of vecchess's own, after all of its time steps, or with ``--share 0.5`` the mean of both: a network
that learns another's policy keeps what it knows of values.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from vecchess.config.import_settings import NetworkLabelsConfig
from vecchess.importers.import_folder import open_import_folder
from vecchess.importers.network_label import open_labeller
from vecchess.inference.open_network import OpenNetwork
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import replay_positions
from vecchess.store.sources import find_shards


def judged(judge: OpenNetwork, games: GameRecords, share: float) -> GameRecords:
    """``games`` with the network's values at the labelled plies, ``share`` of them."""
    plies = np.flatnonzero(games.visits > 0)
    _, outcomes = judge.answer(replay_positions(games, plies, judge.num_planes).requests)
    recorded = np.stack([games.win[plies], games.draw[plies]], axis=1)
    found = np.rint(share * outcomes[:, :2] * VALUE_UNIT + (1 - share) * recorded)
    win, draw = games.win.copy(), games.draw.copy()
    win[plies] = found[:, 0]
    draw[plies] = np.minimum(found[:, 1], VALUE_UNIT - found[:, 0])
    return replace(games, win=win, draw=draw)


def main() -> None:
    """Write what is missing, a shard for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("net")
    parser.add_argument("games", type=Path, help="a run, or a folder of gather label")
    parser.add_argument("--share", type=float, default=1.0, help="of the network's value")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    judge = open_labeller(NetworkLabelsConfig(net=options.net))
    shards = find_shards([options.games])
    facts = {
        "schema": 1,
        "source": "network values",
        "net": judge.net.sha256,
        "share": options.share,
        "games": str(options.games),
    }
    with open_import_folder(options.out, facts) as folder:
        for shard in shards[len(folder.manifest.entries) :]:
            folder.write(judged(judge, shard.read(), options.share))
            print(f"{len(folder.manifest.entries)} of {len(shards)} shards", flush=True)


if __name__ == "__main__":
    main()
