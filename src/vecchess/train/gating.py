"""The gate: a candidate is published when a match accepts that it is stronger than the best so far.

As AlphaGo Zero (Silver et al. 2017) and KataGo's gatekeeper do it, with a sequential test in place
of a fixed score. Learning goes on from the candidate's weights either way.
"""

from typing import Any

from vecchess.arena.match.play_match import NoPairFinished, play_match
from vecchess.arena.players.player_registry import open_player
from vecchess.config import TrainConfig
from vecchess.runtime.devices import Device
from vecchess.runtime.signals import StopSignals
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import save_net
from vecchess.store.run_folder import RunFolder
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.progress_matches import facts_of, match_settings, queries, room_for
from vecchess.train.publish import latest_net
from vecchess.train.rank0_task import MustStop, run_on_rank0

CANDIDATE = "candidate.safetensors"


class Gate:
    """Lets candidates through, or not: rank 0 plays, the others wait."""

    def __init__(self, config: TrainConfig, run: RunFolder, ranks: Ranks, device: Device) -> None:
        """``device`` is rank 0's."""
        self._config, self._run, self._ranks, self._device = config, run, ranks, device

    def judge(
        self, candidate: IntegerNet | None, iteration: int, stop: StopSignals
    ) -> dict[str, Any] | None:
        """What the match against the best network came to, on all ranks, with ``admitted``.

        None where somebody asked to stop meanwhile. ``candidate`` is looked at on rank 0 alone.
        """

        def work(must_stop: MustStop) -> dict[str, Any]:
            assert candidate is not None
            return self._play(candidate, iteration, must_stop)

        return run_on_rank0(self._ranks, stop, work)

    def _play(self, candidate: IntegerNet, iteration: int, must_stop: MustStop) -> dict[str, Any]:
        config, best = self._config, latest_net(self._run)
        if candidate.sha256 == best.sha256:
            return {"admitted": True, "games": 0}
        file = self._run.path / CANDIDATE
        save_net(candidate, file)
        settings = match_settings(config, config.gate_games, config.seed + iteration)
        settings = settings.model_copy(update={"sprt": config.gate})
        room = room_for(config, config.gate_games, self._device, networks=2)
        query, seed = queries(config)[-1], settings.seed
        new, old = (open_player(f"net:{net}{query}", seed, room) for net in (file, best.file))
        try:
            result = play_match(new, old, settings, lambda _: must_stop())
        except NoPairFinished:  # asked to stop: nobody waits for an answer
            return {}
        finally:
            file.unlink(missing_ok=True)
        assert result.counter.sprt is not None
        admitted = result.counter.sprt.state == "accepted"
        return {"admitted": admitted, "opponent": best.name} | facts_of(result)
