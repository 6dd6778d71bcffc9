"""A observer that remembers, and small networks, for evaluations that are really played."""

from functools import cache

from rich.console import Console

from vecchess.arena.match.play_match import MatchProgress
from vecchess.chess.planes import NUM_PLANES
from vecchess.evaluate.eval_progress import EvalProgress
from vecchess.evaluate.pairing import Pairing, PairResult
from vecchess.runtime.signals import StopSignals
from vecchess.snn.create import create_sized
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import NetConfig

SIZES = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, value_channels=4, time_steps=4)


@cache
def small_net(seed: int) -> IntegerNet:
    """A block of 32 channels, made in less time than a preset."""
    return create_sized(SIZES, seed)


class Onlooker(EvalProgress):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True), quiet=True)
        self.begun: list[tuple[str, str]] = []
        self.looks = 0
        self.counted = 0
        """Games of the pairing that is played."""
        self.recalled: list[bool] = []

    def begin_pairing(self, pairing: Pairing, number: int, total: int) -> None:
        self.begun.append((pairing.first.name, pairing.second.name))
        assert 1 <= number <= total

    def show_match(self, progress: MatchProgress) -> None:
        self.looks += 1
        self.counted = len(progress.counter.games)

    def end_pairing(self, result: PairResult, is_recalled: bool) -> None:
        self.recalled.append(is_recalled)


class Impatient(Onlooker):
    """Asks to stop after so many pairings, or games of one."""

    def __init__(self, stop: StopSignals, pairings: int = 1000, games: int = 1_000_000) -> None:
        super().__init__()
        self._stop, self._pairings, self._games = stop, pairings, games

    def show_match(self, progress: MatchProgress) -> None:
        super().show_match(progress)
        if self.counted >= self._games:
            self._stop.request_stop("enough")

    def end_pairing(self, result: PairResult, is_recalled: bool) -> None:
        super().end_pairing(result, is_recalled)
        if len(self.recalled) >= self._pairings:
            self._stop.request_stop("enough")
