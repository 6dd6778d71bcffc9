"""What a contest found, as one JSON object."""

from typing import Any

from vecchess.bench.agreement import BITS
from vecchess.bench.batching_engines import Continuous, LayerByLayer
from vecchess.bench.entrants import Contest
from vecchess.bench.machine_limits import Ceilings
from vecchess.bench.operations import Work, dense_energy_proxy, energy_proxy
from vecchess.bench.own_entrants import CONTINUOUS, FIXED, RELU_TWIN
from vecchess.bench.paired_timing import Laps, core_share, mean_steps, ratio, speed
from vecchess.bench.peers.line_up import COMPILED, RELU_TORCH, SNNTORCH, SPIKINGJELLY
from vecchess.bench.roofline import count_traffic, least_seconds
from vecchess.snn.integer.integer_net import IntegerNet

SCHEMA = 1


def describe(contest: Contest, laps: Laps, ceilings: Ceilings) -> dict[str, Any]:
    """Speeds are positions/s, medians over rounds; ratios medians of ratios within a round.

    ``ratios`` tell how many times faster fixed T is than the others, null for those that did not
    run, and for ``fixed_T`` how many times faster continuous batching with exits is than fixed T.
    """
    place, net = contest.place, contest.net
    return {
        "schema": SCHEMA,
        "device": place.device,
        "net": net.config.preset,
        "sha256": net.sha256,
        "slots": place.slots,
        "threads": place.threads,
        "positions": contest.questions.num_rows,
        "time_steps": net.config.time_steps,
        "spike_rates": contest.work.spike_rates,
        "backends": [
            *(_row(contest, laps, ceilings, entrant.name) for entrant in contest.entrants),
            *(_absent(name, reason) for name, reason in _missing(contest).items()),
        ],
        "ratios": _ratios(laps),
        "layers": [vars(layer) for layer in contest.work.layers],
        "energy_proxy_nj": _energy(contest, laps),
        "ceilings": ceilings.to_dict(),
        "engine_overhead": _overhead(contest),
        "cores_used": core_share(laps),
    }


def _row(contest: Contest, laps: Laps, ceilings: Ceilings, name: str) -> dict[str, Any]:
    steps, positions_per_s = mean_steps(laps[name]), speed(laps[name])
    net, work = contest.net, contest.work
    if contest.twin and name in (RELU_TWIN, RELU_TORCH):
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
    traffic = count_traffic(net, work, contest.place.slots)
    return least_seconds(work, traffic, ceilings, steps, in_slots)


def _agreement(contest: Contest, name: str) -> dict[str, Any]:
    """How the entrant agrees with reference, and how a peer was run."""
    peer = next((peer for peer in contest.peers.peers if peer.name == name), None)
    if peer is None:
        return {"agrees": BITS}
    return contest.peers.agreements[name].to_dict() | peer.facts()


def _absent(name: str, reason: str) -> dict[str, Any]:
    numbers = ("positions_per_s", "mean_time_steps", "ratio_to_fixed", "share_of_roofline")
    return {"name": name, **dict.fromkeys(numbers), "reason": reason}


def _missing(contest: Contest) -> dict[str, str]:
    """Name -> why it did not run."""
    if contest.twin is None:
        return dict.fromkeys((SNNTORCH, COMPILED, SPIKINGJELLY, RELU_TWIN), contest.alone)
    twin = {RELU_TWIN: contest.twin.missing} if contest.twin.missing else {}
    return twin | contest.peers.missing


def _ratios(laps: Laps) -> dict[str, float | None]:
    names = (SNNTORCH, COMPILED, SPIKINGJELLY, RELU_TWIN)
    others = {name: ratio(laps, FIXED, name) if name in laps else None for name in names}
    return others | {FIXED: ratio(laps, CONTINUOUS, FIXED)}


def _energy(contest: Contest, laps: Laps) -> dict[str, float | None]:
    """Nanojoule a position: a proxy, see ``operations``."""
    net, work, twin = contest.net, contest.work, contest.twin
    if net.config.neuron == "relu":
        return {FIXED: dense_energy_proxy(work)}
    return {
        FIXED: energy_proxy(work, net.config.time_steps),
        CONTINUOUS: energy_proxy(work, mean_steps(laps[CONTINUOUS])),
        RELU_TWIN: dense_energy_proxy(twin.work) if twin else None,
    }


def _overhead(contest: Contest) -> float | None:
    """Of continuous batching, as a share of a step; None where the backend does not tell."""
    shares = [
        entrant.overhead()
        for entrant in contest.own
        if isinstance(entrant, Continuous) and entrant.name == CONTINUOUS
    ]
    return shares[0]
