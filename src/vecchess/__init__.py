"""vecchess: self-play server, trainer and engine for chess with spiking neural networks."""

__version__ = "0.1.0"
