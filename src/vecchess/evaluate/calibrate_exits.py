"""Finds a network's exit rule on recorded games, and stores it with the network: ``calibrate``.

The targets are what was recorded: the game's result, and for the policy what a search made of
the position, or the move played where none was recorded. Half of the games choose the rule, the
other half tells its costs; a game is in one half as a whole, since its positions resemble each
other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from vecchess.config import DEFAULT_NET, SelfplayConfig
from vecchess.config.settings import build_from_flags
from vecchess.errors import ConfigError
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.tune.exit_calibration import (
    NATS_PER_DOUBLING,
    ExitChoice,
    ScoredTraces,
    choose_rule,
)
from vecchess.inference.tune.step_traces import StepTraces, record_steps
from vecchess.replay.replayer import play_games
from vecchess.runtime.atomic_write import require_place
from vecchess.runtime.devices import Device, parse_gpus, see_only, share_out
from vecchess.selfplay.worker.networks import require_playable
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.replay_positions import ReplayedPositions, replay_positions
from vecchess.store.run_folder import RunFolder
from vecchess.store.sources import read_games
from vecchess.store.targets import lay_out_targets

SCHEMA = 1
SHORTEST_HASH = 8
"""A file whose name is so much of its sha256, or more, is named by its content."""
FEW_POSITIONS = 2000
SAMPLE_SEED = 0
NUM_NETS = 8
"""Networks that played the games are listed up to so many."""


@dataclass(frozen=True)
class CalibrationPlan:
    """Games, price of time and destination of a calibration."""

    games: tuple[Path, ...] = ()
    """A run's folder, or shard files; without any, games are played first."""
    play: int = 128
    """How many games are played then."""
    positions: int = 8192
    """Positions to ask about, at most."""
    nats_per_doubling: float = NATS_PER_DOUBLING
    """What answers in half the time are worth."""
    out: Path | None = None
    """File to write; None replaces the network's own, unless it is a run's."""


def calibrate(
    net: Path, plan: CalibrationPlan, console: Console, resources: Mapping[str, Any]
) -> dict[str, Any]:
    """Measure, choose, store; returns the facts, ready for JSON.

    resources: settings of ``NetworkUse`` by name, None for the default. Raises
    ConfigError, NetworkError or DataError before anything is written where the network, the games
    or the destination cannot be used.
    """
    network = load_net(net)
    require_playable(network, str(net))
    target = _destination(net, network, plan.out)
    settings = {**resources, "net": str(net), "exits": False}
    config = build_from_flags(SelfplayConfig, settings)
    device = parse_gpus(config.gpus)[0]
    see_only(device)
    records = _games(config, device, plan, console)
    num_planes = network.config.num_planes
    sample = replay_positions(records, _sample(records, plan.positions), num_planes)
    games = np.unique(sample.game, return_inverse=True)[1]
    if games.max(initial=0) < 1:
        raise ConfigError("calibration needs two games or more in which a network was asked")
    if sample.requests.num_rows < FEW_POSITIONS:
        console.print(f"only {sample.requests.num_rows} positions: the costs are rough")
    scored = _scored_traces(config, network, device, records, sample)
    first, second = (np.flatnonzero(games % 2 == half) for half in (0, 1))
    choice = choose_rule(scored.take(first), scored.take(second), plan.nats_per_doubling)
    before = ExitRule.from_metadata(network.exit_rule)
    facts = _facts(scored, choice, records, sample, plan.nats_per_doubling, len(second))
    calibrated = replace(network, exit_rule=choice.rule.to_metadata(), calibration=facts)
    save_net(calibrated, target)
    return {
        "schema": SCHEMA,
        "net": str(net),
        "out": str(target),
        "sha256_before": network.sha256,
        "sha256": calibrated.sha256,
        "time_steps": network.config.time_steps,
        "rule_before": before.to_metadata(),
        "before": scored.costs(scored.exit_steps(before)).to_dict(),
        "rule": calibrated.exit_rule,
        **facts,
    }


def _destination(net: Path, network: IntegerNet, out: Path | None) -> Path:
    """The file to write; raises ConfigError where that would overwrite something."""
    if out is None:
        if str(net) == DEFAULT_NET:
            raise ConfigError("the network of vecchess stays as it is: add --out FILE")
        if net.is_dir():
            raise ConfigError(f"{net} is a folder with a card of its network: add --out FILE")
        file = net.resolve()
        if (run := _run_that_keeps(file)) is not None:
            raise ConfigError(
                f"{net} is kept by the run {run.path}, whose games follow from it: add --out FILE"
            )
        if len(file.stem) >= SHORTEST_HASH and network.sha256.startswith(file.stem):
            raise ConfigError(
                f"{net} is named by its hash, which an exit rule changes: add --out FILE"
            )
        return file
    require_place(out, is_new=True)
    return out


def _run_that_keeps(file: Path) -> RunFolder | None:
    """The run that published ``file``, or that has it as its copy of an input; None: no run's."""
    for run in map(RunFolder, file.parents[1:3]):
        kept = file.is_relative_to(run.nets) or file.is_relative_to(run.inputs)
        if kept and run.has_begun:
            return run
    return None


def _games(
    config: SelfplayConfig, device: Device, plan: CalibrationPlan, console: Console
) -> GameRecords:
    """The recorded games, or new ones."""
    if plan.games:
        return read_games(plan.games, lambda line: console.print(line, markup=False))
    console.print(f"no games given: playing {plan.play} with {config.net}, exits off ...")
    return play_here(config, device, plan.play)


def play_here(config: SelfplayConfig, device: Device, num_games: int) -> GameRecords:
    """Games 0 .. num_games - 1 of ``config``, played in this process and kept in memory."""
    numbers = list(range(num_games))
    return concatenate([*play_games(config, config.net, numbers, device)]).by_number()


def _sample(records: GameRecords, most: int) -> NDArray[np.int64]:
    """int64[B], ascending: plies for which a network was asked, B <= ``most`` at random.

    A searched ply counts also where the root's answer came from the cache.
    """
    asked = np.flatnonzero(records.evaluated())
    if len(asked) <= most:
        return asked
    return np.sort(np.random.default_rng(SAMPLE_SEED).choice(asked, most, replace=False))


def policy_targets(
    records: GameRecords, sample: ReplayedPositions, traces: StepTraces
) -> NDArray[np.float64]:
    """float64[B, L]: the distribution each policy is held against, over the legal moves.

    The search's where the ply has a target, else all on the move played. Raises DataError where
    a target has moves that are not legal, or no weight at all.
    """
    requests = sample.requests
    target = lay_out_targets(records, sample.ply, requests.legal, requests.num_legal)
    bare = np.flatnonzero(~_has_target(records, sample))
    target[bare, sample.played[bare]] = 1.0
    return target[:, : traces.policy.shape[2]]


def _has_target(records: GameRecords, sample: ReplayedPositions) -> NDArray[np.bool_]:
    """bool[B]: a search left a policy target."""
    has_target: NDArray[np.bool_] = np.diff(records.target_offsets)[sample.ply] > 0
    return has_target


def _kind_of_target(num_searched: int, num_positions: int) -> str:
    """Whether policy targets are a search's, all on the move that was played, or either."""
    if num_searched == num_positions:
        return "search"
    return "mixed" if num_searched else "played"


def _scored_traces(
    config: SelfplayConfig,
    network: IntegerNet,
    device: Device,
    records: GameRecords,
    sample: ReplayedPositions,
) -> ScoredTraces:
    """The network's answers after each time step, with what they are measured against."""
    share = share_out(config, [device], sample.requests.num_rows)

    def open_with(rule: ExitRule) -> Any:
        name, threads = config.backend, share.threads
        return open_backend(name, network, share.slots, rule, device.name, threads)

    traces = record_steps(open_with, sample.requests, network.config.time_steps)
    targets = policy_targets(records, sample, traces)
    scales = network.policy_scale, network.value_scale
    return ScoredTraces(traces, targets, sample.outcome, *scales)


def _facts(
    scored: ScoredTraces,
    choice: ExitChoice,
    records: GameRecords,
    sample: ReplayedPositions,
    nats_per_doubling: float,
    num_holdout: int,
) -> dict[str, Any]:
    """Facts on the calibration that are stored with the network. No dates, no paths."""
    nets = sorted({net[:16] for net in records.nets})
    num_positions = sample.requests.num_rows
    num_searched = int(_has_target(records, sample).sum())
    return {
        "schema": SCHEMA,
        "positions": num_positions,
        "positions_holdout": num_holdout,
        "games": len(np.unique(sample.game)),
        "played_by": nets[:NUM_NETS],
        "target": _kind_of_target(num_searched, num_positions),
        "positions_searched": num_searched,
        "nats_per_doubling": nats_per_doubling,
        "curve": scored.curve(),
        "fit": choice.fit.to_dict(),
        "holdout": choice.holdout.to_dict(),
    }
