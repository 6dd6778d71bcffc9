"""Matches that all ranks play during training: progress matches, and the gate's.

Progress matches are against players that never change, and show whether the run gets stronger. The
gate publishes a candidate when a match accepts that it is stronger than the best network so far, as
in AlphaGo Zero (Silver et al. 2017) and KataGo's gatekeeper, with a sequential test in place of a
fixed score. Learning goes on from the candidate's weights either way (decision 140).
"""

from pathlib import Path
from typing import Any

from vecchess.arena.match.play_match import DEFAULT_CONCURRENCY, MatchResult
from vecchess.arena.player_protocol import Player
from vecchess.arena.players.player_registry import PlayerResources, open_player
from vecchess.config import MatchConfig, TrainConfig
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.source import find
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import Device
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.worker.networks import save_playable
from vecchess.store.run_folder import RunFolder
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.publish import latest_net
from vecchess.train.shared_match import SharedMatch

OPPONENTS = ("random", "greedy")
RANDOM_PLIES = 6
"""Random plies at the start: otherwise deterministic players would repeat one game."""
CANDIDATE = "candidate.safetensors"


class TrainingMatches:
    """Matches of the newest network against ``OPPONENTS``, and of a candidate against the best.

    The network plays its policy's best move and, where the run searches, once more with search.
    """

    def __init__(
        self, config: TrainConfig, run: RunFolder, ranks: Ranks, device: Device, stop: StopSignals
    ) -> None:
        """``device`` is this rank's; ``run`` the folder of its machine."""
        self._config, self._run, self._ranks, self._device = config, run, ranks, device
        self._stop = stop

    def play(self) -> list[dict[str, Any]]:
        """The facts of each match, on all ranks; none where a stop was requested meanwhile."""
        config, net = self._config, latest_net(self._run).file
        settings = _match_config(config, config.eval_games, config.seed)
        matches = []
        for query in player_queries(config):
            for opponent in OPPONENTS:
                result = self._play_match(settings, self._player(net, query), opponent, networks=1)
                if result is None:
                    return []
                names = {"player": player_name(query), "opponent": opponent}
                matches.append(names | _match_facts(result))
        return matches

    def judge(self, candidate: PlayableNet, iteration: int) -> dict[str, Any] | None:
        """The facts of the match of ``candidate`` against the best network, with ``admitted``, on
        all ranks; None where a stop was requested meanwhile."""
        config, best = self._config, latest_net(self._run)
        if candidate.sha256 == best.sha256:
            return {"admitted": True, "games": 0}
        file = self._run.path / CANDIDATE
        if self._ranks.is_local_main:
            save_playable(candidate, file)
        self._ranks.barrier()
        settings = _match_config(config, config.gate_games, config.seed + iteration)
        settings = settings.model_copy(update={"sprt": config.gate})
        query = player_queries(config)[-1]
        new, old = (self._player(net, query) for net in (file, best.file))
        try:
            result = self._play_match(settings, new, old, networks=2)
        finally:
            if self._ranks.is_local_main:
                file.unlink(missing_ok=True)
        if result is None:
            return None
        assert result.counter.sprt is not None
        admitted = result.counter.sprt.state == "accepted"
        return {"admitted": admitted, "opponent": best.name} | _match_facts(result)

    def _player(self, file: Path, query: str) -> str:
        """The spelling of a network of the run that plays with a query of ``player_queries``."""
        net = find(self._config.net).with_weights_of(file).text
        return f"net:{net}{query.replace('?', '&') if '?' in net else query}"

    def _play_match(
        self, settings: MatchConfig, first: str, second: str, networks: int
    ) -> MatchResult | None:
        """A match between two players by their spellings, ``networks`` of which are networks."""
        resources, seed = self._resources(settings.games, networks), settings.seed

        def open_players() -> tuple[Player, Player]:
            return open_player(first, seed, resources), open_player(second, seed, resources)

        return SharedMatch(settings, open_players, self._ranks, self._stop).play()

    def _resources(self, games: int, networks: int) -> PlayerResources:
        """The share of this rank's machine that each of ``networks`` networks gets."""
        ranks_here = self._ranks.world_size // self._ranks.num_nodes
        threads = max(1, num_cores() // (networks * ranks_here))
        most = min(DEFAULT_CONCURRENCY, games)
        return PlayerResources(most, self._device, self._config.backend, threads)


def player_queries(config: TrainConfig) -> list[str]:
    """Options of the run's network as a player: none, and with the run's search if it has one."""
    tree = config.tree
    searched = [] if tree.search == "none" else [f"?search={tree.search}&sims={tree.sims}"]
    return ["", *searched]


def player_name(query: str) -> str:
    """The name of a network that plays with ``query``: "policy", or "gumbel 16"."""
    if not query:
        return "policy"
    search, _, sims = query.removeprefix("?search=").partition("&sims=")
    return f"{search} {sims}"


def _match_config(config: TrainConfig, games: int, seed: int) -> MatchConfig:
    chess960 = config.game.chess960
    return MatchConfig(games=games, seed=seed, random_plies=RANDOM_PLIES, chess960=chess960)


def _match_facts(result: MatchResult) -> dict[str, Any]:
    left_out = ("schema", "players", "plies_per_s")
    return {name: fact for name, fact in result.to_dict().items() if name not in left_out}
