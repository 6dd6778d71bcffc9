"""From a configuration to a server ready to start: network, backend, start positions, rules."""

from collections.abc import Callable
from functools import partial

from vecchess.chess.planes import NUM_PLANES, history_of
from vecchess.config import SelfplayConfig
from vecchess.errors import DeviceError, NetworkError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import choose_backend, open_backend
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.playable_net import PlayableNet
from vecchess.runtime.devices import Device, Share, release_memory
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tree_memory import TreeLimits
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_log import MAX_STEPS
from vecchess.selfplay.games.game_table import make_rules, start_table
from vecchess.selfplay.games.mover import Mover
from vecchess.selfplay.games.search_mover import SearchMover
from vecchess.selfplay.games.server import MakeMover, SelfplayServer
from vecchess.selfplay.worker.networks import open_stored
from vecchess.store.seating import Seating

FEWEST_SLOTS = 16
"""Where the device has no memory for so many, it is of no use."""


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
    network = open_stored(net)
    backend, sha256 = open_network(config, network, net, device, share, report_line)
    make_mover = mover_factory(config, backend, sha256, share, seating)
    num_planes = NUM_PLANES if network is None else network.config.num_planes
    games, movers = share.games, share.movers
    return SelfplayServer(backend, make_mover, num_planes, games, movers, numbers, network)


def mover_factory(
    config: SelfplayConfig,
    backend: Backend,
    sha256: str,
    share: Share,
    seating: Seating | None = None,
) -> MakeMover:
    """A function that makes a server's movers, with or without search.

    Raises ConfigError for an opening file that will not do, or a cache beyond the memory.
    """
    tree = config.tree
    policy_scale, value_scale = backend.policy_scale, backend.value_scale
    starts = start_table(config.game)
    rules = make_rules(
        config.game, tree, config.seed, starts, policy_scale, value_scale, backend.time_steps,
        seating,
    )  # fmt: skip
    if tree.search == "none":
        return partial(Mover, rules, sha256)
    limits, scales = TreeLimits.of(tree), (policy_scale, value_scale)
    cache = EvaluationCache(tree.cache_mb) if tree.cache_mb else None
    return partial(
        SearchMover, rules, sha256, config=tree, limits=limits, scales=scales, cache=cache
    )


def open_network(
    config: SelfplayConfig,
    network: PlayableNet | None,
    name: str,
    device: Device,
    share: Share,
    report_line: ReportLine = no_report,
) -> tuple[Backend, str]:
    """The backend that computes ``network`` (None: the built-in one called ``name``), and its
    sha256, or name. Messages call it ``name``. Raises as above.

    ``report_line`` gets a line when the backend is not the one to be expected, or has fewer slots.
    """
    rule, kind, weights = None, config.backend, name if network is None else network
    if network is not None:
        require_playable(network, name)
        rule = exit_rule_of(config, network)
        choice = choose_backend(config.backend, network.config, device.name)
        kind = choice.name
        if choice.reason:
            report_line(choice.reason)

    def open_with(slots: int) -> Backend:
        return open_backend(kind, weights, slots, rule, device.name, share.threads)

    backend = open_what_fits(open_with, share.slots, report_line)
    return backend, name if network is None else network.sha256


def exit_rule_of(config: SelfplayConfig, network: PlayableNet) -> ExitRule:
    """The rule that positions leave ``network`` by; raises NetworkError for one not understood."""
    return ExitRule.from_metadata(network.exit_rule) if config.exits else ExitRule.never()


def open_what_fits(
    open_with: Callable[[int], Backend], slots: int, report_line: ReportLine
) -> Backend:
    """``open_with(slots)``, with half as many and half again where the device has no memory."""
    while True:
        try:
            return open_with(slots)
        except DeviceError as error:
            if not error.out_of_memory or slots // 2 < FEWEST_SLOTS:
                raise
        release_memory()  # what was allocated before memory ran out
        report_line(f"the device has no memory for {slots:,} slots; trying {slots // 2:,}")
        slots //= 2


def require_playable(network: PlayableNet, name: str) -> None:
    """Raise NetworkError for a network whose input or time steps self-play cannot do with."""
    try:
        history_of(network.config.num_planes)
    except NetworkError as error:
        raise NetworkError(f"{name} takes {error}") from None
    steps = network.config.time_steps
    if steps > MAX_STEPS:
        raise NetworkError(f"{name} takes {steps} steps; records hold {MAX_STEPS}")
