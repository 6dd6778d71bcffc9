"""Matches of a run's newest network against players that never change: whether it gets stronger.

The network plays its policy's best move, and, where the run searches, once more as it searches.
"""

from typing import Any

from vecchess.arena.match.play_match import DEFAULT_CONCURRENCY, MatchResult, play_match
from vecchess.arena.players.player_registry import PlayerResources, open_player
from vecchess.config import MatchConfig, TrainConfig
from vecchess.runtime.devices import Device, num_cores
from vecchess.runtime.signals import StopSignals
from vecchess.store.run_folder import RunFolder
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.publish import latest_net
from vecchess.train.rank0_task import MustStop, run_on_rank0

OPPONENTS = ("random", "greedy")
RANDOM_PLIES = 6
"""Openings that all differ, for players that would repeat themselves."""


class ProgressMatches:
    """Plays them, on rank 0, while the others wait."""

    def __init__(self, config: TrainConfig, run: RunFolder, ranks: Ranks, device: Device) -> None:
        """``device`` is rank 0's."""
        self._config, self._run, self._ranks, self._device = config, run, ranks, device

    def play(self, stop: StopSignals) -> list[dict[str, Any]]:
        """What each match came to, on all ranks; nothing where somebody asks to stop meanwhile."""
        told = run_on_rank0(self._ranks, stop, self._all)
        return told["matches"] if told else []

    def _all(self, must_stop: MustStop) -> dict[str, Any]:
        config, net = self._config, f"net:{latest_net(self._run).file}"
        settings = match_settings(config, config.eval_games, config.seed)
        room = room_for(config, config.eval_games, self._device, networks=1)
        found = []
        for query in queries(config):
            player = open_player(net + query, config.seed, room)
            for opponent in OPPONENTS:
                other = open_player(opponent, config.seed)
                result = play_match(player, other, settings, lambda _: must_stop())
                names = {"player": player_name(query), "opponent": opponent}
                found.append(names | facts_of(result))
        return {"matches": found}


def match_settings(config: TrainConfig, games: int, seed: int) -> MatchConfig:
    """A match of a run's networks: from random openings, as its games are played."""
    chess960 = config.game.chess960
    return MatchConfig(games=games, seed=seed, random_plies=RANDOM_PLIES, chess960=chess960)


def room_for(config: TrainConfig, games: int, device: Device, networks: int) -> PlayerResources:
    """What each of so many networks gets of rank 0's machine."""
    threads = max(1, num_cores() // networks)
    return PlayerResources(min(DEFAULT_CONCURRENCY, games), device, config.backend, threads)


def facts_of(result: MatchResult) -> dict[str, Any]:
    """What a run keeps of a match."""
    left_out = ("schema", "players", "plies_per_s")
    return {name: fact for name, fact in result.to_dict().items() if name not in left_out}


def queries(config: TrainConfig) -> list[str]:
    """How a network of the run plays: by its policy alone and, where the run searches, so."""
    tree = config.tree
    searched = [] if tree.search == "none" else [f"?search={tree.search}&sims={tree.sims}"]
    return ["", *searched]


def player_name(query: str) -> str:
    """What a network that plays so is called: "policy", or "gumbel 16"."""
    if not query:
        return "policy"
    search, _, sims = query.removeprefix("?search=").partition("&sims=")
    return f"{search} {sims}"
