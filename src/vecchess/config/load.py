"""Fill configurations from flags, the environment, a TOML file and defaults.

The order is flag > ``VECCHESS_*`` variable > TOML > default. An unknown key is an error that
names the nearest known one. Units are part of the names.
"""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError

from vecchess.config.analysis_settings import AnalyseConfig
from vecchess.config.match_settings import MatchConfig
from vecchess.config.selfplay_settings import SelfplayConfig
from vecchess.config.train_settings import TrainConfig
from vecchess.config.uci_settings import UciConfig
from vecchess.errors import ConfigError
from vecchess.safe_parse import MOST_TOML_BYTES, clip_line, parse_toml, read_bytes

ENV_PREFIX = "VECCHESS_"
_LONGEST_KEY = 100
"""More of a key is not compared with ours: that takes the square of its length."""
OTHER_VARIABLES = ("VECCHESS_REQUIRE_STOCKFISH", "VECCHESS_REQUIRE_CHROMIUM")
"""Variables with our prefix that are no settings: the tests read these."""
ModelT = TypeVar("ModelT", bound=BaseModel)
MODELS: tuple[type[BaseModel], ...] = (
    SelfplayConfig,
    TrainConfig,
    AnalyseConfig,
    MatchConfig,
    UciConfig,
)
"""All models that commands fill with ``load_config``: together they say which variables exist."""


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
    return resolve(model, flags, read_toml(file) if file else {}, str(file), environ)


def resolve(
    model: type[ModelT],
    flags: Mapping[str, Any],
    values: dict[str, Any],
    where: str,
    environ: Mapping[str, str] | None = None,
) -> ModelT:
    """As ``load_config``, over ``values`` that have been read from ``where``; they are changed."""
    _refuse_unknown(model, values, where)
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
                raise ConfigError(f"{where}: {section} must be a table, [{section}]")
            target[name] = given
    return build(model, values)


def build(model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """Validate ``values``; raises ConfigError with one line for the first thing wrong."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = clip_line(".".join(str(part) for part in first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        got = (
            "" if isinstance(first["input"], dict) else f" (got {clip_line(repr(first['input']))})"
        )
        raise ConfigError(f"{key}: {reason}{got}" if key else reason) from None


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file; raises ConfigError where it cannot be read."""
    try:
        return parse_toml(read_bytes(file, MOST_TOML_BYTES, of_any_kind=True))
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{file} is not valid TOML: {clip_line(error)}") from None


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
            near = difflib.get_close_matches(key[:_LONGEST_KEY], model.model_fields, 1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise ConfigError(f'{where}: unknown key "{clip_line(key)}"{hint}')
        inner = model.model_fields[key].annotation
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, BaseModel):
            _refuse_unknown(inner, value, f"{where} [{key}]")
