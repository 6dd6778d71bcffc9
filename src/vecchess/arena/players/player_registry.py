"""Players by their spelling.

    random                                 any legal move
    greedy                                 mates if it can, else takes the most
    minimax:2                              looks so many plies ahead and counts men
    net:FILE                               the move that the policy of a network likes best
    net:FILE?temperature=1                 drawn from the policy at a temperature
    net:FILE?search=gumbel&sims=64         searched; "gumbel" or "puct"
    net:FILE?T=2&exits=off                 two time steps, all of them taken
    uci:stockfish?nodes=1000               a UCI engine; see ``engine_options``

FILE is a network file, a preset (a new network), "material" or "constant". Gumbel's temperature
is that of its noise, PUCT's that of the choice by visits. What else is known of a search, as
c_puct or draw_score, is given by its name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from vecchess.arena.player_protocol import Player
from vecchess.arena.players.minimax import PREFIX as MINIMAX
from vecchess.arena.players.minimax import MinimaxPlayer
from vecchess.arena.players.network_player import COLDEST, PolicyPlayer, SearchPlayer
from vecchess.arena.players.simple import GreedyPlayer, RandomPlayer
from vecchess.arena.players.uci_options import EngineOptions
from vecchess.arena.players.uci_player import UciPlayer
from vecchess.chess.planes import history_of
from vecchess.config import BUILT_IN_NETS, SelfplayConfig, TreeConfig, build
from vecchess.config.search_settings import SearchConfig
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.backend import Backend
from vecchess.runtime.devices import CPU, Device, Share, see_only
from vecchess.selfplay.worker.networks import load_or_create
from vecchess.selfplay.worker.setup import open_net, open_network
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import NetConfig

SIMPLE: dict[str, Callable[[int], Player]] = {"random": RandomPlayer, "greedy": GreedyPlayer}
NET, UCI = "net:", "uci:"
SPELLINGS = (
    f"{', '.join(SIMPLE)}, minimax:2, net:FILE?search=gumbel&sims=64 or uci:ENGINE?nodes=1000"
)
SEARCH_SETTINGS = [name for name in SearchConfig.model_fields if name != "tree_mb"]
"""What a spelling may say of a search. A limit on all trees together would make a game depend on
how many are played."""
SLOTS = 128
"""Of the CPU backend, at most."""


class NetOptions(BaseModel):
    """What may follow the file of a network player, besides the settings of its search."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    temperature: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """0: the best move."""
    T: Annotated[int, Field(ge=1)] | None = None
    """Time steps, instead of the network's own number."""
    exits: bool = True
    """Let a position leave the network as soon as its answer is settled."""


@dataclass(frozen=True)
class PlayerResources:
    """What a player gets of the machine."""

    lanes: int = 256
    """Games at a time, at most."""
    device: Device = CPU
    """Of a network."""
    backend: str = "auto"
    """How a network is computed, as for self-play."""
    threads: int = 1
    """Of a network on the processor."""
    processes: int = 1
    """Of an engine."""


def open_player(text: str, seed: int = 0, room: PlayerResources | None = None) -> Player:
    """The player that ``text`` spells; ``seed`` chooses its random numbers. It is to be closed.

    Raises ConfigError for a spelling that is not understood and for an engine that will not do,
    NetworkError for a network that will not do.
    """
    room = room or PlayerResources()
    if text in SIMPLE:
        return SIMPLE[text](seed)
    name, _, query = text.partition("?")
    try:
        if name.startswith(MINIMAX):
            return MinimaxPlayer.parse(text, seed)
        if name.startswith(UCI) and name != UCI:
            return _open_engine(name.removeprefix(UCI), _pairs(query), room, text)
        if name.startswith(NET) and name != NET:
            return _open_net(name.removeprefix(NET), _pairs(query), seed, room, text)
    except ConfigError as error:
        raise ConfigError(f"player {text!r}: {error}") from None
    raise ConfigError(f"there is no player {text!r}: choose {SPELLINGS}")


def is_network(text: str) -> bool:
    """Whether ``text`` spells a player with a network of its own."""
    return text.startswith(NET)


def net_settings(query: str) -> dict[str, Any]:
    """What stands after the "?" of a network player, but for defaults: the same for two spellings
    of one player. Raises ConfigError."""
    options, tree = _read(_pairs(query))
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


def _open_engine(
    command: str, given: dict[str, str], room: PlayerResources, name: str
) -> UciPlayer:
    own = {key: value for key, value in given.items() if key in EngineOptions.model_fields}
    other = {key: value for key, value in given.items() if key not in own}
    options = build(EngineOptions, own | {"other": other})
    return UciPlayer(command, options, min(room.processes, room.lanes), name)


def _open_net(
    net: str, given: dict[str, str], seed: int, room: PlayerResources, name: str
) -> Player:
    options, tree = _read(given)
    backend, history = _backend(net, options, seed, room)
    if tree.search == "none":
        return PolicyPlayer(backend, room.lanes, seed, options.temperature, name, history)
    explore = tree.search == "gumbel" and options.temperature >= COLDEST
    return SearchPlayer(
        tree, backend, room.lanes, seed, options.temperature, explore, name, history
    )


def _read(given: dict[str, str]) -> tuple[NetOptions, TreeConfig]:
    """The settings of a network player, and of its search."""
    own = {key: value for key, value in given.items() if key in NetOptions.model_fields}
    search = {key: value for key, value in given.items() if key not in own}
    for key in search:
        if key not in SEARCH_SETTINGS:
            known = ", ".join([*NetOptions.model_fields, *SEARCH_SETTINGS])
            raise ConfigError(f"unknown setting {key!r}; give {known}")
    return build(NetOptions, own), _tree(search)


def _tree(given: dict[str, str]) -> TreeConfig:
    """The search of a network player; without ``search`` there is none, and nothing to set."""
    if given and "search" not in given:
        raise ConfigError(f'{next(iter(given))} needs a search: "search=gumbel" or "search=puct"')
    defaults: dict[str, Any] = {"sims": 64} if given.get("search", "none") != "none" else {}
    return build(TreeConfig, defaults | given)


def _backend(
    net: str, options: NetOptions, seed: int, room: PlayerResources
) -> tuple[Backend, int]:
    """The backend that computes ``net``, and how many positions it sees; a new network has weights
    from the seed."""
    slots = min(room.lanes, SLOTS) if room.device == CPU else room.lanes
    share = Share(slots, room.lanes, movers=1, threads=room.threads)
    config = build(SelfplayConfig, {"net": net, "backend": room.backend, "exits": options.exits})
    if net in BUILT_IN_NETS:
        return open_net(config, net, CPU, share)[0], 1
    see_only(room.device)
    network = _with_steps(load_or_create(net, seed), options.T)
    backend, _ = open_network(config, network, net, room.device, share)
    return backend, history_of(network.config.num_planes)


def _with_steps(network: IntegerNet, steps: int | None) -> IntegerNet:
    """The network with another number of time steps; raises ConfigError for a number that will
    not do, NetworkError where it is not proved exact."""
    if steps is None or steps == network.config.time_steps:
        return network
    config = build(NetConfig, network.config.model_dump() | {"time_steps": steps})
    changed = replace(network, config=config)
    if not check_bounds(changed).exact:
        raise NetworkError(f"T={steps}: the network cannot be proved exact for so many steps")
    return changed
