"""The best possible speed of a network here: counted operations and bytes under the limits.

A layer takes the longer of its arithmetic and its memory traffic (Williams, Waterman, Patterson,
"Roofline", CACM 2009). Arithmetic is that of the better method: dense int8 products, or one int16
addition for each synaptic operation. Traffic is what cannot be avoided: weights once for a batch
of S, and for slots, which leave the cache between two time steps, their membranes and x0.
"""

from dataclasses import dataclass

from bench.peers.machine_limits import Ceilings
from bench.peers.operations import LayerWork, Work

from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.bounds import INT16_LIMIT, check_bounds
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.topology import membrane_layers, stem_channels


@dataclass(frozen=True)
class Traffic:
    """Unavoidable bytes of memory traffic a position and time step."""

    weights: dict[str, float]
    """By layer, shared by the S positions of a batch."""
    state: dict[str, float]
    """By neuron layer, membranes read and written; x0 is read by the first. For slots only."""


def count_traffic(net: IntegerNet, work: Work, num_slots: int) -> Traffic:
    """Bytes a position and step of ``net`` in S = ``num_slots`` slots."""
    width = membrane_bytes(net)
    state = {name: 2.0 * width * size for name, size in membrane_layers(net.config).items()}
    if state and not net.config.is_rate_coded:
        state[next(iter(state))] += 4.0 * NUM_SQUARES * stem_channels(net.config)
    return Traffic({layer.name: layer.weight_bytes / num_slots for layer in work.layers}, state)


def membrane_bytes(net: IntegerNet) -> int:
    """2 where the exporter proves that every membrane fits int16, else 4."""
    bounds = [bound.bound for bound in check_bounds(net).bounds if bound.quantity == "membrane"]
    return 2 if max(bounds, default=0) < INT16_LIMIT else 4


def least_seconds(
    work: Work, traffic: Traffic, ceilings: Ceilings, steps: float, in_slots: bool
) -> float:
    """The shortest possible time of a position of ``steps`` time steps, in s.

    in_slots: whether state is written to memory and read back at each step.
    """
    total = 0.0
    for layer in work.layers:
        moved = traffic.weights[layer.name]
        if in_slots:
            moved += traffic.state.get(_neurons_before(layer.name), 0.0)
        memory = layer.times(steps) * moved / ceilings.bytes_per_s
        total += max(_arithmetic(layer, ceilings, steps), memory)
    return total


def _neurons_before(layer: str) -> str:
    """The neuron layer whose state counts for ``layer``; that of both heads for the policy."""
    return "heads" if layer == "policy" else layer


def _arithmetic(layer: LayerWork, ceilings: Ceilings, steps: float) -> float:
    dense = layer.times(steps) * 2 * layer.macs / ceilings.int8_ops_per_s
    if layer.multiplies or not ceilings.int16_adds_per_s:
        return dense
    return min(dense, layer.accumulates(steps) / ceilings.int16_adds_per_s)
