"""How a module is named: its factory, or a registered name, and the settings of that.

    module:package.module:make
    module:package.module:make?channels=64&weights=runs/a/nets/0123456789abcdef.safetensors
    module:NAME?channels=64            a name that an installed package registers

Packages register names by the entry point group ``vecchess.networks``:

    [project.entry-points."vecchess.networks"]
    NAME = "package.module:make"

Some settings are vecchess's, all others are keyword arguments of the factory:

    weights=FILE      a safetensors file with the module's state dict
    chunk=N           positions computed at a time
    precision=bf16    time steps under bfloat16 autocast where the module plays
    compile=yes       time steps by torch.compile where the module plays
"""

from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Self

from vecchess.errors import ConfigError
from vecchess.spec import Spec, is_function

MODULE = "module:"
GROUP = "vecchess.networks"
WEIGHTS, CHUNK, PRECISION, COMPILE = "weights", "chunk", "precision", "compile"
MOST_CHUNK = 4096
PRECISIONS, ANSWERS = ("fp32", "bf16"), ("no", "yes")
"""What PRECISION and COMPILE may be, the default first."""


@dataclass(frozen=True)
class ModuleSpec:
    """A module by its factory, with everything that follows it."""

    name: str
    """The factory, "package.module:make", or a name that is registered."""
    settings: tuple[tuple[str, str], ...] = ()
    """Keyword arguments of the factory, in the order of their names."""
    weights: Path | None = None
    """Weights that the module gets; None: those that the factory makes."""
    chunk: int | None = None
    """Positions computed at a time; None: as many as suit the device."""
    precision: str = "fp32"
    """One of PRECISIONS, of the time steps where the module plays; "bf16": under autocast."""
    is_compiled: bool = False
    """Whether time steps are compiled where the module plays."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The module that ``text`` names; raises ConfigError where it is not understood."""
        spec = Spec.parse(text)
        name = spec.head.removeprefix(MODULE)
        if not name or (":" in name and not is_function(name)):
            raise ConfigError(f"{text}: write module:package.module:make, or module:NAME")
        own, factory = spec.split((WEIGHTS, CHUNK, PRECISION, COMPILE))
        for key in factory.settings:
            if not key.isidentifier():
                raise ConfigError(f"{text}: {key!r} cannot be a keyword argument of {name}")
        return cls(
            name,
            tuple(sorted(factory.settings.items())),
            Path(own[WEIGHTS]) if WEIGHTS in own else None,
            spec.whole_number(CHUNK, 1, MOST_CHUNK),
            spec.choice(PRECISION, PRECISIONS),
            spec.choice(COMPILE, ANSWERS) == "yes",
        )

    def __str__(self) -> str:
        """The text that ``parse`` reads, the same for equal ones."""
        given = {
            CHUNK: self.chunk,
            PRECISION: None if self.precision == "fp32" else self.precision,
            COMPILE: "yes" if self.is_compiled else None,
            WEIGHTS: self.weights,
        }
        own = {name: str(value) for name, value in given.items() if value is not None}
        return str(Spec(f"{MODULE}{self.name}", dict(self.settings) | own))

    def with_weights(self, weights: Path | None) -> Self:
        """This module with the weights of another file."""
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
