"""vecchess selfplay --net module:examples.snntorch_rate_coded.served:make"""

from examples.snntorch_rate_coded.tutorial_network import TutorialNetwork

from vecchess.networks.snntorch_network import SnntorchNetwork


def make(steps="16"):
    exits = {"min_steps": 4, "value_drift": 0.02}
    return SnntorchNetwork(TutorialNetwork(), int(steps), exit_rule=exits)
