"""From two specs and settings to a match: opens the players, plays, closes them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from vecchess.arena.match.match_openings import match_openings
from vecchess.arena.match.play_match import (
    DEFAULT_CONCURRENCY,
    MatchObserver,
    MatchResult,
    num_concurrent,
    play_match,
)
from vecchess.arena.player_protocol import Player
from vecchess.arena.players.player_registry import UCI, PlayerResources, is_network, open_player
from vecchess.arena.players.uci_player import UciPlayer
from vecchess.arena.ratings.sprt import Sprt
from vecchess.config import MatchConfig
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import CPU, parse_gpus
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.search.tablebase import Tablebase

GPU_CONCURRENCY = 2048
"""Games at a time on a GPU where it is not set."""


def run_match(
    first: str,
    second: str,
    config: MatchConfig,
    report_line: ReportLine = no_report,
    observer: MatchObserver = lambda progress: False,
    begin: Callable[[], object] = lambda: None,
) -> MatchResult:
    """Play a match between the players of two specs, see ``players.player_registry``.

    ``report_line`` gets lines for people; ``begin`` is called when the players are open. Raises
    ConfigError and NetworkError for players, openings or settings that cannot be used, before
    anything is played.
    """
    if config.sprt:
        Sprt.parse(config.sprt)
    if config.adjudication.syzygy:
        Tablebase(config.adjudication.syzygy)
    num_openings = match_openings(config).num_games
    if num_openings < config.games // 2:
        report_line(
            f"there are {num_openings:,} openings for {config.games // 2:,} pairs: some are played "
            "again, and players without chance repeat their games"
        )
    texts = [first, second]
    with open_players(texts, config.seed, resources_for(texts, config)) as players:
        for player in players:
            if isinstance(player, UciPlayer):
                report_line(f"{player.name} is {player.engine_name}")
        begin()
        report_line(f"{num_concurrent(config, *players):,} games at a time")
        return play_match(players[0], players[1], config, observer)


@contextmanager
def open_players(texts: list[str], seed: int, resources: PlayerResources) -> Iterator[list[Player]]:
    """The players of the specs ``texts``, each with ``resources``; closed at the end."""
    with ExitStack() as stack:
        players = []
        for text in texts:
            player = open_player(text, seed, resources)
            stack.callback(player.close)
            players.append(player)
        yield players


def resources_for(texts: list[str], config: MatchConfig) -> PlayerResources:
    """The share of the machine that each of the players gets."""
    device = parse_gpus(config.gpus)[0] if any(map(is_network, texts)) else CPU
    networks = sum(map(is_network, texts))
    engines = sum(text.startswith(UCI) for text in texts)
    default = DEFAULT_CONCURRENCY if device == CPU else GPU_CONCURRENCY
    return PlayerResources(
        max_games=min(config.concurrency or default, config.games),
        device=device,
        backend=config.backend,
        threads=config.threads or max(1, num_cores() // max(1, networks)),
        processes=config.concurrency or max(1, num_cores() // max(1, engines)),
    )
