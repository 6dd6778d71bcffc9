"""vecchess selfplay --net "module:examples.spikformer.served:make?dim=128&depth=4" """

from examples.spikformer.spikformer import Spikformer

from vecchess.networks.spikingjelly_network import SpikingjellyNetwork


def make(steps="4", dim="64", depth="2", heads="4"):
    exits = {"min_steps": 2, "value_drift": 0.02}
    net = Spikformer(int(steps), int(dim), int(depth), int(heads))
    return SpikingjellyNetwork(net, int(steps), exit_rule=exits)
