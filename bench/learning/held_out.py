"""Errors of networks on games they have not learnt from, and what they cost, as JSON lines.

    python bench/learning/held_out.py twin.safetensors spiking.safetensors --games data/held-out

One line for each network and rule: after all of its time steps, and with its exits, where it has
any. ``against_first`` is the difference of cross-entropies to the first line, paired by position;
errors are standard errors over games, since positions of one game are alike. Speeds are of one
thread by processor time, medians over rounds in which all take turns with the same positions.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import answer_all
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.integer.net_file import load_net
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import ReplayedPositions, replay_positions
from vecchess.store.sources import read_games
from vecchess.store.targets import lay_out_targets
from vecchess.train.data.shard_block import trainable_plies

SLOTS, BATCH = 256, 8192
TIMED_POSITIONS = 4096
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Entrant:
    """A network with a rule."""

    file: Path
    net: IntegerNet
    exits: str
    rule: ExitRule

    def answer(self, requests: Requests) -> float:
        """Answers all rows; returns the processor time in seconds."""
        backend = open_backend("cpu", self.net, SLOTS, self.rule)
        begin = process_time()
        answer_all(backend, requests)
        return process_time() - begin

    def log_policy(self, requests: Requests) -> Floats:
        """float64[B, L]: log-probabilities of the legal moves; others are -inf."""
        self.answer(requests)
        legal = np.arange(requests.legal.shape[1]) < requests.num_legal[:, None]
        logits = requests.policy * self.net.policy_scale / requests.steps[:, None]
        logits = np.where(legal, logits, -np.inf)
        logits -= logits.max(axis=1, keepdims=True)
        found: Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return found


def entrants(files: list[Path]) -> Iterator[Entrant]:
    """Each network without exits, and with those it is stored with where it has time steps."""
    for file in files:
        net = load_net(file)
        yield Entrant(file, net, "off", ExitRule.never())
        if net.config.time_steps > 1:
            yield Entrant(file, net, "on", ExitRule.from_metadata(net.exit_rule))


def targets(games: GameRecords, sample: ReplayedPositions) -> Floats:
    """float64[B, L]: the recorded policy target, or else all on the move played."""
    requests = sample.requests
    laid = lay_out_targets(games, sample.ply, requests.legal, requests.num_legal)
    bare = np.flatnonzero(laid.sum(axis=1) == 0)
    laid[bare, sample.played[bare]] = 1.0
    return laid


def errors(entrant: Entrant, games: GameRecords) -> tuple[Floats, ...]:
    """Game, cross-entropy, top-1 and steps of each labelled position."""
    parts = []
    plies = trainable_plies(games)
    for first in range(0, len(plies), BATCH):
        chosen = plies[first : first + BATCH]
        sample = replay_positions(games, chosen, entrant.net.config.num_planes)
        logs, wanted = entrant.log_policy(sample.requests), targets(games, sample)
        entropy = -(wanted * np.where(wanted > 0, logs, 0)).sum(axis=1)
        hits = wanted[np.arange(len(wanted)), logs.argmax(axis=1)] == wanted.max(axis=1)
        parts.append(np.array([sample.game, entropy, hits, sample.requests.steps], float))
    return tuple(np.concatenate(parts, axis=1))


def speeds(entered: list[Entrant], games: GameRecords, rounds: int) -> Floats:
    """float64[rounds, N]: positions a second of each entrant, which take turns."""
    plies = trainable_plies(games)
    chosen = plies[:: max(len(plies) // TIMED_POSITIONS, 1)]
    found = np.zeros((rounds, len(entered)))
    for turn in found:
        for number, entrant in enumerate(entered):
            asked = replay_positions(games, chosen, entrant.net.config.num_planes).requests
            turn[number] = len(chosen) / entrant.answer(asked)
    return found


def standard_error(games: Floats, values: Floats) -> float:
    """Of the mean of ``values`` over positions, whose games are drawn."""
    sums = np.bincount(games.astype(int), values - values.mean())
    return float(np.sqrt((sums**2).sum()) / len(values))


def main() -> None:
    """Print a line for each network and rule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nets", nargs="+", type=Path)
    parser.add_argument("--games", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=10, help="of the speeds")
    options = parser.parse_args()
    games, baseline = read_games([options.games]).by_number(), None
    entered = list(entrants(options.nets))
    timed = speeds(entered, games, options.rounds)
    ratios = np.median(timed / timed[:, :1], axis=0)
    for number, entrant in enumerate(entered):
        game, entropy, hits, steps = errors(entrant, games)
        baseline = entropy if baseline is None else baseline
        print(json.dumps({
            "net": str(entrant.file),
            "exits": entrant.exits,
            "positions": len(entropy),
            "mean_steps": round(float(steps.mean()), 3),
            "cross_entropy": round(float(entropy.mean()), 4),
            "error": round(standard_error(game, entropy), 4),
            "against_first": round(float((entropy - baseline).mean()), 4),
            "its_error": round(standard_error(game, entropy - baseline), 4),
            "top1": round(float(hits.mean()), 4),
            "positions_per_cpu_s": round(float(np.median(timed[:, number]))),
            "speed_ratio": round(float(ratios[number]), 3),
        }), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
