"""Policy targets of searches: what of them a network has not learnt, and what is chance.

    python bench/learning/policy_targets.py RUN --net FILE --sims 16 32 64
    python bench/learning/policy_targets.py RUN --net FILE --search puct --stockfish PROGRAM

Searches positions of a run's newest games with one network, each several times with other random
numbers. Prints one JSON object for each number of simulations, in nats: ``cross_entropy`` of the
network's own policy to the targets is ``entropy`` of a target, plus ``chance``, the part by which
targets of one position differ, plus ``to_learn``, the divergence of their mean from the policy,
which a better network would not have. ``same_move``: how often two targets prefer the same move;
``policy_has_it``: how often that is the policy's first.

With ``--stockfish`` also what moves lose of the expected score (win + draw / 2), as Stockfish
judges all moves of each position: ``policy_loses`` and ``target_loses`` with their first choices,
``gain`` the difference with its standard error ``gain_error``, ``target_expects`` where moves are
drawn from the target. A search whose gain is not above 0 has nothing to teach.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import chess
import chess.engine
import numpy as np
from numpy.typing import NDArray

from vecchess.bench.search import open_evaluator
from vecchess.chess.action import moves_to_actions
from vecchess.chess.fen import to_board
from vecchess.chess.position import Positions
from vecchess.chess.uci_moves import uci_to_move
from vecchess.config import TreeConfig
from vecchess.inference.open_network import OpenNetwork
from vecchess.search.batch_search import BatchSearch, SearchResults
from vecchess.shapes import NUM_ACTIONS
from vecchess.store.replay_positions import replay_moves
from vecchess.store.sources import read_games

Policies = NDArray[np.float64]
LEAST = 1e-9


def main() -> None:
    """Draw positions, search them, compare."""
    options = _options()
    records = read_games(options.games).by_number()
    records = records.take(np.arange(records.num_games)[-options.last :])
    rng = np.random.default_rng(options.seed)
    plies = rng.choice(len(records.action), options.positions, replace=False)
    positions = replay_moves(records).positions[np.sort(plies)]
    evaluator = open_evaluator(options.net, options.positions, options.gpus)
    settings = dict(setting.split("=", 1) for setting in options.settings)
    losses = _losses(positions, options) if options.stockfish else None
    for sims in options.sims:
        asked = {"search": options.search, "sims": sims} | settings
        config = TreeConfig.model_validate(asked)
        targets, policy = _targets(config, evaluator, positions, options)
        found = _compare(targets, policy)
        if losses is not None:
            found |= _judge(targets, policy, losses)
        print(json.dumps(asked | {"positions": len(positions)} | found), flush=True)


def _targets(
    config: TreeConfig, evaluator: OpenNetwork, positions: Positions, options: argparse.Namespace
) -> tuple[Policies, Policies]:
    """float64[draws, B, 4672] targets and float64[B, 4672] the network's policy."""
    size = len(positions)
    search = BatchSearch(config, evaluator.backend, size, num_planes=evaluator.num_planes)
    targets, policy = np.zeros((options.draws, size, NUM_ACTIONS)), np.zeros((size, NUM_ACTIONS))
    for draw, target in enumerate(targets):
        found: SearchResults = search.run(
            positions, seed=draw, numbers=np.arange(size), temperature=options.temperature,
            explore=True,
        )  # fmt: skip
        rows = np.repeat(np.arange(size), np.diff(found.target_offsets))
        target[rows, found.target_action] = found.target_prob
        rows = np.repeat(np.arange(size), np.diff(found.edge_offsets))
        policy[rows, found.edge_action] = found.edge_prior
    return targets / targets.sum(2, keepdims=True), policy / policy.sum(1, keepdims=True)


def _compare(targets: Policies, policy: Policies) -> dict[str, float]:
    draws, mean = len(targets), targets.mean(0)
    entropy = _cross_entropy(targets, targets)
    # that of the mean of some draws is too small, as a variance is
    chance = (_cross_entropy(mean, mean) - entropy) * draws / (draws - 1)
    best = targets.argmax(2)
    facts = {
        "cross_entropy": (crossed := _cross_entropy(targets, policy)),
        "entropy": entropy,
        "chance": chance,
        "to_learn": crossed - entropy - chance,
        "same_move": np.mean([(one == other).mean() for one, other in combinations(best, 2)]),
        "policy_has_it": (best == policy.argmax(1)).mean(),
    }
    return {name: round(float(value), 3) for name, value in facts.items()}


def _judge(targets: Policies, policy: Policies, losses: Policies) -> dict[str, float]:
    """What first choices and draws from the targets lose, ``losses``: float64[B, 4672]."""
    rows = np.arange(len(policy))
    by_policy = losses[rows, policy.argmax(1)]
    by_target = losses[rows, targets.argmax(2)].mean(0)
    gains = by_policy - by_target
    facts = {
        "policy_loses": by_policy.mean(),
        "target_loses": by_target.mean(),
        "gain": gains.mean(),
        "gain_error": gains.std() / np.sqrt(len(gains)),
        "target_expects": (targets * losses).sum(2).mean(),
    }
    return {name: round(float(value), 4) for name, value in facts.items()}


def _losses(positions: Positions, options: argparse.Namespace) -> Policies:
    """float64[B, 4672]: expected score of Stockfish's best move, less that of each legal move."""
    losses = np.zeros((len(positions), NUM_ACTIONS))
    limit = chess.engine.Limit(nodes=options.nodes)
    with chess.engine.SimpleEngine.popen_uci(options.stockfish) as engine:
        for position, row in zip(positions, losses, strict=True):
            board = to_board(position, chess960=False)
            lines = engine.analyse(board, limit, multipv=board.legal_moves.count())
            moves = [uci_to_move(position, line["pv"][0].uci()) for line in lines]
            scores = [line["score"].relative.wdl(model="sf15.1").expectation() for line in lines]
            row[moves_to_actions(moves)] = max(scores) - np.array(scores)
    return losses


def _cross_entropy(targets: Policies, policy: Policies) -> float:
    return float(-(targets * np.log(np.maximum(policy, LEAST))).sum(-1).mean())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("games", type=Path, nargs="+")
    parser.add_argument("--net", required=True)
    parser.add_argument("--search", choices=("gumbel", "puct"), default="gumbel")
    parser.add_argument("--set", dest="settings", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--sims", type=int, nargs="+", default=[16])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--last", type=int, default=200, help="newest games alone")
    parser.add_argument("--positions", type=int, default=512)
    parser.add_argument("--gpus", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stockfish", metavar="PROGRAM", help="judge moves with it")
    parser.add_argument("--nodes", type=int, default=60_000, help="of it, for each position")
    return parser.parse_args()


if __name__ == "__main__":
    main()
