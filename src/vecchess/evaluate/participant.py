"""Participants: players by their spellings, and identities that hold wherever a file lies."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pydantic

from vecchess.arena.players.player_registry import (
    NET,
    SIMPLE,
    UCI,
    NetPlayer,
    PlayerResources,
    is_network,
    open_player,
)
from vecchess.arena.players.uci_player import UciPlayer
from vecchess.errors import ConfigError
from vecchess.inference.source import find
from vecchess.runtime.devices import parse_gpus
from vecchess.runtime.plugin import plugin_file
from vecchess.snn.integer.net_file import net_path
from vecchess.spec import Spec, is_function

HASH_DIGITS = 16
SHORT_HASH = 6
RANDOM_SETTINGS = {"elo", "movetime", "tc", "skill level", "uci_limitstrength"}
"""Settings with which an engine may not play the same game twice."""
NOT_IN_NAME = ("hash", "threads", "timeout", "margin")
"""Settings of an engine that its name leaves out."""


@pydantic.dataclasses.dataclass(frozen=True)
class Participant:
    """A player that takes part."""

    name: str
    """Unique in an evaluation."""
    spelling: str
    """The text that opens it (``arena.players.player_registry``)."""
    identity: str
    """Follows the content: the same for a network under another file name, another for another
    engine under the same spelling."""
    is_repeatable: pydantic.StrictBool
    """Whether it plays the same game again under the same conditions."""


def identify(text: str, seed: int, gpus: str = "auto", backend: str = "auto") -> Participant:
    """The participant that ``text`` names, opened once to check that it can play.

    seed: of a new network. Raises ConfigError and NetworkError where it cannot play.
    """
    resources, is_net = PlayerResources(max_games=2), is_network(text)
    if is_net:
        resources = replace(resources, device=parse_gpus(gpus)[0], backend=backend)
    player = open_player(text, seed, resources)
    player.close()
    spec = Spec.parse(text)
    if is_net:
        return _network(text, NetPlayer.of(spec), seed)
    settings = sorted(f"{name}={_content(value)}" for name, value in spec.settings.items())
    if isinstance(player, UciPlayer):
        return _engine(player, text, spec, settings)
    if is_function(spec.head):
        file = plugin_file(spec.head)
        identity = _joined(f"{spec.head} #{_digest([str(file)])}", settings)
        return Participant(player.name, text, identity, is_repeatable=True)
    return Participant(player.name, text, player.name, is_repeatable=True)


def _network(text: str, player: NetPlayer, seed: int) -> Participant:
    source, words = player.source, player.settings
    known = sorted(f"{name}={value}" for name, value in words.items())
    search = f"{words.pop('search', 'policy')} {words.pop('sims', '')}".strip()
    others = [f"{key}={value}" for key, value in words.items()]
    kind = "lc0" if source.kind == "lc0" else "net"
    identity = _joined(f"{kind}:{source.load(seed).sha256[:HASH_DIGITS]}", known)
    name = " ".join([source.short_name, search, *others])
    return Participant(name, text, identity, is_repeatable=True)


def _engine(player: UciPlayer, text: str, spec: Spec, settings: list[str]) -> Participant:
    shown = [
        f"{key}={spec.settings[key]}" for key in sorted(spec.settings) if key not in NOT_IN_NAME
    ]
    words = {name.lower(): value for name, value in spec.settings.items()}
    is_random = bool(words.keys() & RANDOM_SETTINGS) or words.get("threads", "1") != "1"
    identity = _joined(f"{UCI}{player.engine_name} #{_digest(player.command)}", settings)
    name = " ".join([player.engine_name, *shown])
    return Participant(name, text, identity, is_repeatable=not is_random)


def _digest(command: list[str]) -> str:
    """A hash of a program and its arguments; of files among them the content counts."""
    digest = hashlib.sha256()
    for word in command:
        is_file = Path(word).is_file()
        digest.update(Path(word).read_bytes() if is_file else word.encode())
    return digest.hexdigest()[:HASH_DIGITS]


def _content(value: str) -> str:
    """A setting's value; where it names a file, its content is told too."""
    return f"{value} #{_digest([value])}" if Path(value).is_file() else value


def _joined(what: str, settings: list[str]) -> str:
    return "?".join([what, "&".join(settings)] if settings else [what])


def network_spelling(net: str, search: str | None = None, sims: int | None = None) -> str:
    """The spelling of a player: of a network by its file and search, or as it is.

    Raises ConfigError for no name at all, for simulations without a search, and for either beside a
    whole spelling.
    """
    if not net:
        raise ConfigError('NET is "": give a network file, or "default"')
    is_file = net_path(net).is_file()
    spec = Spec(net) if is_file else Spec.parse(net)
    is_player = ":" in spec.head and find(net).kind != "module" and not is_file
    if net in SIMPLE or is_player:
        if search is not None or sims is not None:
            raise ConfigError(f'"{net}" says how it plays: drop --search and --sims')
        return net
    if search is None or search == "none":
        if sims is not None:
            raise ConfigError("--sims needs a search: --search gumbel or --search puct")
        return f"{NET}{spec}"
    given = {"search": search} | ({} if sims is None else {"sims": str(sims)})
    return f"{NET}{Spec(spec.head, spec.settings | given)}"


def distinct_participants(participants: Iterable[Participant]) -> list[Participant]:
    """The first participant of each identity, with names that differ: digits of the identity are
    added where need be."""
    first: dict[str, Participant] = {}
    for participant in participants:
        first.setdefault(participant.identity, participant)
    found = list(first.values())
    shared = Counter(participant.name for participant in found)
    return [_with_unique_name(one) if shared[one.name] > 1 else one for one in found]


def _with_unique_name(participant: Participant) -> Participant:
    if not is_network(participant.identity):
        return replace(participant, name=participant.identity)
    digits = Spec.parse(participant.identity).head.partition(":")[2][:SHORT_HASH]
    return replace(participant, name=f"{participant.name} #{digits}")
