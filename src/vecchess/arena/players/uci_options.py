"""Settings after an engine in the spelling of a player: limits of its thinking, and its options.

uci:stockfish?nodes=1000               so many positions a move
uci:stockfish?elo=1400&movetime=50     limited strength, milliseconds a move
uci:./engine --flag?tc=1+0.01          a clock: 1 s for the game and 0.01 s a move
uci:stockfish?depth=5&Skill Level=3    any option of the engine by its own name
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Self

import chess.engine
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vecchess.errors import ConfigError
from vecchess.runtime.engines.uci_client import ANSWER_TIMEOUT_S

LIMITS = ("nodes", "depth", "movetime", "tc")


class EngineOptions(BaseModel):
    """Limits and options of an engine."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    nodes: Annotated[int, Field(ge=1)] | None = None
    """Positions a move."""
    depth: Annotated[int, Field(ge=1, le=246)] | None = None
    """Plies deep."""
    movetime: Annotated[float, Field(gt=0)] | None = None
    """Milliseconds a move."""
    tc: str | None = None
    """ "base+increment" in seconds; an engine that is late has lost."""
    margin: Annotated[float, Field(ge=0)] = 10.0
    """Milliseconds by which a clock may be overdrawn, for the way to the engine and back."""
    elo: Annotated[int, Field(ge=0)] | None = None
    """UCI_LimitStrength and UCI_Elo."""
    threads: Annotated[int, Field(ge=1)] = 1
    hash: Annotated[int, Field(ge=1)] = 16
    """Threads and Hash (MB) of each process, where the engine knows these options."""
    timeout: Annotated[float, Field(gt=0)] = ANSWER_TIMEOUT_S
    """Seconds without an answer, beyond its time, after which an engine has lost by stalling."""
    other: dict[str, str] = Field(default_factory=dict)
    """Options of the engine by their own names."""

    @field_validator("tc")
    @classmethod
    def _is_a_clock(cls, text: str | None) -> str | None:
        if text is not None:
            _clock(text)
        return text

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if not any(getattr(self, name) is not None for name in LIMITS):
            raise ValueError(f"nothing limits its thinking: give {', '.join(LIMITS)}")
        if self.tc is not None and self.movetime is not None:
            raise ValueError("tc and movetime are two clocks: drop one")
        return self

    @property
    def is_timed(self) -> bool:
        """Whether its moves depend on time, so that no game can be repeated."""
        return self.tc is not None or self.movetime is not None

    @property
    def clock(self) -> tuple[float, float] | None:
        """Seconds for a game and more for each move, None without a clock."""
        return None if self.tc is None else _clock(self.tc)

    def limit(self, left_s: float | None) -> chess.engine.Limit:
        """The limit of one move, with ``left_s`` seconds on the engine's clock.

        Its own clock stands in for the other side's, which is not known here.
        """
        seconds = None if self.movetime is None else self.movetime / 1000
        limit = chess.engine.Limit(time=seconds, depth=self.depth, nodes=self.nodes)
        if left_s is not None and self.clock is not None:
            limit.white_clock = limit.black_clock = max(left_s, 0.001)
            limit.white_inc = limit.black_inc = self.clock[1]
        return limit

    def settings(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Values for an engine with the ``known`` options; raises ConfigError for others."""
        chosen: dict[str, Any] = {"Threads": self.threads, "Hash": self.hash, "UCI_ShowWDL": True}
        chosen = {name: value for name, value in chosen.items() if name in known}
        if self.elo is not None:
            if "UCI_Elo" not in known:
                raise ConfigError("elo: the engine cannot limit its strength (no option UCI_Elo)")
            chosen |= {"UCI_LimitStrength": True, "UCI_Elo": self.elo}
        for name, value in self.other.items():
            near = get_close_matches(name, known, 1)
            if name not in known:
                hint = f'; did you mean "{near[0]}"?' if near else ""
                ours = ", ".join([*LIMITS, "elo", "threads", "hash", "margin", "timeout"])
                raise ConfigError(f'neither {ours} nor the engine has an option "{name}"{hint}')
            chosen[name] = value
        return chosen


def _clock(text: str) -> tuple[float, float]:
    base, _, increment = text.replace(" ", "+").partition("+")
    try:
        found = float(base), float(increment or 0)
    except ValueError:
        raise ValueError(f'"{text}" is not BASE+INCREMENT in seconds') from None
    if not (0 < found[0] < 1e6 and 0 <= found[1] < 1e6):
        raise ValueError(f'"{text}": the base must be above 0 s, the increment 0 s or more')
    return found
