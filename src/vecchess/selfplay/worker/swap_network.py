"""Another network in a worker that lives on: between two generations, when no game goes on.

Decision 77.
"""

from vecchess.config import SelfplayConfig
from vecchess.errors import NetworkError
from vecchess.inference.backend import Backend
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.open_network import exit_rule_of, open_loaded
from vecchess.inference.playable_net import BuiltInNet, PlayableNet
from vecchess.inference.source import find
from vecchess.runtime.devices import Device, release_memory
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.networks import require_playable


def swap_network(
    server: SelfplayServer,
    config: SelfplayConfig,
    net: str,
    device: Device,
    threads: int,
    report_line: ReportLine = no_report,
) -> None:
    """Let ``server`` play the games to come with the network file ``net``.

    The weights are replaced where they are; a backend that cannot, or that leaves by another exit
    rule, is opened anew, on ``threads`` threads. Raises NetworkError for a file that will not do,
    one of other sizes than before, and where either network is built in.
    """
    old, network = server.network, find(net).load()
    if old is None or isinstance(old, BuiltInNet) or isinstance(network, BuiltInNet):
        raise NetworkError(f"{net}: only a network file can take the place of another")
    require_playable(network, net)
    if network.config != old.config:
        raise NetworkError(
            f"{net} has other sizes than the network played so far: start a run of its own with it"
        )
    server.drain()
    backend = server.engine.backend
    same_rule = exit_rule_of(network, config.exits) == exit_rule_of(old, config.exits)
    if not (same_rule and _is_replaced(backend, network)):
        slots = backend.num_slots
        server.set_network(ConstantBackend(slots), network)
        del backend  # its memory is wanted for the one that follows
        release_memory()
        backend = open_loaded(
            network, net, slots, exits=config.exits, backend=config.backend, device=device,
            threads=threads, report_line=report_line,
        ).backend  # fmt: skip
    server.set_network(backend, network)


def _is_replaced(backend: Backend, network: PlayableNet) -> bool:
    """Put the weights of ``network`` into ``backend``; False where it has to be opened anew."""
    try:
        backend.replace_network(network)
    except NetworkError:  # not proved for this backend's types; opening chooses others, or refuses
        return False
    return True
