"""Options of commands: those of settings, those that several commands share, panels in the help.

A settings model is the one source: a field gives its option's name, type, range, default and, as
the first sentence of its docstring, its help. A command lists which options it has, in panels.
"""

import ast
import inspect
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cache, wraps
from inspect import Parameter
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperGroup

from vecchess.config.settings import Settings, flag, leaf_fields
from vecchess.errors import ConfigError
from vecchess.runtime.signals import StopSignals
from vecchess_cli.output import Json, note

METAVARS = {int: "N", float: "X", Path: "PATH", str: "TEXT"}
LARGE = 10_000
"""Upper bounds from here on are left out of the help: they only refuse nonsense."""
LAST_PANEL = "Output and help"
"""Panel of ``--help`` and of options that no panel names, where a command has panels."""
Panels = Mapping[str, str]
"""Title -> names of settings, of shared options and of the command's own, in order."""
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Run = Annotated[str, typer.Argument(help="Folder or URL of a run.", metavar="RUN")]
Runs = Annotated[
    list[str], typer.Argument(help="Folders or URLs of runs.", metavar="RUN...", show_default=False)
]
"""Runs as text: a URL (s3://, gs://, az://, file://) is no path. See ``run_here``."""
SHARED: dict[str, tuple[Any, Any]] = {
    "config": (
        Annotated[Path | None, typer.Option(help="TOML file with settings.", metavar="PATH")],
        None,
    ),
    "resume": (
        Annotated[bool, typer.Option("--resume", help="Resume the run in --run-dir.")],
        False,
    ),
    "resume_or_begin": (
        Annotated[
            bool,
            typer.Option(
                "--resume-or-begin",
                help="Resume the run in --run-dir, or begin it: for job scripts.",
            ),
        ],
        False,
    ),
    "quiet": (Quiet, False),
    "json": (Json, False),
}
"""Name -> kind and default of options that mean the same to several commands."""


def run_here(place: str, with_shards: bool = True) -> Path:
    """The folder with the run that a user names; see ``vecchess.store.remote.run_places``."""
    from vecchess.store.remote.run_places import run_here

    return run_here(place, note, with_shards)


@contextmanager
def writable_run(
    flags: dict[str, Any], stop: StopSignals, push_every_s: float = math.inf
) -> Iterator[None]:
    """Make ``run_dir`` of ``flags`` the folder of the run: of one at a URL the copy of its one
    writer, which is written to the URL at the end, too; of the other ranks of a training a folder
    that has its settings alone. push_every_s: see ``learner_copy``."""
    given = flags["run_dir"]
    if given is None:
        if flags["resume_or_begin"]:
            raise ConfigError("--resume-or-begin needs --run-dir: the run to resume or begin")
        yield
        return
    from vecchess.store.remote.run_places import has_begun, learner_copy, settings_copy

    if flags["resume_or_begin"]:
        flags["resume"] = has_begun(given, note)
    task = "RANK" if "RANK" in os.environ else "SLURM_PROCID"
    is_first = True
    if "node_rank" in flags:
        from vecchess.train.distributed.shared_settings import node_of

        is_first = os.environ.get(task, "0") == "0" and node_of(flags) == 0
    restarts = "TORCHELASTIC_RUN_ID" in os.environ
    copy = (
        learner_copy(given, flags["resume"], note, restarts, push_every_s, stop)
        if is_first
        else settings_copy(given, note)
    )
    with copy as flags["run_dir"]:
        yield


def beside(place: str, run: Path, name: str) -> Path:
    """Where a result goes unless the user says: into the run's folder, or with a run at a URL into
    the current one."""
    from vecchess.runtime.atomic_output import in_run_folder
    from vecchess.store.remote.object_store import is_url

    if is_url(place):
        return in_run_folder(Path(name))
    return in_run_folder(run.with_name(f"{run.stem}-{name}") if run.is_file() else run / name)


class PanelCommand(TyperCommand):
    """A command whose help shows its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then a section for each panel, in the order of the options."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        last: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(parameter, "rich_help_panel", None)
            if parameter.param_type_name == "argument":
                panels["Arguments"].append(record)
            elif panel is None or panel == LAST_PANEL:
                last.append(record)
            else:
                panels.setdefault(panel, []).append(record)
        is_plain = set(panels) <= {"Arguments", "Options"}
        panels.setdefault("Options" if is_plain else LAST_PANEL, []).extend(last)
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class FullGroup(TyperGroup):
    """A group whose list shows the whole first paragraph of each command's help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One row for each command."""
        helps = ((name, self.commands[name].help or "") for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(n, " ".join(h.split("\n\n")[0].split())) for n, h in helps])


def command_app(command: Callable[..., Any], about: str | None = None) -> typer.Typer:
    """A program of one command, for ``root.load_command``; its help is ``about``, or its
    docstring."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(cls=PanelCommand, help=about)(command)
    return app


def command_group(about: str) -> typer.Typer:
    """A program of several commands, to be filled, for ``root.load_command``."""
    app = typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None, add_completion=False)
    app.callback(cls=FullGroup)(lambda: None)  # stays a group with one command too
    return app


def settings_options(
    model: type[BaseModel],
    panels: Panels,
    defaults: Mapping[str, str] | None = None,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command: it gets the options that ``panels`` name, and as its first argument a
    dict of all that was given, by name; None means not given.

    defaults: words for defaults that no field holds. aliases: more names of an option.
    """
    fields = {name: (owner, owner.model_fields[name]) for name, _, owner in leaf_fields(model)}

    def option(name: str, panel: str) -> Parameter:
        if name in SHARED:
            kind, default = SHARED[name]
            shared = Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            return _in_panel(shared, panel)
        owner, field = fields[name]
        texts = _docs(owner).get(name, ""), (defaults or {}).get(name)
        flags = (flag(name), *(aliases or {}).get(name, ()))
        return _parameter(name, field, texts, flags, panel)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        _, *names = inspect.signature(command).parameters
        own = {name: inspect.signature(command, eval_str=True).parameters[name] for name in names}
        parameters = [
            _in_panel(own.pop(name), panel) if name in own else option(name, panel)
            for panel, listed in panels.items()
            for name in listed.split()
        ]

        @wraps(command)
        def with_settings(**given: Any) -> Any:
            return command(given, **{name: given[name] for name in names})

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
