"""The result of ``bench inference`` as one JSON object."""

from typing import Any

from vecchess.bench.agreement import BITS
from vecchess.bench.batching_engines import Continuous, LayerByLayer
from vecchess.bench.entrants import Contest
from vecchess.bench.machine_limits import Ceilings
from vecchess.bench.operations import Work, dense_energy_proxy, energy_proxy
from vecchess.bench.own_entrants import CONTINUOUS, FIXED, RELU_TWIN
from vecchess.bench.paired_timing import Laps, core_share, mean_steps, ratio, speed
from vecchess.bench.roofline import count_traffic, least_seconds
from vecchess.snn.integer.integer_net import IntegerNet

SCHEMA = 1


def describe(contest: Contest, laps: Laps, ceilings: Ceilings) -> dict[str, Any]:
    """Speeds are positions/s, medians over rounds; ratios medians of ratios within a round.

    ``ratios`` are the speed of fixed T divided by that of each other entrant, null for those that
    did not run, and for ``fixed_T`` the speed of continuous batching with exits divided by it.
    """
    setup, net = contest.setup, contest.net
    return {
        "schema": SCHEMA,
        "device": setup.device,
        "net": net.config.preset,
        "sha256": net.sha256,
        "slots": setup.slots,
        "threads": setup.threads,
        "positions": contest.requests.num_rows,
        "time_steps": net.config.time_steps,
        "spike_rates": contest.work.spike_rates,
        "backends": [
            *(_row(contest, laps, ceilings, entrant.name) for entrant in contest.entrants),
            *(_absent(name, reason) for name, reason in _missing(contest).items()),
        ],
        "ratios": _ratios(contest, laps),
        "layers": [vars(layer) for layer in contest.work.layers],
        "energy_proxy_nj": _energy(contest, laps),
        "ceilings": ceilings.to_dict(),
        "engine_overhead": _overhead(contest),
        "cores_used": core_share(laps),
    }


def _row(contest: Contest, laps: Laps, ceilings: Ceilings, name: str) -> dict[str, Any]:
    steps, positions_per_s = mean_steps(laps[name]), speed(laps[name])
    net, work = contest.net, contest.work
    if contest.twin and name in {RELU_TWIN, *contest.others.of_twin}:
        net, work = contest.twin.net, contest.twin.work
    in_slots = any(
        name == entrant.name and not isinstance(entrant, LayerByLayer) for entrant in contest.own
    )
    least_s = _least_seconds(contest, net, work, ceilings, steps, in_slots)
    return {
        "name": name,
        "positions_per_s": positions_per_s,
        "mean_time_steps": steps,
        "ratio_to_fixed": ratio(laps, name, FIXED),
        "share_of_roofline": positions_per_s * least_s,
        "rounds_positions_per_s": [lap.speed for lap in laps[name]],
        **_agreement(contest, name),
    }


def _least_seconds(
    contest: Contest,
    net: IntegerNet,
    work: Work,
    ceilings: Ceilings,
    steps: float,
    in_slots: bool,
) -> float:
    traffic = count_traffic(net, work, contest.setup.slots)
    return least_seconds(work, traffic, ceilings, steps, in_slots)


def _agreement(contest: Contest, name: str) -> dict[str, Any]:
    """How the entrant agrees with reference, and how another library was run."""
    return contest.others.facts.get(name, {"agrees": BITS})


def _absent(name: str, reason: str) -> dict[str, Any]:
    numbers = ("positions_per_s", "mean_time_steps", "ratio_to_fixed", "share_of_roofline")
    return {"name": name, **dict.fromkeys(numbers), "reason": reason}


def _missing(contest: Contest) -> dict[str, str]:
    """Name -> why it did not run."""
    reason = contest.no_twin if contest.twin is None else contest.twin.missing
    return ({RELU_TWIN: reason} if reason else {}) | contest.others.missing


def _ratios(contest: Contest, laps: Laps) -> dict[str, float | None]:
    names = [RELU_TWIN, *contest.others.names]
    others = {name: ratio(laps, FIXED, name) if name in laps else None for name in names}
    return others | {FIXED: ratio(laps, CONTINUOUS, FIXED)}


def _energy(contest: Contest, laps: Laps) -> dict[str, float | None]:
    """Nanojoules a position: a proxy, see ``operations``."""
    net, work, twin = contest.net, contest.work, contest.twin
    if net.config.neuron == "relu":
        return {FIXED: dense_energy_proxy(work)}
    return {
        FIXED: energy_proxy(work, net.config.time_steps),
        CONTINUOUS: energy_proxy(work, mean_steps(laps[CONTINUOUS])),
        RELU_TWIN: dense_energy_proxy(twin.work) if twin else None,
    }


def _overhead(contest: Contest) -> float | None:
    """Overhead of continuous batching as a share of a step; None where the backend has no clock."""
    shares = [
        entrant.overhead()
        for entrant in contest.own
        if isinstance(entrant, Continuous) and entrant.name == CONTINUOUS
    ]
    return shares[0]
