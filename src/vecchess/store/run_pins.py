"""What a run's games follow from besides its settings, pinned when the run begins.

    pins.json                hash of each input, GAMES_VERSION, programs and processors so far
    inputs/<setting>/<name>  copies of the files that settings name: the run reads these

Resuming a run with other inputs, settings or another ``GAMES_VERSION`` would mix games, and is
refused. Programs and processors give the same bits, so that another one is only noted.

Decision 218.
"""

import hashlib
import json
import os
import platform
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from vecchess import __version__
from vecchess.config import PlayConfig, build, read_toml
from vecchess.config.settings import Settings, fixed_settings, flag, leaf_fields
from vecchess.errors import ConfigError, DataError, FileMissing
from vecchess.inference.source import find
from vecchess.jit import cpu_features, cpu_name
from vecchess.runtime.atomic_write import remove_folder, write_atomically
from vecchess.runtime.retried_read import read_file, read_json, retried
from vecchess.safe_parse import clip_line
from vecchess.search.tablebase import folders_of
from vecchess.snn.integer.net_file import SHIPPED_NET, net_path
from vecchess.store.run_folder import RunFolder

GAMES_VERSION = 4
"""Raise it when a change of rules, random numbers, search or inference changes a bit of any game:
a run that began under another number is not resumed, and a replay says why its games differ.
``tests/selfplay/test_games_version.py`` plays some games, and fails until ``GAMES_DIGEST`` is what
it prints. A faster way to the same bits keeps both. Decision 218."""
GAMES_DIGEST = "00d711f66ba11dd14f3108ffef9a5f81f0bf34e6c89f64734b7c8706c835c4dd"
"""SHA-256 of these games' records under ``GAMES_VERSION``."""


ConfigT = TypeVar("ConfigT", bound=PlayConfig)
SCHEMA = 1
PINS_FILE = "pins.json"
COPIED = ("openings", "net", "init_from")
"""Settings that name a file of which the run keeps a copy."""
TABLES = "syzygy"
"""Setting that names a folder too large to be copied."""
LIBRARIES = ("numpy", "numba", "llvmlite", "torch", "chess")
FEATURES = ("avx2", "bmi2", "avxvnni", "avx512f", "avx512vl", "avx512vnni", "avx512vbmi2")
"""Instruction sets that kernels choose their code by."""
FileName = Annotated[str, Field(pattern=r"^\.*[^./\\\x00][^/\\\x00]*$")]
"""A name that cannot leave its folder, of a file that the user has named, or whose folder."""


class PinnedFile(Settings):
    """A copy of an input: its name in ``inputs/<setting>``."""

    file: FileName
    sha256: str


class PlayedBy(Settings):
    """The program and the processor of a start of a run."""

    vecchess: str
    python: str
    libraries: dict[str, str]
    processor: str
    features: list[str]

    @classmethod
    def here(cls) -> "PlayedBy":
        """This program on this processor."""
        return cls(
            vecchess=__version__,
            python=platform.python_version(),
            libraries={name: version(name) for name in LIBRARIES},
            processor=f"{platform.machine()} {cpu_name()}",
            features=sorted(cpu_features().intersection(FEATURES)),
        )

    def changes_to(self, other: "PlayedBy") -> str:
        """What differs in ``other``, in words: "numpy 2.1.0, now 2.2.0"."""
        old, new = (
            {**one.libraries, "vecchess": one.vecchess, "Python": one.python,
             "processor": one.processor, "instruction sets": " ".join(one.features)}
            for one in (self, other)
        )  # fmt: skip
        pairs = ((name, old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys()))
        return "; ".join(f"{name} {was}, now {now}" for name, was, now in pairs if was != now)


class RunPins(Settings):
    """The content of ``pins.json``."""

    games_version: int
    inputs: dict[str, PinnedFile]
    """Pinned inputs by setting, one of COPIED."""
    tables: str
    """Hash of the names and sizes of the tablebases; "" without any."""
    played_by: Annotated[list[PlayedBy], Field(min_length=1)]
    """Each once, the newest last."""

    @classmethod
    def of(cls, run: RunFolder) -> "RunPins":
        """The pins of ``run``; raises DataError where they are missing or damaged."""
        path = run.path / PINS_FILE
        try:
            return cls.model_validate(read_json(path, SCHEMA))
        except FileMissing:
            raise DataError(
                f"{run.path} has no {PINS_FILE}: an older vecchess made it, or the file was lost; "
                "put it back, or begin another run"
            ) from None
        except ValidationError as error:
            raise DataError(f"{path} is damaged: {clip_line(error)}") from None

    def write(self, run: RunFolder) -> None:
        """Replace ``pins.json``; raises DataError where the disk refuses."""
        run.write_json(PINS_FILE, {"schema": SCHEMA, **self.model_dump()})


def absolute_paths(config: ConfigT) -> ConfigT:
    """``config`` with absolute paths in its fixed settings: they hold in every working folder."""
    values = dict[str, Any]()
    for name, section in fixed_settings(type(config)):
        value = _value(config, name, section)
        if isinstance(value, tuple):
            values[name] = tuple(Path(os.path.abspath(path)) for path in value)
        elif (file := _file(name, value)) not in (None, SHIPPED_NET):
            values[name] = type(value)(os.path.abspath(file))
    return _replaced(config, values)


def pin_run(run: RunFolder, config: PlayConfig) -> None:
    """Copy the inputs of a new run into its folder, and write its pins.

    Raises ConfigError for an input that cannot be read, DataError where the disk refuses.
    """
    remove_folder(run.inputs)  # of a start that ended before the run
    values = {
        "games_version": GAMES_VERSION,
        "inputs": {name: _copy(run, name, path) for name, path in _files(config)},
        "tables": hash_of_tables(config.tree.syzygy),
        "played_by": [PlayedBy.here()],
    }
    RunPins.model_validate(values).write(run)


def has_pins(run: RunFolder) -> bool:
    """Whether ``run`` has pins: one that is about to begin has none."""
    return os.path.exists(run.path / PINS_FILE)


def rules_digest(config: PlayConfig) -> str:
    """sha256 of the settings that decide the games of a run, of any command, but for its files."""
    values = config.model_dump(mode="json")
    known = {
        f"{section}.{name}": (values[section] if section else values)[name]
        for name, section in fixed_settings(PlayConfig)
        if name not in (*COPIED, TABLES)
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def pinned(run: RunFolder, config: ConfigT) -> ConfigT:
    """``config`` with the run's copies in place of the files that it names.

    Raises DataError where pins are missing or damaged, or a copy is not what the run began with,
    FileUnreadable where one cannot be read.
    """
    copies, inputs = dict[str, Any](), RunPins.of(run).inputs
    for name, kept in ((name, inputs[name]) for name in COPIED if name in inputs):
        path = run.inputs / name / kept.file
        data = retried(read_file, path)
        if hashlib.sha256(data).hexdigest() != kept.sha256:
            raise DataError(f"{path} is not what the run began with: put it back")
        copies[name] = str(path) if name == "net" else path
    return _replaced(config, copies)


def check_resumable(run: RunFolder, config: PlayConfig) -> None:
    """Raise ConfigError where resuming ``run`` with ``config``, whose paths are absolute, would mix
    games that do not follow from the same settings, inputs and rules; DataError as ``RunPins.of``.
    """
    pins = RunPins.of(run)
    if pins.games_version != GAMES_VERSION:
        raise ConfigError(f"{run.path}: {_other_version(pins)}, or begin another run")
    before = build(type(config), read_toml(run.config))
    for name, section in fixed_settings(type(config)):
        old, new = (_value(one, name, section) for one in (before, config))
        if old != new and not _is_same_input(pins, name, new):
            raise ConfigError(
                f"{run.path} was started with {name} = {old!s}, not {new!s}: leave {flag(name)} "
                "out, or begin another run"
            )
    if _has_other_tables(pins, config):
        raise ConfigError(f"{config.tree.syzygy} holds other tables than when {run.path} began")


def changed_settings(run: RunFolder, config: PlayConfig, ignored: Collection[str]) -> list[str]:
    """What ``config``, whose paths are absolute, has otherwise than ``run``: "lr = 0.1, not 0.2".

    Other places of the same inputs are no change, nor are the settings ``ignored``. Raises as
    ``check_resumable``.
    """
    pins, before = RunPins.of(run), build(type(config), read_toml(run.config))
    return [
        f"{name} = {old!s}, not {new!s}"
        for name, section, _ in leaf_fields(type(config))
        if (old := _value(before, name, section)) != (new := _value(config, name, section))
        and name not in ignored
        and not _is_same_input(pins, name, new)
    ]


def note_start(run: RunFolder, config: PlayConfig) -> list[str]:
    """Add this program and processor to the pins of a resumed run; returns lines for people where
    they are others than before, and where a file that ``config`` names has changed."""
    pins, here = RunPins.of(run), PlayedBy.here()
    lines = [
        f"{path} has changed: the run goes on with its own copy"
        for name, path in _files(config)
        if path.is_file() and not _is_same_input(pins, name, path)
    ]
    if changes := pins.played_by[-1].changes_to(here):
        lines.append(f"the run goes on with {changes}; its games stay the same")
        played_by = [*(one for one in pins.played_by if one != here), here]
        pins.model_copy(update={"played_by": played_by}).write(run)
    return lines


def replay_obstacles(run: RunFolder, config: PlayConfig) -> list[str]:
    """Why the games of ``run`` cannot be played again exactly, a line for each reason."""
    pins = RunPins.of(run)
    found = [_other_version(pins)] if pins.games_version != GAMES_VERSION else []
    if _has_other_tables(pins, config):
        found.append(f"{config.tree.syzygy} holds other tables than when the run began")
    return found


def replay_changes(run: RunFolder) -> str:
    """What of program and processor differs from those that played ``run``, or ""."""
    return RunPins.of(run).played_by[-1].changes_to(PlayedBy.here())


def _other_version(pins: RunPins) -> str:
    return (
        f"its games are of version {pins.games_version}, this vecchess plays version "
        f"{GAMES_VERSION}: install vecchess {pins.played_by[0].vecchess} for them"
    )


def _has_other_tables(pins: RunPins, config: PlayConfig) -> bool:
    """Whether there are other tables; where there are none, opening them raises an error."""
    folder = config.tree.syzygy
    is_there = folder is not None and all(part.is_dir() for part in folders_of(folder))
    return is_there and hash_of_tables(folder) != pins.tables


def _is_same_input(pins: RunPins, name: str, value: Any) -> bool:
    """Whether ``value`` names a place with the content that the run began with."""
    if name == TABLES:
        return value is not None and hash_of_tables(value) == pins.tables
    kept, file = pins.inputs.get(name), _file(name, value)
    try:
        return kept is not None and file is not None and _sha256(file) == kept.sha256
    except OSError:
        return False


def _files(config: PlayConfig) -> Iterator[tuple[str, Path]]:
    """The files that the settings COPIED name."""
    for name, section, _ in leaf_fields(type(config)):
        file = _file(name, _value(config, name, section))
        if name in COPIED and file is not None:
            yield name, file


def _file(name: str, value: Any) -> Path | None:
    """The file or folder that the setting ``name`` names, None where it names none."""
    if name == "net":
        source = find(str(value))
        sizes = Path(source.text) if source.kind == "sizes" else None
        return sizes if sizes is not None and sizes.is_file() else source.file
    if not isinstance(value, Path):
        return None
    return net_path(value) if name == "init_from" else value


def _copy(run: RunFolder, name: str, file: Path) -> PinnedFile:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {flag(name)} {file}: {error.strerror}") from None
    kept = run.inputs / name / file.name
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, data)
    return PinnedFile(file=kept.name, sha256=hashlib.sha256(data).hexdigest())


def _sha256(path: Path) -> str:
    """The hash of a file; raises OSError where it cannot be read."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_of_tables(syzygy: Path | None) -> str:
    """The hash of the names and sizes of all tablebases of some folders; "" without a folder."""
    if syzygy is None:
        return ""
    files = (file for folder in folders_of(syzygy) for file in folder.glob("*.rtbw"))
    try:
        sizes = sorted((file.name, file.stat().st_size) for file in files)
    except OSError as error:
        raise ConfigError(f"syzygy: cannot look into {syzygy}: {error.strerror}") from None
    return hashlib.sha256(repr(sizes).encode()).hexdigest()


def _value(config: BaseModel, name: str, section: str) -> Any:
    return getattr(getattr(config, section) if section else config, name)


def _replaced(config: ConfigT, values: dict[str, Any]) -> ConfigT:
    """``config`` with other ``values`` of plain settings, by name."""
    updates = dict[str, Any]()
    for name, section, _ in leaf_fields(type(config)):
        if name in values and section:
            part = updates.get(section, getattr(config, section))
            updates[section] = part.model_copy(update={name: values[name]})
        elif name in values:
            updates[name] = values[name]
    return config.model_copy(update=updates)
