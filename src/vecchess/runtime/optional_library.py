"""Libraries that vecchess does without, unless a user asks for what needs them."""

from vecchess.errors import ConfigError


def missing_library(library: str, extra: str, otherwise: str = "") -> ConfigError:
    """The error of a library that is not installed: ``extra`` has it, ``otherwise`` is what else
    may help."""
    return ConfigError(f"{library} is not installed: pip install 'vecchess[{extra}]'{otherwise}")
