"""Fill settings from flags, the environment, a TOML file and defaults.

The order is flag > ``VECCHESS_*`` variable > TOML > default. An unknown key is an error that
names the nearest known one, a wrong value one that names where it was given.
"""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_origin

import tomli_w
from pydantic import BaseModel

from vecchess.config.analysis_settings import AnalyseConfig
from vecchess.config.match_settings import MatchConfig
from vecchess.config.selfplay_settings import ContributeConfig, SelfplayConfig
from vecchess.config.settings import ModelT, build, flag, inner_model, leaf_fields
from vecchess.config.train_settings import TrainConfig
from vecchess.config.uci_settings import UciConfig
from vecchess.errors import ConfigError, did_you_mean
from vecchess.safe_parse import MOST_TOML_BYTES, clip_line, parse_toml, read_bytes

ENV_PREFIX = "VECCHESS_"
OTHER_VARIABLES = (
    "VECCHESS_TRACEBACK",
    "VECCHESS_REQUIRE_STOCKFISH", "VECCHESS_REQUIRE_CHROMIUM", "VECCHESS_REQUIRE_WASM",
    "VECCHESS_MAIA",
)  # fmt: skip
"""Variables with our prefix that are no settings: ``runtime.plugin`` reads the first, the tests the
others."""
_INJECTED_NAME = re.compile(
    r"VECCHESS_(\w+_)?"
    r"(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_INJECTED_VALUE = re.compile(r"(tcp|udp|sctp)://")
"""Variables that Kubernetes sets in every container beside a service whose name begins with
vecchess. https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables"""
MODELS: tuple[type[BaseModel], ...] = (
    SelfplayConfig,
    TrainConfig,
    AnalyseConfig,
    MatchConfig,
    UciConfig,
    ContributeConfig,
)
"""All models that commands fill with ``load_config``; their settings are the known variables."""


def load_config(
    model: type[ModelT],
    flags: Mapping[str, Any],
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    before: Path | None = None,
) -> ModelT:
    """Fill ``model`` from flags (None means not given), the environment, a TOML file, defaults.

    A field of a nested model has a flag and a variable of its own name: ``VECCHESS_SEED``,
    ``VECCHESS_TEMPERATURE``. ``before``: settings of a run that goes on, in place of the defaults.
    Raises ConfigError with one line that names the key, or the command that made the run.
    """
    values = read_toml(before) if before else {}
    if before and (model is TrainConfig) != ("objective" in values):
        command = "train" if "objective" in values else "selfplay"
        raise ConfigError(f"{before.parent} was made by vecchess {command}: only that resumes it")
    _refuse_unknown(model, values, str(before))
    return resolve(model, flags, overlaid(values, file), str(file or before), environ)


def overlaid(values: Mapping[str, Any], file: Path | None) -> dict[str, Any]:
    """``values``, and in their place what ``file`` has, key by key also in tables; raises
    ConfigError where it cannot be read."""
    found = dict(values)
    for key, value in (read_toml(file) if file else {}).items():
        is_table = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = found[key] | value if is_table else value
    return found


def resolve(
    model: type[ModelT],
    flags: Mapping[str, Any],
    values: dict[str, Any],
    where: str,
    environ: Mapping[str, str] | None = None,
) -> ModelT:
    """Fill ``model`` as ``load_config`` does, over ``values`` read from ``where``, in place."""
    _refuse_unknown(model, values, where)
    environ = _given_variables(os.environ if environ is None else environ)
    given_as: dict[str, str] = {}
    for name, section, owner in leaf_fields(model):
        variable = ENV_PREFIX + name.upper()
        value, source = flags.get(name), flag(name)
        if value is None and variable in environ:
            is_list = get_origin(owner.model_fields[name].annotation) is tuple
            value, source = environ[variable], variable
            value = _words(variable, value) if is_list else value
        if value is not None:
            target = values.setdefault(section, {}) if section else values
            if not isinstance(target, dict):
                raise ConfigError(f"{where}: {section} must be a table, [{section}]")
            target[name], given_as[name] = value, source
    return build(model, values, lambda path: given_as.get(path[-1], f"{where}: {'.'.join(path)}"))


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


def _given_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The ``VECCHESS_*`` variables; raises ConfigError for one that is a setting of no command."""
    settings = {ENV_PREFIX + name.upper() for model in MODELS for name, *_ in leaf_fields(model)}
    found = {}
    for name, value in environ.items():
        if not name.startswith(ENV_PREFIX) or _INJECTED_VALUE.match(value):
            continue
        if name in settings:
            found[name] = value
        elif name not in OTHER_VARIABLES and not _INJECTED_NAME.fullmatch(name):
            hint = did_you_mean(name, settings)
            raise ConfigError(f'environment: unknown variable "{name}"{hint}')
    return found


def _words(variable: str, text: str) -> list[str]:
    """The items of a list in a variable, quoted as in a shell where they have spaces."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{variable}: {clip_line(text)} cannot be split: {error}") from None


def _refuse_unknown(model: type[BaseModel], values: Mapping[str, Any], where: str) -> None:
    for key, value in values.items():
        if key not in model.model_fields:
            hint = did_you_mean(key, model.model_fields)
            raise ConfigError(f'{where}: unknown key "{clip_line(key)}"{hint}')
        inner = inner_model(model.model_fields[key])
        if isinstance(value, dict) and inner is not None:
            _refuse_unknown(inner, value, f"{where} [{key}]")
