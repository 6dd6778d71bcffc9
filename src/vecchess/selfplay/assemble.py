"""From a configuration to a server ready to start: network, backend, start positions, rules."""

from pathlib import Path

from vecchess.chess.planes import NUM_PLANES
from vecchess.config import SelfplayConfig
from vecchess.errors import NetworkError
from vecchess.inference.backend import Backend
from vecchess.inference.backends import open_backend
from vecchess.inference.constant import ConstantBackend
from vecchess.inference.exit import ExitRule
from vecchess.selfplay.devices import Device, Share
from vecchess.selfplay.games import make_rules
from vecchess.selfplay.numbers import NumberPool
from vecchess.selfplay.openings import start_table
from vecchess.selfplay.ply_log import MAX_STEPS
from vecchess.selfplay.server import SelfplayServer
from vecchess.snn.integer_net import IntegerNet

CONSTANT_NET = "constant"
"""Name of the network that says the same of every position."""


def assemble_server(
    config: SelfplayConfig, net: str, device: Device, share: Share, numbers: NumberPool
) -> SelfplayServer:
    """A server that plays ``numbers`` with the network file ``net`` (or "constant").

    Raises NetworkError or ConfigError for a network, backend or opening file that will not do.
    """
    backend, sha256 = open_net(config, net, device, share)
    rules = make_rules(
        config.game,
        config.seed,
        start_table(config.game),
        backend.policy_scale,
        backend.value_scale,
    )
    return SelfplayServer(backend, rules, sha256, NUM_PLANES, share.games, share.movers, numbers)


def open_net(config: SelfplayConfig, net: str, device: Device, share: Share) -> tuple[Backend, str]:
    """The backend that computes ``net``, and the network's sha256. Raises as above."""
    if net == CONSTANT_NET:
        return ConstantBackend(share.slots), CONSTANT_NET
    network = IntegerNet.load(Path(net))
    require_playable(network, net)
    rule = None if config.exits else ExitRule.never()  # None: the one stored with the network
    backend = open_backend(config.backend, network, share.slots, rule, device.name, share.threads)
    return backend, network.sha256


def require_playable(network: IntegerNet, name: str) -> None:
    """Raise NetworkError for a network whose input or time steps self-play cannot do with."""
    planes, steps = network.config.num_planes, network.config.time_steps
    if planes != NUM_PLANES:
        raise NetworkError(f"{name} takes {planes} input planes; vecchess makes {NUM_PLANES}")
    if steps > MAX_STEPS:
        raise NetworkError(f"{name} takes {steps} steps; records hold {MAX_STEPS}")
