"""Who takes part: a player by its spelling, and what it is wherever it lies."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vecchess.arena.players.player_registry import (
    NET,
    SIMPLE,
    UCI,
    PlayerResources,
    net_settings,
    open_player,
)
from vecchess.arena.players.uci_player import UciPlayer
from vecchess.config import BUILT_IN_NETS
from vecchess.errors import ConfigError
from vecchess.runtime.devices import parse_gpus
from vecchess.runtime.plugin import is_plugin, plugin_file
from vecchess.selfplay.worker.networks import load_or_create

HASH_DIGITS = 16
SHORT_HASH = 6
BY_CHANCE = {"elo", "movetime", "tc", "skill level", "uci_limitstrength"}
"""Settings with which an engine may not play the same game twice."""
UNTOLD = ("hash", "threads", "timeout", "margin")
"""Settings of an engine that its name leaves out."""


@dataclass(frozen=True)
class Participant:
    """A player that takes part."""

    name: str
    """For people; no two contenders of an evaluation share one."""
    spelling: str
    """See ``arena.players``."""
    identity: str
    """What it is: the same for a network under another file name, another for another engine
    under the same spelling."""
    is_repeatable: bool
    """Whether it plays the same game when the same is asked of it again."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def identify(spelling: str, seed: int, gpus: str = "auto", backend: str = "auto") -> Participant:
    """The contender that ``spelling`` spells, opened once to see that it can play.

    seed: of a new network. Raises ConfigError and NetworkError where it cannot play.
    """
    head, _, query = spelling.partition("?")
    settings = sorted(filter(None, query.split("&")))
    if head.startswith(NET):
        device = parse_gpus(gpus)[0]
        open_player(
            spelling, seed, PlayerResources(max_games=2, device=device, backend=backend)
        ).close()
        return _network(head.removeprefix(NET), spelling, query, seed)
    player = open_player(spelling, seed, PlayerResources(max_games=2))
    player.close()
    if isinstance(player, UciPlayer):
        return _engine(player, spelling, settings)
    if is_plugin(head):
        file = plugin_file(head)
        identity = _joined(f"{head} #{_digest([str(file)])}", settings)
        return Participant(player.name, spelling, identity, is_repeatable=True)
    return Participant(player.name, spelling, player.name, is_repeatable=True)


def _network(file: str, spelling: str, query: str, seed: int) -> Participant:
    words = net_settings(query)
    known = sorted(f"{name}={value}" for name, value in words.items())
    search = f"{words.pop('search', 'policy')} {words.pop('sims', '')}".strip()
    name = " ".join([Path(file).stem, search, *(f"{key}={value}" for key, value in words.items())])
    what = file if file in BUILT_IN_NETS else load_or_create(file, seed).sha256[:HASH_DIGITS]
    return Participant(name, spelling, _joined(f"{NET}{what}", known), is_repeatable=True)


def _engine(player: UciPlayer, spelling: str, settings: list[str]) -> Participant:
    told = [setting for setting in settings if setting.split("=")[0] not in UNTOLD]
    words = {name.lower(): value for name, _, value in (s.partition("=") for s in settings)}
    by_chance = bool(words.keys() & BY_CHANCE) or words.get("threads", "1") != "1"
    identity = _joined(f"{UCI}{player.engine_name} #{_digest(player.command)}", settings)
    name = " ".join([player.engine_name, *told])
    return Participant(name, spelling, identity, is_repeatable=not by_chance)


def _digest(command: list[str]) -> str:
    """Of a program and its arguments; files among them count by what is in them."""
    digest = hashlib.sha256()
    for word in command:
        is_file = Path(word).is_file()
        digest.update(Path(word).read_bytes() if is_file else word.encode())
    return digest.hexdigest()[:HASH_DIGITS]


def _joined(what: str, settings: list[str]) -> str:
    return "?".join([what, "&".join(settings)] if settings else [what])


def spell(net: str, search: str | None = None, sims: int | None = None) -> str:
    """The spelling of a player: of a network by its file and search, or as it is.

    Raises ConfigError for simulations without a search, and for either beside a whole spelling.
    """
    if net in SIMPLE or ":" in net.partition("?")[0]:
        if search is not None or sims is not None:
            raise ConfigError(f'"{net}" says how it plays: drop --search and --sims')
        return net
    if search is None or search == "none":
        if sims is not None:
            raise ConfigError("--sims needs a search: --search gumbel or --search puct")
        return f"{NET}{net}"
    return f"{NET}{net}?search={search}" + ("" if sims is None else f"&sims={sims}")


def distinct(contenders: Iterable[Participant]) -> list[Participant]:
    """Of each identity the first, with names that differ: some digits of what they are are added
    where need be."""
    first: dict[str, Participant] = {}
    for contender in contenders:
        first.setdefault(contender.identity, contender)
    found = list(first.values())
    shared = Counter(contender.name for contender in found)
    return [_told_apart(one) if shared[one.name] > 1 else one for one in found]


def _told_apart(contender: Participant) -> Participant:
    if not contender.identity.startswith(NET):
        return replace(contender, name=contender.identity)
    digits = contender.identity.partition("?")[0].removeprefix(NET)[:SHORT_HASH]
    return replace(contender, name=f"{contender.name} #{digits}")
