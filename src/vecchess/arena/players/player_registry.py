"""Players by name and settings, as one text.

    random                                 any legal move
    greedy                                 mates if it can, else has the most material after it
    minimax:2                              the most material so many plies ahead
    net:                                   the most probable move of the network that comes with
                                           vecchess; also written net:default
    net:FILE                               the most probable move of a network's policy
    net:FILE?temperature=1                 drawn from the policy at a temperature
    net:FILE?search=gumbel&sims=64         searched; "gumbel" or "puct"
    net:FILE?T=2&exits=off                 two time steps, all of them taken
    net:module:package.module:make         a module of the user (``networks.module_spec``); its
                                           settings and the player's follow one "?"
    lc0:FILE?search=puct&sims=800          a network of lc0, a .pb.gz file, with the same settings
                                           but T and exits; by its policy alone without a search
    uci:stockfish?nodes=1000               a UCI engine; see ``uci_player``
    mymodule:make_player?depth=3           what a function of the user returns, called with
                                           seed=... and the settings, as texts, by name

FILE is whatever ``inference.source`` knows. Gumbel's temperature is that of its noise, PUCT's that
of the choice by visits. Other settings of a search, as c_puct or draw_score, are given by their
names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from vecchess.arena.player_protocol import MoveReplies, MoveRequests, Player
from vecchess.arena.players.network_player import COLDEST, PolicyPlayer, SearchPlayer
from vecchess.arena.players.simple import MINIMAX, GreedyPlayer, MinimaxPlayer, RandomPlayer
from vecchess.arena.players.uci_player import EngineOptions, UciPlayer
from vecchess.config import DEFAULT_NET, TreeConfig, build
from vecchess.config.search_settings import SearchConfig
from vecchess.errors import ConfigError
from vecchess.inference.open_network import open_network
from vecchess.inference.source import LC0, Source, find
from vecchess.runtime.devices import CPU, Device
from vecchess.runtime.plugin import load_plugin, require_arguments, users_code
from vecchess.spec import Spec, is_function

SIMPLE: dict[str, Callable[[int], Player]] = {"random": RandomPlayer, "greedy": GreedyPlayer}
NET, UCI = "net:", "uci:"
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
"""Slots of the CPU backend, at most."""


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
    """Where a network is computed."""
    backend: str = "auto"
    """How a network is computed, as for self-play."""
    threads: int = 1
    """Threads that compute a network on the processor."""
    processes: int = 1
    """Processes of an engine."""


def open_player(text: str, seed: int = 0, resources: PlayerResources | None = None) -> Player:
    """The player that ``text`` names; ``seed`` chooses its random numbers. The caller closes it.

    Raises ConfigError for a text that is not understood, for an engine that cannot play and a
    plug-in that cannot be loaded, NetworkError for a network that cannot be used.
    """
    resources, spec = resources or PlayerResources(), Spec.parse(text)
    try:
        if text in SIMPLE:
            return SIMPLE[text](seed)
        if spec.head.startswith(MINIMAX):
            return MinimaxPlayer.parse(text, seed)
        if spec.head.startswith(UCI) and spec.head != UCI:
            return _open_engine(spec, text, resources)
        if is_network(text) and spec.head != LC0:
            return _open_net(NetPlayer.of(spec), text, seed, resources)
        if is_function(spec.head):
            return _open_plugin(spec, seed)
    except ConfigError as error:
        raise ConfigError(f"player {text!r}: {error}") from None
    raise ConfigError(f"there is no player {text!r}: choose {SPELLINGS}")


def is_network(text: str) -> bool:
    """Whether ``text`` names a player with a network of its own."""
    return text.startswith(NETWORKS)


@dataclass(frozen=True)
class NetPlayer:
    """A player with a network, as its text describes it."""

    source: Source
    """The network."""
    options: PolicyOptions
    tree: TreeConfig

    @classmethod
    def of(cls, spec: Spec) -> Self:
        """The player that ``spec`` describes; raises ConfigError.

        A module has all settings that are no player's.
        """
        net = spec.head.removeprefix(NET) or DEFAULT_NET
        source = find(net)
        kind = PolicyOptions if source.kind == "lc0" else NetOptions
        own, rest = spec.split(kind.model_fields)
        search, rest = rest.split(SEARCH_SETTINGS)
        if source.kind == "module":
            source = find(str(Spec(net, rest.settings)))
        elif rest.settings:
            known = ", ".join([*kind.model_fields, *SEARCH_SETTINGS])
            raise ConfigError(f"unknown setting {next(iter(rest.settings))!r}; give {known}")
        return cls(source, build(kind, own), _tree(search))

    @property
    def settings(self) -> dict[str, Any]:
        """All settings but for defaults: the same for two texts that name one player."""
        options = self.options.model_dump(exclude_defaults=True)
        return options | self.tree.model_dump(exclude_defaults=True)


def _tree(given: dict[str, str]) -> TreeConfig:
    """The search of a network player; without ``search`` there is none, and nothing to set."""
    if given and "search" not in given:
        raise ConfigError(f'{next(iter(given))} needs a search: "search=gumbel" or "search=puct"')
    defaults: dict[str, Any] = {"sims": 64} if given.get("search", "none") != "none" else {}
    return build(TreeConfig, defaults | given)


def _open_net(net: NetPlayer, text: str, seed: int, resources: PlayerResources) -> Player:
    """The player; a new network has weights from the seed."""
    options, tree, is_cpu = net.options, net.tree, resources.device == CPU
    timed: dict[str, Any] = {}
    if isinstance(options, NetOptions):
        timed = {"exits": options.exits, "time_steps": options.T}
    opened = open_network(
        net.source,
        min(resources.max_games, SLOTS) if is_cpu else resources.max_games,
        seed=seed,
        backend=resources.backend,
        device=resources.device,
        threads=resources.threads,
        **timed,
    )
    common: dict[str, Any] = {"max_games": resources.max_games, "seed": seed, "name": text}
    common |= {"temperature": options.temperature, "num_planes": opened.num_planes}
    if tree.search == "none":
        return PolicyPlayer(opened.backend, **common)
    explore = tree.search == "gumbel" and options.temperature >= COLDEST
    return SearchPlayer(tree, opened.backend, explore=explore, **common)


def _open_engine(spec: Spec, text: str, resources: PlayerResources) -> UciPlayer:
    own, other = spec.split(EngineOptions.model_fields)
    options = build(EngineOptions, own | {"other": other.settings})
    processes = min(resources.processes, resources.max_games)
    return UciPlayer(spec.head.removeprefix(UCI), options, processes, text)


def _open_plugin(spec: Spec, seed: int) -> Player:
    """The player that a function of the user makes of the seed and the settings, as texts."""
    function = load_plugin(spec.head)
    require_arguments(function, f"{spec.head} cannot be called so", seed=seed, **spec.settings)
    with users_code(spec.head, "the factory", ConfigError):
        player: Player = function(seed=seed, **spec.settings)
        lacking = [part for part in PLAYER_PARTS if not hasattr(player, part)]
    if lacking:
        raise ConfigError(f"{spec.head} makes no player: it has no {lacking[0]}")
    return UsersPlayer(spec.head, player)


class UsersPlayer(Player):
    """A player of the user, whose errors are one line; it has the attributes of that player."""

    def __init__(self, name: str, player: Player) -> None:
        """``name``: for messages."""
        self._name, self._player = name, player
        self.name, self.max_games = player.name, player.max_games

    def __getattr__(self, name: str) -> Any:
        """An attribute that is not vecchess's."""
        return getattr(self._player, name)

    @property
    def is_idle(self) -> bool:
        """True where it owes no reply."""
        with users_code(self._name, "is_idle", ConfigError):
            return self._player.is_idle

    def ask(self, requests: MoveRequests) -> None:
        """Begin to think about ``requests``."""
        with users_code(self._name, "ask", ConfigError):
            self._player.ask(requests)

    def replies(self) -> MoveReplies:
        """The moves decided by now."""
        with users_code(self._name, "replies", ConfigError):
            return self._player.replies()

    def close(self) -> None:
        """End its processes and threads, if it has any."""
        with users_code(self._name, "close", ConfigError):
            self._player.close()
