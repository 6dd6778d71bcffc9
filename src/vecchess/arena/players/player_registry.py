"""Players by their spelling.

    random                                 any legal move
    greedy                                 mates if it can, else has the most material after it
    minimax:2                              the most material so many plies ahead
    net:                                   the most probable move of the network that comes with
                                           vecchess; also written net:default
    net:FILE                               the most probable move of a network's policy
    net:FILE?temperature=1                 drawn from the policy at a temperature
    net:FILE?search=gumbel&sims=64         searched; "gumbel" or "puct"
    net:FILE?T=2&exits=off                 two time steps, all of them taken
    net:module:package.module:make         a module of the user (``networks.module_spelling``); its
                                           settings and the player's follow one "?"
    lc0:FILE?search=puct&sims=800          a network of lc0, a .pb.gz file, with the same settings
                                           but T and exits; by its policy alone without a search
    uci:stockfish?nodes=1000               a UCI engine; see ``uci_options``
    mymodule:make_player?depth=3           what a function of the user returns, called with
                                           seed=... and the settings, as texts, by name

FILE is a network file, "default", a preset (a new network), "material" or "constant". Gumbel's
temperature is that of its noise, PUCT's that of the choice by visits. Other settings of a search,
as c_puct or draw_score, are given by their names.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from vecchess.arena.player_protocol import Player
from vecchess.arena.players.network_player import COLDEST, PolicyPlayer, SearchPlayer
from vecchess.arena.players.simple import MINIMAX, GreedyPlayer, MinimaxPlayer, RandomPlayer
from vecchess.arena.players.uci_options import EngineOptions
from vecchess.arena.players.uci_player import UciPlayer
from vecchess.chess.planes import NUM_PLANES, POSITION_INPUTS
from vecchess.config import BUILT_IN_NETS, DEFAULT_NET, SelfplayConfig, TreeConfig, build
from vecchess.config.search_settings import SearchConfig
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.backend import Backend
from vecchess.inference.playable_net import PlayableNet
from vecchess.lc0.weights_file import load_weights
from vecchess.networks.module_spelling import is_module
from vecchess.runtime.devices import CPU, Device, Share, see_only
from vecchess.runtime.plugin import is_plugin, load_plugin
from vecchess.selfplay.worker.networks import load_or_create, require_integers
from vecchess.selfplay.worker.setup import open_network
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.presets import NetConfig

SIMPLE: dict[str, Callable[[int], Player]] = {"random": RandomPlayer, "greedy": GreedyPlayer}
NET, LC0, UCI = "net:", "lc0:", "uci:"
NETWORKS = NET, LC0
SPELLINGS = (
    f"{', '.join(SIMPLE)}, minimax:2, net:FILE?search=gumbel&sims=64, lc0:FILE, "
    "uci:ENGINE?nodes=1000 or module:function"
)
PLAYER_PARTS = ("name", "max_games", "is_idle", "ask", "replies", "close")
SEARCH_SETTINGS = [name for name in SearchConfig.model_fields if name != "tree_mb"]
"""Settings of a search in a spelling. A limit on all trees together would make a game depend on
how many are played."""
SLOTS = 128
"""Of the CPU backend, at most."""


class PolicyOptions(BaseModel):
    """What may follow the file of any network, besides the settings of its search."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    temperature: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """0: the best move."""


class NetOptions(PolicyOptions):
    """What may follow the file of a network of vecchess."""

    T: Annotated[int, Field(ge=1)] | None = None
    """Time steps, instead of the network's own number."""
    exits: bool = True
    """Let a position leave the network as soon as its answer is settled."""


@dataclass(frozen=True)
class PlayerResources:
    """A player's share of the machine."""

    max_games: int = 256
    """Games at a time, at most."""
    device: Device = CPU
    """Of a network."""
    backend: str = "auto"
    """How a network is computed, as for self-play."""
    threads: int = 1
    """Of a network on the processor."""
    processes: int = 1
    """Of an engine."""


def open_player(text: str, seed: int = 0, resources: PlayerResources | None = None) -> Player:
    """The player that ``text`` spells; ``seed`` chooses its random numbers. The caller closes it.

    Raises ConfigError for a spelling that is not understood, for an engine that cannot play and a
    plug-in that cannot be loaded, NetworkError for a network that cannot be used.
    """
    resources = resources or PlayerResources()
    if text in SIMPLE:
        return SIMPLE[text](seed)
    name, _, query = text.partition("?")
    try:
        if name.startswith(MINIMAX):
            return MinimaxPlayer.parse(text, seed)
        if name.startswith(UCI) and name != UCI:
            return _open_engine(name.removeprefix(UCI), _pairs(query), resources, text)
        if name.startswith(NETWORKS) and name != LC0:
            return _open_net(name, _pairs(query), seed, resources, text)
        if is_plugin(name):
            return _open_plugin(name, _pairs(query), seed)
    except ConfigError as error:
        raise ConfigError(f"player {text!r}: {error}") from None
    raise ConfigError(f"there is no player {text!r}: choose {SPELLINGS}")


def is_network(text: str) -> bool:
    """Whether ``text`` spells a player with a network of its own."""
    return text.startswith(NETWORKS)


def net_of(text: str) -> str:
    """The network that a network player is spelled with: a file, a name, or a module with its
    settings. Raises ConfigError."""
    name, _, query = text.partition("?")
    return _net_name(name.removeprefix(NET).removeprefix(LC0), _pairs(query))


def net_settings(text: str) -> dict[str, Any]:
    """What stands after the "?" of a network player, but for defaults: the same for two spellings
    of one player. Raises ConfigError."""
    name, _, query = text.partition("?")
    options, tree = _read(name, _pairs(query))
    return options.model_dump(exclude_defaults=True) | tree.model_dump(exclude_defaults=True)


def _pairs(query: str) -> dict[str, str]:
    """What stands after "?": settings by name; raises ConfigError where one is given twice."""
    found: dict[str, str] = {}
    for pair in query.split("&") if query else []:
        name, _, value = pair.partition("=")
        if name in found:
            raise ConfigError(f"{name} is given twice")
        found[name] = value
    return found


def _open_plugin(name: str, given: dict[str, str], seed: int) -> Player:
    """The player that a function of the user makes of the seed and the settings, as texts."""
    try:
        player: Player = load_plugin(name)(seed=seed, **given)
    except TypeError as error:
        raise ConfigError(f"{name} cannot be called so: {error}") from None
    lacking = [part for part in PLAYER_PARTS if not hasattr(player, part)]
    if lacking:
        raise ConfigError(f"{name} makes no player: it has no {lacking[0]}")
    return player


def _open_engine(
    command: str, given: dict[str, str], resources: PlayerResources, name: str
) -> UciPlayer:
    own = {key: value for key, value in given.items() if key in EngineOptions.model_fields}
    other = {key: value for key, value in given.items() if key not in own}
    options = build(EngineOptions, own | {"other": other})
    return UciPlayer(command, options, min(resources.processes, resources.max_games), name)


def _open_net(
    net: str, given: dict[str, str], seed: int, resources: PlayerResources, name: str
) -> Player:
    options, tree = _read(net, given)
    if isinstance(options, NetOptions):
        backend, num_planes = _backend(
            _net_name(net.removeprefix(NET), given), options, seed, resources
        )
    else:
        backend, num_planes = _lc0_backend(net.removeprefix(LC0), resources), POSITION_INPUTS
    common: dict[str, Any] = {"max_games": resources.max_games, "seed": seed, "name": name}
    common |= {"temperature": options.temperature, "num_planes": num_planes}
    if tree.search == "none":
        return PolicyPlayer(backend, **common)
    explore = tree.search == "gumbel" and options.temperature >= COLDEST
    return SearchPlayer(tree, backend, explore=explore, **common)


def _net_name(net: str, given: dict[str, str]) -> str:
    """``net``, the default network without a name, and a module with the settings that are no
    player's."""
    if not is_module(net):
        return net or DEFAULT_NET
    players = (*NetOptions.model_fields, *SEARCH_SETTINGS)
    pairs = [f"{key}={value}" for key, value in given.items() if key not in players]
    return "?".join([net, "&".join(pairs)]) if pairs else net


def _read(net: str, given: dict[str, str]) -> tuple[PolicyOptions, TreeConfig]:
    """The settings of a network player, and of its search."""
    kind = NetOptions if net.startswith(NET) else PolicyOptions
    own = {key: value for key, value in given.items() if key in kind.model_fields}
    search = {key: value for key, value in given.items() if key not in own}
    if is_module(net.removeprefix(NET)):
        search = {key: value for key, value in search.items() if key in SEARCH_SETTINGS}
    for key in search:
        if key not in SEARCH_SETTINGS:
            known = ", ".join([*kind.model_fields, *SEARCH_SETTINGS])
            raise ConfigError(f"unknown setting {key!r}; give {known}")
    return build(kind, own), _tree(search)


def _tree(given: dict[str, str]) -> TreeConfig:
    """The search of a network player; without ``search`` there is none, and nothing to set."""
    if given and "search" not in given:
        raise ConfigError(f'{next(iter(given))} needs a search: "search=gumbel" or "search=puct"')
    defaults: dict[str, Any] = {"sims": 64} if given.get("search", "none") != "none" else {}
    return build(TreeConfig, defaults | given)


def _backend(
    net: str, options: NetOptions, seed: int, resources: PlayerResources
) -> tuple[Backend, int]:
    """The backend that computes ``net``, and the number of its input planes; a new network has
    weights from the seed."""
    slots = _num_slots(resources)
    share = Share(slots, resources.max_games, movers=1, threads=resources.threads)
    config = build(
        SelfplayConfig, {"net": net, "backend": resources.backend, "exits": options.exits}
    )
    if net in BUILT_IN_NETS:
        return open_network(config, None, net, CPU, share)[0], NUM_PLANES
    see_only(resources.device)
    network = _with_steps(load_or_create(net, seed), options.T)
    backend, _ = open_network(config, network, net, resources.device, share)
    return backend, network.config.num_planes


def _lc0_backend(file: str, resources: PlayerResources) -> Backend:
    """The backend that computes a network of lc0."""
    from vecchess.lc0.lc0_backend import Lc0Backend

    weights = load_weights(file)
    see_only(resources.device)
    slots, device = _num_slots(resources), resources.device.name
    return Lc0Backend(weights, slots, device, resources.threads)


def _num_slots(resources: PlayerResources) -> int:
    is_cpu = resources.device == CPU
    return min(resources.max_games, SLOTS) if is_cpu else resources.max_games


def _with_steps(network: PlayableNet, steps: int | None) -> PlayableNet:
    """The network with another number of time steps; raises ConfigError for a number that will
    not do, NetworkError where it is not proved exact."""
    if steps is None or steps == network.config.time_steps:
        return network
    network = require_integers(network, f"T={steps}")
    config = build(NetConfig, network.config.model_dump() | {"time_steps": steps})
    changed = replace(network, config=config)
    if not check_bounds(changed).exact:
        raise NetworkError(f"T={steps}: the network cannot be proved exact for so many steps")
    return changed
