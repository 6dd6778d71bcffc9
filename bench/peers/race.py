"""``python -m bench.peers inference``: our engines beside other libraries, and beside the machine.

As ``vecchess bench inference``, and besides: the libraries of ``open_peers``, the share of the
roofline, counts of operations with an energy proxy, and exit patterns of chosen means.
"""

from typing import Any

from bench.peers.exit_speedup import exit_patterns
from bench.peers.machine_limits import Ceilings, measure_ceilings
from bench.peers.open_peers import OpenedPeers, open_peers
from bench.peers.operations import Work, count_work, dense_energy_proxy, energy_proxy
from bench.peers.roofline import count_traffic, least_seconds

from vecchess.bench.entrants import CONTINUOUS, FIXED, RELU_TWIN, SLOTS_FIXED, LayerByLayer
from vecchess.bench.inference import Contest, absent, describe, open_contest, row
from vecchess.bench.paired_timing import Laps, mean_steps, ratio, time_in_turns
from vecchess.config.bench_settings import InferenceBench
from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet

PATTERNS_SHARE = 0.4
"""Share of the time that goes to the exit patterns."""


def run(config: InferenceBench) -> dict[str, Any]:
    """Compare, in this process and in turns. Raises as ``open_contest``, and ConfigError for a
    module that a user brings."""
    with open_contest(config) as contest:
        if not isinstance(contest.net, IntegerNet):
            needed = "bench.peers inference needs a network of vecchess's own"
            raise ConfigError(f"{contest.name}: {needed}")
        setup, peers = contest.setup, OpenedPeers()
        if contest.twin is not None:
            peers = open_peers(setup, contest.net, contest.twin, contest.requests)
        ceilings = measure_ceilings(setup.device, setup.threads)
        entrants = [*contest.own, *peers.entrants]
        laps = time_in_turns(entrants, config.seconds * (1 - PATTERNS_SHARE))
        ceilings = ceilings.highest(measure_ceilings(setup.device, setup.threads))
        facts = _described(contest, peers, laps, ceilings)
        return facts | {"exit_patterns": _patterns(contest, config.seconds * PATTERNS_SHARE)}


def _described(
    contest: Contest, peers: OpenedPeers, laps: Laps, ceilings: Ceilings
) -> dict[str, Any]:
    facts, slots = describe(contest, laps), contest.setup.slots
    work = count_work(contest.net, contest.requests)
    twin_work = None if contest.twin is None else count_work(contest.twin, contest.requests)
    timed = [row(peer.name, laps) | peers.facts[peer.name] for peer in peers.entrants]
    missing = (absent(name, reason) for name, reason in peers.missing.items())
    rows = [*facts["backends"], *timed, *missing]
    in_slots = {one.name for one in contest.own if not isinstance(one, LayerByLayer)}
    for one in rows:
        name, net, own_work = one["name"], contest.net, work
        if name in {RELU_TWIN, *peers.of_twin}:
            net, own_work = contest.twin, twin_work
        share = None
        if (positions_per_s := one["positions_per_s"]) is not None:
            traffic, steps = count_traffic(net, own_work, slots), one["mean_time_steps"]
            least_s = least_seconds(own_work, traffic, ceilings, steps, name in in_slots)
            share = positions_per_s * least_s
        one["share_of_roofline"] = share
    names = [*peers.facts, *peers.missing]
    return facts | {
        "spike_rates": work.spike_rates,
        "backends": rows,
        "ratios": facts["ratios"]
        | {name: ratio(laps, FIXED, name) if name in laps else None for name in names},
        "layers": [vars(layer) for layer in work.layers],
        "energy_proxy_nj": _energy(contest, laps, work, twin_work),
        "ceilings": ceilings.to_dict(),
    }


def _energy(
    contest: Contest, laps: Laps, work: Work, twin_work: Work | None
) -> dict[str, float | None]:
    """Nanojoules a position: a proxy, see ``operations``."""
    config = contest.net.config
    if config.neuron == "relu":
        return {FIXED: dense_energy_proxy(work)}
    return {
        FIXED: energy_proxy(work, config.time_steps),
        CONTINUOUS: energy_proxy(work, mean_steps(laps[CONTINUOUS])),
        RELU_TWIN: dense_energy_proxy(twin_work) if twin_work else None,
    }


def _patterns(contest: Contest, seconds: float) -> list[dict[str, Any]]:
    def open_with(rule: ExitRule) -> Backend:
        return contest.setup.open(contest.net, rule)

    fixed = [one for one in contest.own if one.name in (FIXED, SLOTS_FIXED)]
    return exit_patterns(contest.requests, open_with, fixed, seconds)
