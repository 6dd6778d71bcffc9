"""Matches that all ranks play during training: progress matches, and the gate's.

Progress matches are against players that never change, and show whether the run gets stronger. The
gate publishes a candidate when a match accepts that it is stronger than the best network so far, as
in AlphaGo Zero (Silver et al. 2017) and KataGo's gatekeeper, with a sequential test in place of a
fixed score. Learning goes on from the candidate's weights either way (decision 140).

Each rank plays a share of a match's pairs on its own device: pair p is played by rank p modulo the
number of ranks. Twice a second the ranks exchange the games that ended, and all count them in the
order of their numbers (``PairCounter``): so the result, and the decision of a sequential test,
depend on the games alone, not on how many ranks play them (decision 226).
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import numpy as np

from vecchess.arena.match.pair_counter import PairCounter
from vecchess.arena.match.play_match import (
    DEFAULT_CONCURRENCY,
    MatchResult,
    match_result,
    play_games,
)
from vecchess.arena.match.run_match import open_players
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import Player
from vecchess.arena.players.player_registry import NET, SEARCH_SETTINGS, PlayerResources
from vecchess.arena.ratings.sprt import Sprt
from vecchess.config import MatchConfig, TrainConfig
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.source import find
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import Device
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.worker.networks import latest_net, save_playable
from vecchess.spec import Spec
from vecchess.store.metrics import ZERO_ELO
from vecchess.store.run_folder import RunFolder
from vecchess.train.distributed.control import has_ended, in_thread
from vecchess.train.distributed.ranks import Ranks

OPPONENTS = (ZERO_ELO, "greedy")
RANDOM_PLIES = 6
"""Random plies at the start: otherwise deterministic players would repeat one game."""
CANDIDATE = "candidate.safetensors"
BEAT_S = 0.5
LEAVE_S = 5.0
"""A match that was asked to end has so long; after that it is abandoned."""
MOST_GAMES = 256
"""Games that a rank sends at a time."""

OpenPlayers = Callable[[], AbstractContextManager[Sequence[Player]]]


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
        for name, how in own_players(config).items():
            for opponent in OPPONENTS:
                result = self._play_match(settings, self._player(net, how), opponent, networks=1)
                if result is None:
                    return []
                names = {"player": name, "opponent": opponent}
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
        how = [*own_players(config).values()][-1]
        new, old = (self._player(net, how) for net in (file, best.file))
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

    def _player(self, file: Path, settings: dict[str, str]) -> str:
        """The spelling of a network of the run that plays with settings of ``own_players``."""
        net = find(self._config.net).with_weights_of(file).spec
        return str(Spec(NET + net.head, net.settings | settings))

    def _play_match(
        self, settings: MatchConfig, first: str, second: str, networks: int
    ) -> MatchResult | None:
        """A match between two players by their spellings, ``networks`` of which are networks."""
        resources = self._resources(settings.games, networks)
        opening = partial(open_players, [first, second], settings.seed, resources)
        return SharedMatch(settings, opening, self._ranks, self._stop).play()

    def _resources(self, games: int, networks: int) -> PlayerResources:
        """The share of this rank's machine that each of ``networks`` networks gets."""
        ranks_here = self._ranks.world_size // self._ranks.num_nodes
        threads = max(1, num_cores() // (networks * ranks_here))
        most = min(DEFAULT_CONCURRENCY, games)
        return PlayerResources(most, self._device, self._config.backend, threads)


def own_players(config: TrainConfig) -> dict[str, dict[str, str]]:
    """The settings with which the run's network plays, by the player's name: "policy", and
    "gumbel 16" if the run searches. ``exits``, and settings of the search that are not training's
    defaults, hold in matches too."""
    tree, usual = config.tree, TrainConfig().tree
    timed = {} if config.exits else {"exits": "off"}
    players = {"policy": timed}
    if tree.search != "none":
        given = {
            name: str(getattr(tree, name))
            for name in SEARCH_SETTINGS
            if name != "cache_mb" and getattr(tree, name) != getattr(usual, name)
        }
        asked = {"search": tree.search, "sims": str(tree.sims)}
        players[f"{tree.search} {tree.sims}"] = timed | given | asked
    return players


def _match_config(config: TrainConfig, games: int, seed: int) -> MatchConfig:
    chess960 = config.game.chess960
    return MatchConfig(games=games, seed=seed, random_plies=RANDOM_PLIES, chess960=chess960)


def _match_facts(result: MatchResult) -> dict[str, Any]:
    left_out = ("schema", "players", "plies_per_s")
    return {name: fact for name, fact in result.to_dict().items() if name not in left_out}


class SharedMatch:
    """One rank's part of a match. All ranks make it and call ``play``."""

    def __init__(
        self, config: MatchConfig, open_players: OpenPlayers, ranks: Ranks, stop: StopSignals
    ) -> None:
        """``open_players`` is called in a thread; the same players on every rank."""
        self._config, self._open_players = config, open_players
        self._ranks, self._stop = ranks, stop
        self._must_end = Event()
        self._ended: deque[MatchGame] = deque()
        """Games that the other ranks do not know yet."""
        self._counter = PairCounter(Sprt.parse(config.sprt) if config.sprt else None)

    def play(self) -> MatchResult | None:
        """The result, the same on all ranks; None where a stop was requested meanwhile.

        Raises what a player raises.
        """
        start, own = monotonic(), in_thread("vecchess-match", self._play_share)
        while True:
            is_done = has_ended(own, BEAT_S)
            if is_done:
                own.result()
            parts = self._ranks.gather_object(self._news(is_done))
            for part in parts:
                self._counter.add(map(_unpacked, part["games"]))
            if stopped := [part["stop"] for part in parts if part["stop"]]:
                self._stop.request_stop(stopped[0])
                self._must_end.set()
                has_ended(own, LEAVE_S)
                return None
            if self._counter.is_decided:
                self._must_end.set()
            if all(part["is_done"] for part in parts):
                break
        names, plies = own.result()
        stopped_by = "sprt" if self._counter.is_decided else "games"
        return match_result(names, self._counter, stopped_by, plies, monotonic() - start)

    def _news(self, is_done: bool) -> dict[str, Any]:
        """What this rank tells the others; it is done when all its games are told."""
        games = [_packed(self._ended.popleft()) for _ in range(min(MOST_GAMES, len(self._ended)))]
        is_done = is_done and not self._ended
        return {"games": games, "is_done": is_done, "stop": self._stop.reason}

    def _play_share(self) -> tuple[tuple[str, str], int]:
        """Play this rank's games; the players' names, and the plies."""

        def must_end(ended: list[MatchGame], plies: int) -> bool:
            self._ended.extend(ended)
            return self._must_end.is_set()

        pairs = range(self._ranks.rank, self._config.games // 2, self._ranks.world_size)
        numbers = [number for pair in pairs for number in (2 * pair, 2 * pair + 1)]
        with self._open_players() as (first, second):
            plies = play_games(first, second, self._config, numbers, must_end) if numbers else 0
            return (first.name, second.name), plies


def _packed(game: MatchGame) -> dict[str, Any]:
    """A game as JSON values, without the values and visits of its moves."""
    arrays = {"start": game.start.tolist(), "moves": game.moves.tolist()}
    return vars(game) | {"values": None, "visits": None} | arrays


def _unpacked(values: dict[str, Any]) -> MatchGame:
    """The inverse of ``_packed``."""
    start, moves = np.array(values["start"], np.uint64), np.array(values["moves"], np.uint16)
    none = {"values": np.empty(0, np.float32), "visits": np.empty(0, np.int32)}
    return MatchGame(**(values | none | {"start": start, "moves": moves}))
