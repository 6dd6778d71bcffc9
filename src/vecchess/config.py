"""Configuration: frozen models, filled from flags, the environment, a TOML file and defaults.

The order is flag > ``VECCHESS_*`` variable > TOML > default. An unknown key is an error that
names the nearest known one. Units are part of the names.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vecchess.errors import ConfigError
from vecchess.shapes import MAX_MOVES

ENV_PREFIX = "VECCHESS_"
OTHER_VARIABLES = ("VECCHESS_REQUIRE_STOCKFISH",)
"""Variables with our prefix that are no settings: the tests read this one."""
MOST_HALVING = 1 << 25
"""Entries of the table of sequential halving."""
ModelT = TypeVar("ModelT", bound=BaseModel)


class GameConfig(BaseModel):
    """What decides the moves of a game, besides the seed, the game's number and the network."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: str = "1.0"
    """Sampling temperature, with changes by ply: "1.0,30:0.5" is 1.0, from ply 30 on 0.5."""
    openings: Path | None = None
    """File of start positions: EPD or FEN, one a line, or PGN (the end of each game's moves)."""
    chess960: bool = False
    """Start each game from one of the 960 positions."""
    random_plies: Annotated[int, Field(ge=0, le=60)] = 0
    """Uniformly random plies before the network takes over."""
    max_plies: Annotated[int, Field(ge=1, le=8192)] = 512
    """Games still going after so many plies are drawn, and counted as such."""
    resign_below: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Resign when win + draw / 2 stays below this; 0 plays on to the end."""
    resign_turns: Annotated[int, Field(ge=1, le=100)] = 2
    """Own turns in a row for which it has to stay below."""
    resign_playthrough: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Fraction of the games played to the end all the same, to count wrong resignations."""
    adjudicate_draw_within: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Adjudicate a draw when |win - loss| stays within this; 0 never adjudicates."""
    adjudicate_draw_plies: Annotated[int, Field(ge=1, le=200)] = 40
    """Plies in a row for which it has to stay within."""

    @model_validator(mode="after")
    def _start_is_unique(self) -> Self:
        parse_temperature(self.temperature)
        if self.chess960 and self.openings is not None:
            raise ValueError("openings and chess960 both choose the start position: drop one")
        if self.random_plies >= self.max_plies:
            raise ValueError(f"random_plies must be below max_plies = {self.max_plies}")
        return self


class TreeConfig(BaseModel):
    """How a move is searched. Simulations are counted below the root, those kept included."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    search: Literal["none", "gumbel", "puct"] = "none"
    """"none" draws the move from the network's policy; "gumbel" suits few simulations
    (Danihelka et al. 2022), "puct" many (AlphaZero, lc0, KataGo)."""
    sims: Annotated[int, Field(ge=1, le=1 << 24)] = 32
    """Simulations of a full search."""
    fast_sims: Annotated[int, Field(ge=0, le=1 << 24)] = 0
    """Simulations of a fast search, which gives no policy target."""
    full_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the searches that are full, the others being fast (playout cap randomisation, Wu
    2019)."""
    considered: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 16
    """Gumbel: moves considered at the root, at most."""
    c_visit: Annotated[float, Field(ge=0, le=1e6)] = 50.0
    """Gumbel: added to the visits of the most visited move, to weigh values against priors."""
    c_scale: Annotated[float, Field(gt=0, le=1e3)] = 1.0
    """Gumbel: weight of values against log priors."""
    c_puct: Annotated[float, Field(ge=0, le=1e6)] = 1.745
    """PUCT: weight of the exploration term at the start."""
    c_puct_base: Annotated[float, Field(ge=1, le=1e12)] = 38739.0
    """PUCT: visits at which that weight begins to grow."""
    c_puct_factor: Annotated[float, Field(ge=0, le=1e6)] = 3.894
    """PUCT: how much it grows, times log((visits + base) / base)."""
    fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = 0.33
    """PUCT: value of an unvisited move below its parent's, times the root of the visited prior."""
    root_fpu_reduction: Annotated[float, Field(ge=0, le=1e3)] = 0.1
    """PUCT: the same at the root."""
    policy_temperature: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    """Softmax temperature of the network's policy as prior."""
    noise_fraction: Annotated[float, Field(ge=0, le=1)] = 0.25
    """PUCT: share of Dirichlet noise in the priors of the root of a full search."""
    noise_concentration: Annotated[float, Field(ge=0.01, le=1e6)] = 10.0
    """PUCT: total concentration of that noise, shared out among the legal moves."""
    forced_playouts: Annotated[float, Field(ge=0, le=1e3)] = 2.0
    """PUCT: k of forced playouts in full searches, pruned from the target (Wu 2019); 0: none."""
    reuse: bool = True
    """PUCT: keep the part of the tree below the move that was played."""
    solve: bool = True
    """Prove wins and losses that follow from mates and tablebases."""
    see_mates: bool = True
    """With ``solve``: look for a mate in one before the network is asked."""
    draw_score: Annotated[float, Field(ge=-1, le=1)] = 0.0
    """What a draw is worth to the side that searches: below 0 avoids draws."""
    cache_mb: Annotated[int, Field(ge=0, le=1 << 22)] = 64
    """Size of the process's cache of evaluations, in MB; 0: none."""
    tree_mb: Annotated[int, Field(ge=0, le=1 << 22)] = 0
    """Most memory for the trees of a process, in MB; 0: what the machine has. Games that may need
    more are refused; a single tree, in analysis, stops growing there."""
    syzygy: Path | None = None
    """Folder of Syzygy tablebases, which are asked after captures and pawn moves."""

    @model_validator(mode="after")
    def _fast_is_faster(self) -> Self:
        if self.full_share < 1 and not 1 <= self.fast_sims < self.sims:
            raise ValueError(
                f"full_share below 1 needs fast_sims from 1 to {self.sims - 1}, below sims"
            )
        if self.fast_sims and self.full_share == 1:
            raise ValueError("fast_sims needs full_share below 1: no search is fast")
        return self

    @model_validator(mode="after")
    def _is_of_use(self) -> Self:
        if self.search == "none":
            for name, field in type(self).model_fields.items():
                if getattr(self, name) != field.default:
                    raise ValueError(f'{name} needs a search: "gumbel" or "puct", not "none"')
        if self.search == "gumbel" and self.considered * self.sims > MOST_HALVING:
            raise ValueError(f"gumbel takes considered * sims up to {MOST_HALVING:,}")
        return self


class SelfplayConfig(BaseModel):
    """Everything ``vecchess selfplay`` can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    games: Annotated[int, Field(ge=1)] = 64
    """Games to play in all; they are numbered from 0."""
    net: str = "tiny"
    """A network file, a preset or a TOML file of sizes (a new network is made from the seed), or
    "constant"."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of every random choice."""
    gpus: str = "auto"
    """Devices: "auto", "all", "0-7", "0,2,5", GPU UUIDs, "cpu" or "cpu:4"."""
    slots: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Positions the network holds at a time, per worker; 0 chooses by device and network."""
    concurrent_games: Annotated[int, Field(ge=0, le=1 << 22)] = 0
    """Games in progress per worker; 0 takes twice the slots."""
    movers: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads that make moves, per worker; 0 chooses by the number of cores."""
    backend: Literal["auto", "cpu", "cuda", "torch", "reference"] = "auto"
    """How the network is computed: "auto" takes "cpu" on a processor and "cuda" on a GPU, or
    "torch" on one that cannot run our kernels; "reference" is slow and obviously right."""
    exits: bool = True
    """Let a position leave the network as soon as its answer is settled."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend, per worker; 0 shares the cores out among the workers."""
    shard_games: Annotated[int, Field(ge=1, le=1 << 20)] = 1024
    """A worker writes a shard once so many games are finished; it may hold a few more."""
    shard_interval_s: Annotated[float, Field(gt=0)] = 30.0
    """Longest time a finished game waits to be written."""
    stall_timeout_s: Annotated[float, Field(gt=0)] = 60.0
    """A worker silent for so long is replaced."""
    game: GameConfig = Field(default_factory=GameConfig)
    """What decides the moves."""
    tree: TreeConfig = Field(default_factory=TreeConfig)
    """How moves are searched."""


class AnalysisTree(TreeConfig):
    """How a position is searched for its own sake: always, and with more simulations."""

    search: Literal["puct", "gumbel"] = "puct"
    """As in self-play, without noise."""
    sims: Annotated[int, Field(ge=1, le=1 << 24)] = 800
    """Simulations."""


class AnalyseConfig(BaseModel):
    """Everything ``vecchess analyse`` can be told, besides the position."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    net: str = "material"
    """A network file, a preset or a TOML file of sizes (a new network is made from the seed),
    "constant" or "material", which counts men."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    """Longest time to search; 0: until the simulations are done."""
    multipv: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 3
    """Lines to show, at most."""
    lanes: Annotated[int, Field(ge=0, le=1024)] = 0
    """Questions open at a time; 0 takes one for each 100 simulations, from 1 to 32."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of a new network."""
    gpus: str = "auto"
    """Device, as for self-play; of several the first."""
    backend: Literal["auto", "cpu", "cuda", "torch", "reference"] = "auto"
    """How the network is computed, as for self-play."""
    exits: bool = True
    """Let a position leave the network as soon as its answer is settled."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Threads of the CPU backend; 0 takes one for each core."""
    chess960: bool = False
    """Write castling as king takes rook, as is done of itself where standard chess cannot."""
    tree: AnalysisTree = Field(default_factory=AnalysisTree)
    """How the position is searched."""


MODELS: tuple[type[BaseModel], ...] = (SelfplayConfig, AnalyseConfig)
"""All models that commands fill with ``load_config``: together they say which variables exist."""


def parse_temperature(text: str) -> list[tuple[int, float]]:
    """Read "1.0,30:0.5" as [(0, 1.0), (30, 0.5)]: (from this ply on, temperature) in order.

    Raises ValueError with a one-line reason.
    """
    schedule: list[tuple[int, float]] = []
    for number, part in enumerate(text.split(",")):
        ply_text, colon, value_text = part.rpartition(":")
        try:
            ply = int(ply_text) if colon else 0
            value = float(value_text)
        except ValueError:
            raise ValueError(
                f'temperature "{text}": "{part}" is not TEMPERATURE or PLY:TEMPERATURE'
            ) from None
        if not 0 <= value <= 100:
            raise ValueError(f'temperature "{text}": {value_text} is not between 0 and 100')
        if (number == 0) != (ply == 0) or (schedule and ply <= schedule[-1][0]):
            raise ValueError(f'temperature "{text}": plies must start at 0 and increase')
        schedule.append((ply, value))
    return schedule


def load_config(
    model: type[ModelT],
    flags: Mapping[str, Any],
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> ModelT:
    """Fill ``model`` from flags (None means not given), the environment, a TOML file, defaults.

    A field of a nested model has a flag and a variable of its own name: ``VECCHESS_SEED``,
    ``VECCHESS_TEMPERATURE``. Raises ConfigError with one line that names the key.
    """
    values: dict[str, Any] = read_toml(file) if file else {}
    _refuse_unknown(model, values, str(file))
    environ = os.environ if environ is None else environ
    _refuse_unknown_variables(environ)
    sections = _sections(model)
    for name, section in sections.items():
        given = flags.get(name)
        if given is None:
            given = environ.get(ENV_PREFIX + name.upper())
        if given is not None:
            target = values.setdefault(section, {}) if section else values
            if not isinstance(target, dict):
                raise ConfigError(f"{file}: {section} must be a table, [{section}]")
            target[name] = given
    return build(model, values)


def build(model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """Validate ``values``; raises ConfigError with one line for the first thing wrong."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        reason = first["msg"].removeprefix("Value error, ")
        got = "" if isinstance(first["input"], dict) else f" (got {first['input']!r})"
        raise ConfigError(f"{key}: {reason}{got}" if key else reason) from None


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file; raises ConfigError where it cannot be read."""
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None


def to_toml(config: BaseModel) -> str:
    """The resolved configuration as TOML; unset optional keys are left out."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def _sections(model: type[BaseModel]) -> dict[str, str]:
    """Every field name with the nested model it stands in ("" at the top)."""
    sections: dict[str, str] = {}
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            sections |= dict.fromkeys(info.annotation.model_fields, name)
        else:
            sections[name] = ""
    return sections


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    """Raise ConfigError for a ``VECCHESS_*`` variable that is a setting of no command."""
    settings = {ENV_PREFIX + name.upper() for model in MODELS for name in _sections(model)}
    for name in environ:
        if name.startswith(ENV_PREFIX) and name not in settings and name not in OTHER_VARIABLES:
            near = difflib.get_close_matches(name, settings, 1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise ConfigError(f'environment: unknown variable "{name}"{hint}')


def _refuse_unknown(model: type[BaseModel], values: Mapping[str, Any], where: str) -> None:
    for key, value in values.items():
        if key not in model.model_fields:
            near = difflib.get_close_matches(key, model.model_fields, 1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise ConfigError(f'{where}: unknown key "{key}"{hint}')
        inner = model.model_fields[key].annotation
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, BaseModel):
            _refuse_unknown(inner, value, f"{where} [{key}]")
