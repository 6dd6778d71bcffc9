"""How a module is named: its factory, or a registered name, and the settings of that.

    module:package.module:make
    module:package.module:make?channels=64&weights=runs/a/nets/0123456789abcdef.safetensors
    module:NAME?channels=64            a name that an installed package registers

Packages register names by the entry point group ``vecchess.networks``:

    [project.entry-points."vecchess.networks"]
    NAME = "package.module:make"

Values are texts, in the escapes of an URL where they hold "&" or "%". Some settings are vecchess's,
all others are keyword arguments of the factory:

    weights=FILE      a safetensors file with the module's state dict
    chunk=N           positions computed at a time
    precision=bf16    time steps under bfloat16 autocast where the module plays
    compile=yes       time steps by torch.compile where the module plays
"""

import re
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal, Self, get_args
from urllib.parse import quote, unquote

from vecchess.errors import ConfigError

MODULE = "module:"
GROUP = "vecchess.networks"
WEIGHTS, CHUNK, PRECISION, COMPILE = "weights", "chunk", "precision", "compile"
MOST_CHUNK = 4096
Precision = Literal["fp32", "bf16"]
ANSWERS = {"yes": True, "no": False}
_FACTORY = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


def is_module(net: str) -> bool:
    """Whether ``net`` is spelled as a module; nothing is imported."""
    return net.startswith(MODULE)


@dataclass(frozen=True)
class ModuleSpelling:
    """What ``module:...`` says."""

    name: str
    """Of the factory, "package.module:make", or one that is registered."""
    settings: tuple[tuple[str, str], ...] = ()
    """Keyword arguments of the factory, in the order of their names."""
    weights: Path | None = None
    """Weights that the module gets; None: those that the factory makes."""
    chunk: int | None = None
    """Positions computed at a time; None: as many as suit the device."""
    precision: Precision = "fp32"
    """Of the time steps where the module plays; "bf16": under autocast."""
    is_compiled: bool = False
    """Whether time steps are compiled where the module plays."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """What ``text`` says; raises ConfigError where it is not understood."""
        name, _, query = text.removeprefix(MODULE).partition("?")
        settings: dict[str, str] = {}
        for pair in query.split("&") if query else []:
            key, equals, value = pair.partition("=")
            if not equals or not key.isidentifier() or key in settings:
                raise ConfigError(f"{text}: {key or pair!r}: give key=value, each key once")
            settings[key] = unquote(value)
        if not name or (":" in name and _FACTORY.fullmatch(name) is None):
            raise ConfigError(f"{text}: write module:package.module:make, or module:NAME")
        weights, chunk = settings.pop(WEIGHTS, None), settings.pop(CHUNK, None)
        precision, is_compiled = settings.pop(PRECISION, "fp32"), settings.pop(COMPILE, "no")
        return cls(
            name,
            tuple(sorted(settings.items())),
            None if weights is None else Path(weights),
            None if chunk is None else _chunk_of(chunk, text),
            _precision_of(precision, text),
            _is_yes(is_compiled, text),
        )

    def __str__(self) -> str:
        """The spelling, the same for equal ones."""
        pairs = list(self.settings)
        if self.chunk is not None:
            pairs.append((CHUNK, str(self.chunk)))
        if self.precision != "fp32":
            pairs.append((PRECISION, self.precision))
        if self.is_compiled:
            pairs.append((COMPILE, "yes"))
        if self.weights is not None:
            pairs.append((WEIGHTS, str(self.weights)))
        query = "&".join(f"{key}={quote(value, safe='/:,.')}" for key, value in pairs)
        return f"{MODULE}{self.name}" + (f"?{query}" if query else "")

    def with_weights(self, weights: Path | None) -> Self:
        """The same module with the weights of another file."""
        return replace(self, weights=weights)

    @property
    def factory(self) -> str:
        """``package.module:make``, looked up among the registered names where it is one of them.

        Raises ConfigError for a name that no package registers, or several do.
        """
        if ":" in self.name:
            return self.name
        found = [point for point in entry_points(group=GROUP) if point.name == self.name]
        if len(found) == 1:
            return found[0].value
        if found:
            packages = ", ".join(sorted(point.value for point in found))
            raise ConfigError(f"{MODULE}{self.name}: several packages register it: {packages}")
        names = ", ".join(sorted({point.name for point in entry_points(group=GROUP)})) or "none"
        raise ConfigError(
            f"{MODULE}{self.name}: no installed package registers a network of that name (there: "
            f"{names}); write module:package.module:make"
        )


def _chunk_of(text: str, spelling: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_CHUNK:
        raise ConfigError(f"{spelling}: {CHUNK} should be a number from 1 to {MOST_CHUNK}")
    return int(text)


def _precision_of(text: str, spelling: str) -> Precision:
    for precision in get_args(Precision):
        if text == precision:
            found: Precision = precision
            return found
    raise ConfigError(f"{spelling}: {PRECISION} should be {' or '.join(get_args(Precision))}")


def _is_yes(text: str, spelling: str) -> bool:
    if text not in ANSWERS:
        raise ConfigError(f"{spelling}: {COMPILE} should be yes or no")
    return ANSWERS[text]
