"""Participants: players by their spellings, and identities that hold wherever a file lies."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pydantic

from vecchess.arena.players.player_registry import (
    LC0,
    NET,
    SIMPLE,
    UCI,
    PlayerResources,
    is_network,
    net_of,
    net_settings,
    open_player,
)
from vecchess.arena.players.uci_player import UciPlayer
from vecchess.config import BUILT_IN_NETS
from vecchess.errors import ConfigError
from vecchess.lc0.weights_file import load_weights
from vecchess.networks.module_spelling import ModuleSpelling, is_module
from vecchess.runtime.devices import parse_gpus
from vecchess.runtime.plugin import is_plugin, plugin_file
from vecchess.selfplay.worker.networks import load_or_create

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


def identify(spelling: str, seed: int, gpus: str = "auto", backend: str = "auto") -> Participant:
    """The participant that ``spelling`` spells, opened once to check that it can play.

    seed: of a new network. Raises ConfigError and NetworkError where it cannot play.
    """
    head, _, query = spelling.partition("?")
    settings = sorted(filter(None, query.split("&")))
    if is_network(head):
        device = parse_gpus(gpus)[0]
        open_player(
            spelling, seed, PlayerResources(max_games=2, device=device, backend=backend)
        ).close()
        return _network(spelling, seed)
    player = open_player(spelling, seed, PlayerResources(max_games=2))
    player.close()
    if isinstance(player, UciPlayer):
        return _engine(player, spelling, settings)
    if is_plugin(head):
        file = plugin_file(head)
        identity = _joined(f"{head} #{_digest([str(file)])}", settings)
        return Participant(player.name, spelling, identity, is_repeatable=True)
    return Participant(player.name, spelling, player.name, is_repeatable=True)


def _network(spelling: str, seed: int) -> Participant:
    kind, file = spelling.partition(":")[0], net_of(spelling)
    words = net_settings(spelling)
    known = sorted(f"{name}={value}" for name, value in words.items())
    search = f"{words.pop('search', 'policy')} {words.pop('sims', '')}".strip()
    name = " ".join(
        [
            _short_name(file),
            search,
            *(f"{key}={value}" for key, value in words.items()),
        ]
    )
    if f"{kind}:" == LC0:
        what = load_weights(file).sha256[:HASH_DIGITS]
    else:
        what = file if file in BUILT_IN_NETS else load_or_create(file, seed).sha256[:HASH_DIGITS]
    return Participant(name, spelling, _joined(f"{kind}:{what}", known), is_repeatable=True)


def _short_name(net: str) -> str:
    """A network's name for people: of a module the one of its factory, else that of its file."""
    if is_module(net):
        return ModuleSpelling.parse(net).name.rpartition(".")[2]
    return Path(net.removesuffix(".gz")).stem


def _engine(player: UciPlayer, spelling: str, settings: list[str]) -> Participant:
    shown = [setting for setting in settings if setting.split("=")[0] not in NOT_IN_NAME]
    words = {name.lower(): value for name, _, value in (s.partition("=") for s in settings)}
    is_random = bool(words.keys() & RANDOM_SETTINGS) or words.get("threads", "1") != "1"
    identity = _joined(f"{UCI}{player.engine_name} #{_digest(player.command)}", settings)
    name = " ".join([player.engine_name, *shown])
    return Participant(name, spelling, identity, is_repeatable=not is_random)


def _digest(command: list[str]) -> str:
    """A hash of a program and its arguments; of files among them the content counts."""
    digest = hashlib.sha256()
    for word in command:
        is_file = Path(word).is_file()
        digest.update(Path(word).read_bytes() if is_file else word.encode())
    return digest.hexdigest()[:HASH_DIGITS]


def _joined(what: str, settings: list[str]) -> str:
    return "?".join([what, "&".join(settings)] if settings else [what])


def network_spelling(net: str, search: str | None = None, sims: int | None = None) -> str:
    """The spelling of a player: of a network by its file and search, or as it is.

    Raises ConfigError for simulations without a search, and for either beside a whole spelling.
    """
    is_player = ":" in net.partition("?")[0] and not is_module(net)
    if net in SIMPLE or is_player:
        if search is not None or sims is not None:
            raise ConfigError(f'"{net}" says how it plays: drop --search and --sims')
        return net
    if search is None or search == "none":
        if sims is not None:
            raise ConfigError("--sims needs a search: --search gumbel or --search puct")
        return f"{NET}{net}"
    joint = "&" if "?" in net else "?"
    return f"{NET}{net}{joint}search={search}" + ("" if sims is None else f"&sims={sims}")


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
    digits = participant.identity.partition("?")[0].partition(":")[2][:SHORT_HASH]
    return replace(participant, name=f"{participant.name} #{digits}")
