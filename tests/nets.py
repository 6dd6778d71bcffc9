"""Networks of four time steps, of which positions leave after different numbers of them."""

from pathlib import Path

_ROOT = Path(__file__).parents[1]
FOUR_STEPS = str(_ROOT / "configs" / "nets" / "four-steps.toml")
"""The sizes of ``tiny`` but for the time steps."""
TRAINED = str(_ROOT / "bench" / "learning" / "default-four-steps.safetensors")
"""The network that came along with vecchess once, with its exits."""
