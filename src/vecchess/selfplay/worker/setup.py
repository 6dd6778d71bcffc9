"""From a configuration to a server ready to start: network, backend, start positions, rules.

And another network in a server that lives on, between two generations (decision 77: the weights are
replaced where they are).
"""

from functools import partial

from vecchess.config import SelfplayConfig
from vecchess.errors import NetworkError
from vecchess.inference.backend import Backend
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.open_network import exit_rule_of, open_loaded
from vecchess.inference.playable_net import BuiltInNet, PlayableNet
from vecchess.inference.source import find
from vecchess.runtime.devices import Device, Share, release_memory
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tree_memory import TreeLimits
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_table import make_rules, start_table
from vecchess.selfplay.games.mover import Mover
from vecchess.selfplay.games.search_mover import SearchMover
from vecchess.selfplay.games.server import MakeMover, SelfplayServer
from vecchess.selfplay.worker.networks import require_playable
from vecchess.store.seating import Seating


def build_server(
    config: SelfplayConfig,
    net: str,
    device: Device,
    share: Share,
    numbers: GameIdPool,
    report_line: ReportLine = no_report,
    seating: Seating | None = None,
) -> SelfplayServer:
    """A server that plays ``numbers`` with the network file ``net`` (or "constant").

    ``seating``: its rows play segments of a training, None: whole games.
    Raises NetworkError or ConfigError for a network, backend or opening file that will not do,
    DeviceError where the device fails.
    """
    network = find(net).load()
    require_playable(network, net)
    opened = open_loaded(
        network, net, share.slots, exits=config.exits, backend=config.backend, device=device,
        threads=share.threads, report_line=report_line,
    )  # fmt: skip
    backend = opened.backend
    scales = backend.policy_scale, backend.value_scale
    make_mover = mover_factory(config, network.sha256, scales, backend.time_steps, seating)
    return SelfplayServer(
        backend, make_mover, opened.num_planes, share.games, share.movers, numbers, network
    )


def mover_factory(
    config: SelfplayConfig,
    sha256: str,
    scales: tuple[float, float],
    time_steps: int,
    seating: Seating | None = None,
) -> MakeMover:
    """A function that makes movers of games, with or without search.

    ``scales``: of the network's policy and value, logits per accumulator; ``time_steps``: its T.
    Raises ConfigError for an opening file that will not do, or a cache beyond the memory.
    """
    tree, starts = config.tree, start_table(config.game)
    rules = make_rules(config.game, tree, config.seed, starts, *scales, time_steps, seating)
    if tree.search == "none":
        return partial(Mover, rules, sha256)
    limits = TreeLimits.of(tree)
    cache = EvaluationCache(tree.cache_mb) if tree.cache_mb else None
    return partial(
        SearchMover, rules, sha256, config=tree, limits=limits, scales=scales, cache=cache
    )


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
