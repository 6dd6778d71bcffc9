"""A watcher that remembers, and small networks, for evaluations that are really played."""

from functools import cache

from vecchess.arena.match import Standing
from vecchess.chess.planes import NUM_PLANES
from vecchess.evaluate.encounter import Encounter
from vecchess.evaluate.pairing import Pairing
from vecchess.snn.create import create_sized
from vecchess.snn.integer_net import IntegerNet
from vecchess.snn.presets import NetConfig

SIZES = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, value_channels=4)


@cache
def small_net(seed: int) -> IntegerNet:
    """A block of 32 channels, made in less time than a preset."""
    return create_sized(SIZES, seed)


class Onlooker:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str]] = []
        self.looks = 0
        self.counted = 0
        """Games of the pairing that is played."""
        self.recalled: list[bool] = []

    def begin(self, pairing: Pairing, number: int, total: int) -> None:
        self.begun.append((pairing.first.name, pairing.second.name))
        assert 1 <= number <= total

    def update(self, standing: Standing) -> None:
        self.looks += 1
        self.counted = len(standing.tally.games)

    def end(self, encounter: Encounter, is_recalled: bool) -> None:
        self.recalled.append(is_recalled)
