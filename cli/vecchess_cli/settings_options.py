"""Options of a command made from the fields of its settings model.

The model is the one source: a field gives its option's name, type, range, default and, as the
first sentence of its docstring, its help. A command lists which fields have an option, in panels.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cache, wraps
from inspect import Parameter
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from vecchess.config.settings import Settings, flag, leaf_fields

METAVARS = {int: "N", float: "X", Path: "PATH", str: "TEXT"}
LARGE = 10_000
"""Upper bounds from here on are left out of the help: they only refuse nonsense."""
Panels = Mapping[str, str]
"""Title -> names of settings and of the command's own parameters, in order."""


def settings_options(
    model: type[BaseModel],
    panels: Panels,
    defaults: Mapping[str, str] | None = None,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command: an option for each field in ``panels`` replaces its ``settings``.

    The command gets ``settings`` as a dict of what was given; None means not given. defaults: words
    for defaults that no field holds. aliases: more names of an option.
    """
    fields = {name: (owner, owner.model_fields[name]) for name, _, owner in leaf_fields(model)}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = dict(inspect.signature(command, eval_str=True).parameters)
        del own["settings"]
        parameters, names = [], []
        for panel, listed in panels.items():
            for name in listed.split():
                if name in own:
                    parameters.append(_in_panel(own.pop(name), panel))
                    continue
                owner, field = fields[name]
                texts = _docs(owner).get(name, ""), (defaults or {}).get(name)
                flags = (flag(name), *(aliases or {}).get(name, ()))
                parameters.append(_parameter(name, field, texts, flags, panel))
                names.append(name)

        @wraps(command)
        def with_settings(**given: Any) -> Any:
            settings = {name: given.pop(name) for name in names}
            return command(settings=settings, **given)

        signature = inspect.Signature([*own.values(), *parameters])
        with_settings.__signature__ = signature  # type: ignore[attr-defined]
        with_settings.__annotations__ = {}
        with_settings.settings_model = model  # type: ignore[attr-defined]
        return with_settings

    return decorate


def _in_panel(parameter: Parameter, panel: str) -> Parameter:
    """The same parameter of a command, shown in ``panel``."""
    kind, option, *_ = get_args(parameter.annotation)
    option = copy(option)
    option.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[kind, option], kind=Parameter.KEYWORD_ONLY)


def _parameter(
    name: str, field: FieldInfo, texts: tuple[str, str | None], flags: tuple[str, ...], panel: str
) -> Parameter:
    """The parameter of one setting; ``texts``: its documentation, and words for its default."""
    kind, metavar = _kind(field)
    if kind is bool:
        flags = (f"--{flags[0][2:]}/--no-{flags[0][2:]}",) if field.default else flags
    about = _about(field, texts[1])
    summary = texts[0].split(". ")[0].rstrip(".") + "."
    option = typer.Option(
        *flags,
        help=f"{summary}  [{about}]" if about else summary,
        metavar=None if kind is bool else metavar,
        rich_help_panel=panel,
    )
    annotation = Annotated[kind | None, option]  # type: ignore[valid-type]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _kind(field: FieldInfo) -> tuple[Any, str]:
    """What typer parses (the model does the rest), and the placeholder in the help."""
    kind: Any = field.annotation
    if get_origin(kind) in (Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return str, "|".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return list[str], METAVARS[get_args(kind)[0]]
    return (bool, "") if kind is bool else (str, METAVARS[kind])


def _about(field: FieldInfo, default: str | None) -> str:
    """Default and range, as in "default: 64; x>=1"."""
    parts = []
    value = default if default is not None else field.default
    if value not in (None, "", ()) and not isinstance(value, bool):
        parts.append(f"default: {value:g}" if isinstance(value, float) else f"default: {value}")
    elif value is True:
        parts.append("default: on")
    if bounds := _range(field):
        parts.append(bounds)
    return "; ".join(parts)


def _range(field: FieldInfo) -> str:
    low, high = "", ""
    for limit in _limits(field):
        for name, sign in (("ge", "<="), ("gt", "<")):
            if (bound := getattr(limit, name, None)) is not None:
                low = f"{bound:g}{sign}"
        for name, sign in (("le", "<="), ("lt", "<")):
            if (bound := getattr(limit, name, None)) is not None and bound < LARGE:
                high = f"{sign}{bound:g}"
    if high:
        return f"{low}x{high}"
    if not low or low.startswith("0<="):
        return ""
    return f"x{'>=' if low.endswith('=') else '>'}{low.rstrip('<=')}"


def _limits(field: FieldInfo) -> Iterator[Any]:
    yield from field.metadata
    for part in get_args(field.annotation):
        if get_origin(part) is Annotated:  # of "Annotated[int, Field(ge=1)] | None"
            for info in get_args(part)[1:]:
                yield from getattr(info, "metadata", ())


@cache
def _docs(model: type[BaseModel]) -> dict[str, str]:
    """Field -> docstring, of a model and those it inherits from."""
    docs: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, Settings) and owner is not Settings:
            docs |= _docs_of_module(owner.__module__).get(owner.__name__, {})
    return docs


@cache
def _docs_of_module(name: str) -> dict[str, dict[str, str]]:
    """Class -> field -> docstring: the string that follows a field's line."""
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    found: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            docs = found[node.name] = {}
            for line, following in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(line, ast.AnnAssign)
                    and isinstance(line.target, ast.Name)
                    and isinstance(following, ast.Expr)
                    and isinstance(following.value, ast.Constant)
                ):
                    text = str(following.value.value).replace("``", "")
                    docs[line.target.id] = " ".join(text.split())
    return found
