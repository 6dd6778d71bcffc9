"""Matches of a run's newest network against players that never change: whether it gets stronger.

The network plays its policy's best move, and, where the run searches, once more as it searches.
"""

from threading import Event, Thread
from typing import Any

from vecchess.arena.match import LANES, play_match
from vecchess.arena.players import Room, open_player
from vecchess.config import MatchConfig, TrainConfig
from vecchess.learn.publish import latest
from vecchess.learn.ranks import Ranks
from vecchess.selfplay.devices import Device, num_cores
from vecchess.selfplay.stop_signals import StopSignals
from vecchess.store.run_folder import RunFolder

OPPONENTS = ("random", "greedy")
RANDOM_PLIES = 6
"""Openings that all differ, for players that would repeat themselves."""
BEAT_S = 0.5


class Matches:
    """Plays them, on rank 0, while the others wait."""

    def __init__(self, config: TrainConfig, run: RunFolder, ranks: Ranks, device: Device) -> None:
        """``device`` is rank 0's."""
        self._config, self._run, self._ranks, self._device = config, run, ranks, device
        self._left = Event()

    def play(self, stop: StopSignals) -> list[dict[str, Any]]:
        """What each match came to, on all ranks; nothing where somebody asks to stop meanwhile."""
        found: list[dict[str, Any]] = []
        failures: list[BaseException] = []

        def work() -> None:
            try:
                found.extend(self._all())
            except BaseException as error:
                failures.append(error)

        thread = Thread(target=work, name="vecchess-match", daemon=True)
        if self._ranks.is_first:
            thread.start()
        while not (beat := self._ranks.beat(stop.reason, not thread.is_alive())).all_done:
            if beat.stop:
                stop.ask(beat.stop)
                self._left.set()
                return []
            if self._ranks.is_first:
                thread.join(BEAT_S)
        if failures:
            raise failures[0]
        told: list[dict[str, Any]] = self._ranks.broadcast_object({"matches": found})["matches"]
        return told

    def _all(self) -> list[dict[str, Any]]:
        config, net = self._config, f"net:{latest(self._run).file}"
        queries = [""]
        if config.tree.search != "none":
            queries.append(f"?search={config.tree.search}&sims={config.tree.sims}")
        settings = MatchConfig(games=config.eval_games, seed=config.seed, random_plies=RANDOM_PLIES)
        room = Room(min(LANES, config.eval_games), self._device, threads=num_cores())
        found = []
        for query in queries:
            player = open_player(net + query, config.seed, room)
            for opponent in OPPONENTS:
                other = open_player(opponent, config.seed)
                result = play_match(player, other, settings, lambda _: self._left.is_set())
                facts = result.to_dict()
                del facts["schema"], facts["players"]
                found.append({"player": _name(query), "opponent": opponent} | facts)
        return found


def _name(query: str) -> str:
    """ "policy", or "gumbel 16"."""
    if not query:
        return "policy"
    search, _, sims = query.removeprefix("?search=").partition("&sims=")
    return f"{search} {sims}"
