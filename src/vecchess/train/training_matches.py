"""Matches that rank 0 plays during training: progress matches, and the gate's.

Progress matches are against players that never change, and show whether the run gets stronger. The
gate publishes a candidate when a match accepts that it is stronger than the best network so far, as
in AlphaGo Zero (Silver et al. 2017) and KataGo's gatekeeper, with a sequential test in place of a
fixed score. Learning goes on from the candidate's weights either way (decision 140).
"""

from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any

from vecchess.arena.match.play_match import (
    DEFAULT_CONCURRENCY,
    MatchResult,
    NoPairFinished,
    play_match,
)
from vecchess.arena.players.player_registry import PlayerResources, open_player
from vecchess.config import MatchConfig, TrainConfig
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import Device
from vecchess.runtime.signals import StopSignals
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import save_net
from vecchess.store.run_folder import RunFolder
from vecchess.train.distributed.control import has_ended, in_thread
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.publish import latest_net

OPPONENTS = ("random", "greedy")
RANDOM_PLIES = 6
"""Random plies at the start: otherwise deterministic players would repeat one game."""
CANDIDATE = "candidate.safetensors"
BEAT_S = 0.5
LEAVE_S = 5.0
"""A match that was asked to end has so long; after that it is abandoned."""

MustStop = Callable[[], bool]
"""Whether a match has to end early."""


class TrainingMatches:
    """Matches of the newest network against ``OPPONENTS``, and of a candidate against the best.

    The network plays its policy's best move and, where the run searches, once more with search.
    """

    def __init__(
        self, config: TrainConfig, run: RunFolder, ranks: Ranks, device: Device, stop: StopSignals
    ) -> None:
        """``device`` is rank 0's."""
        self._config, self._run, self._ranks, self._device = config, run, ranks, device
        self._stop = stop

    def play(self) -> list[dict[str, Any]]:
        """The facts of each match, on all ranks; none where a stop was requested meanwhile."""
        facts = self._on_rank0(self._play_all)
        return facts["matches"] if facts else []

    def judge(self, candidate: IntegerNet | None, iteration: int) -> dict[str, Any] | None:
        """The facts of the match against the best network, with ``admitted``, on all ranks.

        None where a stop was requested meanwhile. ``candidate`` is needed on rank 0 alone.
        """
        return self._on_rank0(partial(self._play_gate, candidate, iteration))

    def _on_rank0(self, work: Callable[[MustStop], dict[str, Any]]) -> dict[str, Any] | None:
        """The result of ``work``, JSON, on all ranks; None where a stop was requested meanwhile.

        It runs in a thread of rank 0, which is asked to end in that case. Raises what it raised.
        """
        ranks, must_stop = self._ranks, Event()
        future = None
        if ranks.is_main:
            future = in_thread("vecchess-matches", partial(work, must_stop.is_set))
        while not (
            beat := ranks.heartbeat(self._stop.reason, future is None or future.done())
        ).all_done:
            if beat.stop:
                self._stop.request_stop(beat.stop)
                must_stop.set()
            if future is not None:
                has_ended(future, LEAVE_S if beat.stop else BEAT_S)
            if beat.stop:
                return None
        return ranks.broadcast_object(future.result() if future is not None else None)

    def _play_all(self, must_stop: MustStop) -> dict[str, Any]:
        config, net = self._config, f"net:{latest_net(self._run).file}"
        settings = _match_config(config, config.eval_games, config.seed)
        resources = _resources(config, config.eval_games, self._device, networks=1)
        matches = []
        for query in player_queries(config):
            player = open_player(net + query, config.seed, resources)
            for opponent in OPPONENTS:
                other = open_player(opponent, config.seed)
                result = play_match(player, other, settings, lambda _: must_stop())
                names = {"player": player_name(query), "opponent": opponent}
                matches.append(names | _match_facts(result))
        return {"matches": matches}

    def _play_gate(
        self, candidate: IntegerNet | None, iteration: int, must_stop: MustStop
    ) -> dict[str, Any]:
        assert candidate is not None
        config, best = self._config, latest_net(self._run)
        if candidate.sha256 == best.sha256:
            return {"admitted": True, "games": 0}
        file = self._run.path / CANDIDATE
        save_net(candidate, file)
        settings = _match_config(config, config.gate_games, config.seed + iteration)
        settings = settings.model_copy(update={"sprt": config.gate})
        resources = _resources(config, config.gate_games, self._device, networks=2)
        query, seed = player_queries(config)[-1], settings.seed
        new, old = (open_player(f"net:{net}{query}", seed, resources) for net in (file, best.file))
        try:
            result = play_match(new, old, settings, lambda _: must_stop())
        except NoPairFinished:  # a stop was requested: the result is not used
            return {}
        finally:
            file.unlink(missing_ok=True)
        assert result.counter.sprt is not None
        admitted = result.counter.sprt.state == "accepted"
        return {"admitted": admitted, "opponent": best.name} | _match_facts(result)


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


def _resources(config: TrainConfig, games: int, device: Device, networks: int) -> PlayerResources:
    """The share of rank 0's machine that each of ``networks`` networks gets."""
    threads = max(1, num_cores() // networks)
    return PlayerResources(min(DEFAULT_CONCURRENCY, games), device, config.backend, threads)


def _match_facts(result: MatchResult) -> dict[str, Any]:
    left_out = ("schema", "players", "plies_per_s")
    return {name: fact for name, fact in result.to_dict().items() if name not in left_out}
