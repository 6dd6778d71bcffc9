"""Labelled games again, with a network's judgement of positions in place of the label's.

    python bench/learning/network_values.py NET GAMES --out data/judged

The policy targets of ``vecchess gather label`` stay, the values of labelled positions become those
of NET, a network of vecchess's own, after all of its time steps: a network that learns another's
policy keeps what it knows of values.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.importers.import_folder import open_import_folder
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.exit_rule import ExitRule
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import replay_positions
from vecchess.store.sources import find_shards

SLOTS = 256


def outcomes(net: IntegerNet, games: GameRecords, plies: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[B, 3]: win, draw and loss of the positions before ``plies``, mover's view."""
    requests = replay_positions(games, plies, net.config.num_planes).requests
    engine = SlotEngine(open_backend("auto", net, SLOTS, ExitRule.never()), requests)
    engine.submit(np.arange(len(plies), dtype=np.int32))
    while not engine.is_idle:
        engine.step()
    logits = requests.wdl * net.value_scale / requests.steps[:, None]
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return found


def judged(net: IntegerNet, games: GameRecords) -> GameRecords:
    """``games`` with the network's values at the labelled plies."""
    plies = np.flatnonzero(games.visits > 0)
    found = np.rint(outcomes(net, games, plies) * VALUE_UNIT)
    win, draw = games.win.copy(), games.draw.copy()
    win[plies] = found[:, 0]
    draw[plies] = np.minimum(found[:, 1], VALUE_UNIT - found[:, 0])
    return replace(games, win=win, draw=draw)


def main() -> None:
    """Write what is missing, a shard for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("net", type=Path)
    parser.add_argument("games", type=Path, help="a folder of gather label")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    net, shards = load_net(options.net), find_shards([options.games])
    facts = {
        "schema": 1,
        "source": "network values",
        "net": net.sha256,
        "games": str(options.games),
    }
    with open_import_folder(options.out, facts) as folder:
        for shard in shards[len(folder.manifest.entries) :]:
            folder.write(judged(net, shard.read()))
            print(f"{folder.stats.games:,} games", flush=True)


if __name__ == "__main__":
    main()
