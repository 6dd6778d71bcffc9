"""New networks, ready to play: initialised from a seed, calibrated on positions of random games."""

from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.chess.sample import random_positions
from vecchess.snn.initialise import new_network
from vecchess.snn.integer_net import IntegerNet
from vecchess.snn.presets import preset

CALIBRATION_POSITIONS = 256
CALIBRATION_SEED = 2718281828


def create_network(name: str, seed: int) -> IntegerNet:
    """A network of the preset ``name``; the same bits for the same seed on every machine.

    Raises ConfigError for a name that is not a preset.
    """
    positions = random_positions(CALIBRATION_POSITIONS, CALIBRATION_SEED)
    planes = encode_planes(positions)
    return new_network(preset(name, NUM_PLANES), seed=seed, calibration_planes=planes)
