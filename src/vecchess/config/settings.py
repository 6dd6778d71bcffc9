"""The base of all settings models, and what is wrong with a value in plain words."""

import math
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticKnownError

from vecchess.errors import ConfigError
from vecchess.safe_parse import clip_line

ModelT = TypeVar("ModelT", bound=BaseModel)
NameOf = Callable[[tuple[str, ...]], str]
"""The name of a setting for an error line, by its path of keys: ("game", "max_plies")."""
_REASONS = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "int_parsing": "takes a whole number",
    "int_parsing_size": "takes a whole number of fewer digits",
    "int_from_float": "takes a whole number",
    "int_type": "takes a whole number",
    "float_parsing": "takes a number",
    "float_type": "takes a number",
    "finite_number": "takes a finite number",
    "bool_parsing": "takes true or false",
    "bool_type": "takes true or false",
    "string_type": "takes a text",
    "path_type": "takes a path",
    "tuple_type": "takes a list",
    "model_type": "must be a table",
    "literal_error": "must be {expected}",
}
"""Error type of pydantic -> our words, with what its context gives."""


class OnResume(Enum):
    """Whether a run may be resumed with another value: metadata of a setting, or of a section.

    A setting without has that of its section, and is FREE at the top (decision 218).
    """

    FIXED = auto()
    """It decides games, or the positions that are learnt from."""
    FREE = auto()
    """No game depends on it, or a run is meant to go on with another value."""


MOST_GAMES = 1 << 62
"""Games are numbered below it. That many are as good as no end."""


def _parse_games(value: Any) -> Any:
    return 0 if value == "forever" else value


GamesOrForever = Annotated[int, BeforeValidator(_parse_games), Field(ge=0, le=MOST_GAMES)]
"""A number of games; 0, also written "forever": until a stop is requested."""


class TypedModel(BaseModel):
    """A model of values whose types count: true is not 1, 1 is not true, 3.0 is no whole number.

    Texts are read as the numbers that they spell, as flags and variables need it (decision 293).
    """

    model_config = ConfigDict(defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _has_its_type(cls, value: Any, info: ValidationInfo) -> Any:
        annotation: Any = cls.model_fields[info.field_name or ""].annotation
        _check_type(value, _plain_types(annotation))
        return value


@cache
def _plain_types(annotation: Any) -> frozenset[Any]:
    """The types that ``annotation`` is made of, containers and models among them."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return frozenset(map(type, inner))
    if origin is Annotated:
        inner = inner[:1]
    return frozenset().union(*map(_plain_types, inner)) if inner else frozenset({annotation})


_TURNED: dict[type, frozenset[type]] = {
    bool: frozenset({int, float}),
    int: frozenset({bool}),
    float: frozenset({int, bool}),
}
"""Types of values, and those that pydantic would turn them into."""
_TYPE_FAULTS: dict[type, Literal["int_type", "float_type", "bool_type"]] = {
    int: "int_type",
    float: "float_type",
    bool: "bool_type",
}
"""pydantic's error for a value that is none of a type."""


def _check_type(value: Any, types: frozenset[Any]) -> None:
    """Raise PydanticKnownError for a value of another type, also for one in a list or a table."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_type(inner, types)
    elif not isinstance(value, float) or math.isfinite(value):
        wanted = types & _TURNED.get(type(value), frozenset())
        if wanted and not types & {type(value), Any}:
            raise PydanticKnownError(
                next(_TYPE_FAULTS[kind] for kind in _TYPE_FAULTS if kind in wanted)
            )


class Settings(TypedModel):
    """Immutable values; an unknown key and a number that is not finite are errors.

    The docstring of a command's setting is its documentation, and its first sentence the help of
    its option. Validators are built when a model is first used: most commands use one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def build(model: type[ModelT], values: Mapping[str, Any], name_of: NameOf = ".".join) -> ModelT:
    """Validate ``values``; raises ConfigError with one line for the first thing wrong."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_in_words(error, name_of)) from None


def flag(name: str) -> str:
    """The option of a setting: "--max-plies" of "max_plies"."""
    return "--" + name.replace("_", "-")


def build_from_flags(model: type[ModelT], flags: Mapping[str, Any]) -> ModelT:
    """Validate the options that the fields of ``model`` name, as ``build``; None: not given."""
    given = {key: flags[key] for key in model.model_fields if flags.get(key) is not None}
    return build(model, given, lambda path: flag(path[-1]))


def inner_model(field: FieldInfo) -> type[BaseModel] | None:
    """The model that a field holds, or None for a plain value."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def leaf_fields(model: type[BaseModel]) -> Iterator[tuple[str, str, type[BaseModel]]]:
    """Name, section ("" at the top) and model of every plain setting, nested ones included."""
    for name, field in model.model_fields.items():
        inner = inner_model(field)
        if inner is None:
            yield name, "", model
        else:
            yield from ((key, name, inner) for key in inner.model_fields)


def fixed_settings(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Name and section ("" at the top) of every plain setting that a resumed run has to keep."""
    for name, section, owner in leaf_fields(model):
        marks = [mark for mark in owner.model_fields[name].metadata if isinstance(mark, OnResume)]
        if section:
            marks += model.model_fields[section].metadata
        if next((mark for mark in marks if isinstance(mark, OnResume)), None) is OnResume.FIXED:
            yield name, section


def _in_words(error: ValidationError, name_of: NameOf) -> str:
    first = error.errors()[0]
    path = tuple(part for part in first["loc"] if isinstance(part, str))
    reason, kind = first["msg"].removeprefix("Value error, "), first["type"]
    if kind == "value_error" and isinstance(first["input"], dict):  # a whole table: it names them
        return reason
    if kind in _REASONS:
        limits = {key: _plain(value) for key, value in first.get("ctx", {}).items()}
        words = _REASONS[kind].format(**limits).replace("'", '"')
        reason = f"{words}, got {_shown(first['input'])}"
    elif kind != "value_error" or reason.startswith("should"):
        reason = f"{reason} (got {_shown(first['input'])})"
    return (
        f"{clip_line(name_of(path))} {reason}"
        if kind in _REASONS
        else (f"{clip_line(name_of(path))}: {reason}")
    )


def _plain(limit: Any) -> str:
    return f"{limit:.12g}" if isinstance(limit, float) else str(limit)


def _shown(value: Any) -> str:
    """A value as it was typed where it reads as a number, else in quotes."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    is_number = text.lstrip("+-").replace(".", "", 1).isdecimal()
    return clip_line(text if is_number or not isinstance(value, str) else f'"{text}"')
