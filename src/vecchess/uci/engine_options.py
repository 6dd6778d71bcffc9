"""The options a GUI can set, by the names they have in Stockfish and lc0."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from vecchess import __version__
from vecchess.config import DEFAULT_NET, UciConfig, build
from vecchess.errors import ConfigError

ABOUT = f"vecchess {__version__}: chess with spiking neural networks; GPL-3.0-or-later"
EMPTY = "<empty>"
"""How UCI writes a string without characters."""
SHIPPED_NET = f"<{DEFAULT_NET}>"
"""How the network ``DEFAULT_NET`` is written: chess programs take the bare word for the keyword of
an option line."""
CLEAR_HASH = "Clear Hash"
_ABOUT_NAME = "UCI_EngineAbout"


@dataclass(frozen=True)
class Option:
    """An option: its name, its UCI type, and the field of ``UciConfig`` it sets."""

    name: str
    kind: Literal["check", "spin", "string", "combo", "button"]
    field: str = ""

    def line(self, config: UciConfig) -> str:
        """``option name ...`` with the value of ``config`` as default."""
        line = f"option name {self.name} type {self.kind}"
        if self.kind == "button":
            return line
        value = getattr(config, self.field) if self.field else ABOUT
        line += f" default {_written(value)}"
        if self.kind == "spin":
            least, most = self.limits()
            line += f" min {least} max {most}"
        elif self.kind == "combo":
            line += "".join(f" var {choice}" for choice in self.choices())
        return line

    def limits(self) -> tuple[int, int]:
        """Least and largest value of a spin."""
        facts = UciConfig.model_fields[self.field].metadata
        least = next(fact.ge for fact in facts if hasattr(fact, "ge"))
        most = next(fact.le for fact in facts if hasattr(fact, "le"))
        return int(least), int(most)

    def choices(self) -> tuple[str, ...]:
        """Values of a combo."""
        return get_args(UciConfig.model_fields[self.field].annotation)

    def read(self, text: str) -> str | None:
        """The value of a GUI's text, yet to be validated; None for an empty one."""
        if self.kind == "combo":
            return next((one for one in self.choices() if one.lower() == text.lower()), text)
        if self.kind == "check":
            return text.lower()
        if text == SHIPPED_NET:
            return DEFAULT_NET
        return None if text in ("", EMPTY) else text


OPTIONS = (
    Option("Threads", "spin", "threads"),
    Option("Hash", "spin", "hash_mb"),
    Option(CLEAR_HASH, "button"),
    Option("Ponder", "check", "ponder"),
    Option("MultiPV", "spin", "multipv"),
    Option("Move Overhead", "spin", "move_overhead_ms"),
    Option("UCI_Chess960", "check", "chess960"),
    Option("UCI_AnalyseMode", "check", "analyse_mode"),
    Option("UCI_LimitStrength", "check", "limit_strength"),
    Option("UCI_Elo", "spin", "elo"),
    Option("UCI_ShowWDL", "check", "show_wdl"),
    Option(_ABOUT_NAME, "string"),
    Option("SyzygyPath", "string", "syzygy"),
    Option("WeightsFile", "string", "net"),
    Option("Backend", "combo", "backend"),
    Option("EarlyExit", "check", "exits"),
    Option("MinibatchSize", "spin", "lanes"),
    Option("Search", "combo", "search"),
    Option("CPuct", "string", "c_puct"),
    Option("CPuctBase", "string", "c_puct_base"),
    Option("CPuctFactor", "string", "c_puct_factor"),
    Option("FpuValue", "string", "fpu_reduction"),
    Option("FpuValueAtRoot", "string", "root_fpu_reduction"),
    Option("PolicyTemperature", "string", "policy_temperature"),
    Option("DrawScore", "string", "draw_score"),
    Option("ScoreType", "combo", "score_type"),
)
_BY_NAME = {option.name.lower(): option for option in OPTIONS}


class Options:
    """The present values of the options. A search keeps the ``config`` it began with."""

    def __init__(self, config: UciConfig) -> None:
        """``config``: the defaults."""
        self.config = config

    def lines(self) -> list[str]:
        """One ``option`` line each."""
        return [option.line(self.config) for option in OPTIONS]

    def set(self, name: str, text: str) -> Option:
        """Give the option called ``name`` the value written as ``text``; returns the option.

        Raises KeyError where there is none of that name, and ConfigError, naming the option, for a
        wrong value; then nothing changes.
        """
        option = _BY_NAME[name.lower()]
        if option.kind == "button":
            return option
        try:
            self.config = self._with(option, text)
        except ConfigError as error:
            raise ConfigError(f"{option.name} {str(error).strip()}") from None
        return option

    def _with(self, option: Option, text: str) -> UciConfig:
        if not option.field:
            raise ConfigError("can be read, not set")
        value = option.read(text)
        if value is None and option.field != "syzygy":
            raise ConfigError("takes a value")
        values = self.config.model_dump() | {option.field: value}
        return build(UciConfig, values, lambda path: "")


def _written(value: Any) -> str:
    if value is None:
        return EMPTY
    if value == DEFAULT_NET:
        return SHIPPED_NET
    return str(value).lower() if isinstance(value, bool) else str(value)
