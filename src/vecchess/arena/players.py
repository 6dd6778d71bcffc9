"""Players by their spelling.

    random                                 any legal move
    greedy                                 mates if it can, else takes the most
    net:FILE                               the move that the policy of a network likes best
    net:FILE?temperature=1                 drawn from the policy at a temperature
    net:FILE?search=gumbel&sims=64         searched; "gumbel" or "puct"

FILE is a network file, a preset (a new network), "material" or "constant". Gumbel's temperature
is that of its noise, PUCT's that of the choice by visits.
"""

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vecchess.arena.network import COLDEST, PolicyPlayer, SearchPlayer
from vecchess.arena.player import Player
from vecchess.arena.simple import GreedyPlayer, RandomPlayer
from vecchess.chess.planes import history_of
from vecchess.config import SelfplayConfig, TreeConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.backend import Backend
from vecchess.selfplay.assemble import BUILT_IN_NETS, open_net, open_network
from vecchess.selfplay.devices import CPU, Device, Share
from vecchess.selfplay.nets import load_net

SIMPLE: dict[str, Callable[[int], Player]] = {"random": RandomPlayer, "greedy": GreedyPlayer}
NET = "net:"
SPELLINGS = f"{', '.join(SIMPLE)} or net:FILE?search=gumbel&sims=64"
SLOTS = 128


class NetOptions(BaseModel):
    """What may follow the file of a network player."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    search: Literal["none", "gumbel", "puct"] = "none"
    """How moves are chosen: by the policy alone, or searched."""
    sims: Annotated[int, Field(ge=1, le=1 << 24)] = 64
    """Simulations of a search."""
    temperature: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """0: the best move."""

    @model_validator(mode="after")
    def _is_of_use(self) -> Self:
        if self.search == "none" and "sims" in self.model_fields_set:
            raise ValueError('sims needs a search: "gumbel" or "puct"')
        return self


def open_player(
    text: str, seed: int = 0, device: Device = CPU, rows: int = 256, threads: int = 1
) -> Player:
    """The player that ``text`` spells; ``seed`` chooses its random numbers.

    A network is asked about up to ``rows`` positions at a time on ``device``; on the processor it
    takes ``threads`` threads. Raises ConfigError for a spelling that is not understood,
    NetworkError for a network that will not do.
    """
    if text in SIMPLE:
        return SIMPLE[text](seed)
    if not text.startswith(NET):
        raise ConfigError(f"there is no player {text!r}: choose {SPELLINGS}")
    net, _, query = text.removeprefix(NET).partition("?")
    if not net:
        raise ConfigError(f"player {text!r} names no network: write {SPELLINGS}")
    options = _options(text, query)
    share = Share(min(rows, SLOTS) if device == CPU else rows, rows, movers=1, threads=threads)
    backend, history = _open(net, seed, device, share)
    if options.search == "none":
        return PolicyPlayer(backend, rows, seed, options.temperature, text, history)
    tree = build(TreeConfig, {"search": options.search, "sims": options.sims})
    explore = options.search == "gumbel" and options.temperature >= COLDEST
    return SearchPlayer(tree, backend, rows, seed, options.temperature, explore, text, history)


def _options(text: str, query: str) -> NetOptions:
    """What the part after "?" says; raises ConfigError."""
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    known = NetOptions.model_fields
    for name, _, _ in pairs:
        if name not in known:
            raise ConfigError(f"player {text!r}: unknown setting {name!r}; give {', '.join(known)}")
    try:
        return build(NetOptions, {name: value for name, _, value in pairs})
    except ConfigError as error:
        raise ConfigError(f"player {text!r}: {error}") from None


def _open(net: str, seed: int, device: Device, share: Share) -> tuple[Backend, int]:
    """The backend that computes ``net``, and how many positions it sees; a new network has weights
    from the seed."""
    config = build(SelfplayConfig, {"net": net})
    if net in BUILT_IN_NETS:
        return open_net(config, net, CPU, share)[0], 1
    network = load_net(net, seed)
    backend, _ = open_network(config, network, net, device, share)
    return backend, history_of(network.config.num_planes)
