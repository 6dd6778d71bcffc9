"""What a run gives out: a set of blocks, with the network that plays and the games they go on with.

fleet/run.json            GamesOfRun: what the games of all tasks follow from, written once
fleet/tasks/000012.json   FleetTask, created only if absent
fleet/newest.json         the number of a task that is there: a hint, it may be old
"""

import hashlib
import json
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from vecchess.errors import ConfigError, DataError
from vecchess.safe_parse import clip_line, is_schema, parse_json_object
from vecchess.store.blocks import Blocks
from vecchess.store.remote.block_file import HEAD_BYTES, BlockName
from vecchess.store.run_pins import GAMES_VERSION, FileName, PinnedFile

SCHEMA = 1
RUN_NAME = "fleet/run.json"
NEWEST_NAME = "fleet/newest.json"
OVER_NAME = "fleet/over"
PLAYERS = "fleet/players/"
CUTS = "fleet/cuts/"
"""Objects that are files of games that wait, named by their sha256."""
_MOST_BYTES = 1 << 26
_Count = Annotated[int, Field(ge=0, le=1 << 62)]
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_PART = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
_Object = Annotated[str, Field(pattern=f"^{_PART}(/{_PART})*$", max_length=400)]


class StoredModel(BaseModel):
    """A model whose values are an object in the store."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_bytes(self) -> bytes:
        """The object, JSON: equal values give equal bytes."""
        return json.dumps({"schema": SCHEMA, **self.model_dump(mode="json")}).encode()

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> Self:
        """The inverse; raises DataError with ``name`` where it is something else."""
        try:
            values = parse_json_object(data, _MOST_BYTES)
            if not is_schema(found := values.pop("schema", None), SCHEMA):
                raise ValueError(f"schema {found}; this vecchess reads {SCHEMA}")
            return cls.model_validate_json(json.dumps(values), strict=True)
        except (ValueError, ValidationError) as error:
            raise DataError(f"{name} is damaged: {clip_line(error)}") from None


class CutPart(StoredModel):
    """A file of games that wait, as a part of an object."""

    object: _Object
    start: _Count
    length: _Count
    sha256: _Sha256


class FleetTask(StoredModel):
    """Blocks to be played, numbered from 0; see ``store/blocks.py``."""

    number: _Count
    """The number of the task in its run: 0 first, and another one each time."""
    generation: _Count
    """Generation of a training whose segments these are; 0 in self-play."""
    first: _Count
    end: _Count
    size: Annotated[int, Field(ge=1, le=1 << 40)]
    net: Annotated[FileName, Field(max_length=250)]
    """Network file in ``nets``, or the name of a built-in one."""
    net_sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
    """sha256 of that file; "" of one that is built in."""
    inputs: tuple[tuple[CutPart, ...], ...] = ()
    """Files of each block with the games it goes on with, and perhaps others; none: no block goes
    on with any."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.first >= self.end or len(self.inputs) not in (0, self.blocks.num_blocks):
            raise ValueError("it has no blocks, or inputs of others")
        return self

    @property
    def blocks(self) -> Blocks:
        """The division into blocks."""
        return Blocks(self.first, self.end, self.size)

    @property
    def content(self) -> str:
        """A hash of everything but the number."""
        same = self.model_copy(update={"number": 0})
        return hashlib.sha256(same.to_bytes()).hexdigest()[:32]

    def cuts_of(self, block: int) -> tuple[CutPart, ...]:
        """The files with the games that a block goes on with."""
        return self.inputs[block] if self.inputs else ()


class GamesOfRun(StoredModel):
    """What all games of a run follow from, besides their numbers and networks."""

    run_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    settings: dict[str, Any]
    """Settings of ``PlayConfig`` that decide games, and the network's spec."""
    seats: _Count
    """Seats of a training; 0: games are played whole."""
    turns: _Count
    games_version: int
    openings: PinnedFile | None
    """A copy in ``inputs/openings``."""
    tables: str
    """Hash of the tablebases' names and sizes; "" without any."""

    @field_validator("settings")
    @classmethod
    def _has_tables(cls, settings: dict[str, Any]) -> dict[str, Any]:
        if not all(isinstance(settings.get(name, {}), dict) for name in ("game", "tree")):
            raise ValueError("game and tree are tables")
        return settings

    def check_version(self) -> None:
        """Raise ConfigError where this vecchess would play other games."""
        if self.games_version != GAMES_VERSION:
            raise ConfigError(
                f"the run's games are of version {self.games_version}, this vecchess plays version "
                f"{GAMES_VERSION}: install the vecchess that began the run"
            )


def cut_part(sha256: str, length: int, result: BlockName | None) -> CutPart:
    """A file of games that wait: in the result of a block that has it, or as an object of its
    own."""
    name, start = (result.object, HEAD_BYTES) if result else (f"{CUTS}{sha256}", 0)
    return CutPart(object=name, start=start, length=length, sha256=sha256)


def task_name(number: int) -> str:
    """The object of a task."""
    return f"fleet/tasks/{number:06d}.json"


def word_name(player: str) -> str:
    """The object with what a player says of itself."""
    return f"{PLAYERS}{player}.json"


def newest_hint(number: int) -> bytes:
    """The object ``NEWEST_NAME`` that names a task."""
    return json.dumps({"schema": SCHEMA, "task": number}).encode()


def read_hint(data: bytes | None) -> int:
    """The number in ``newest_hint``; 0 where there is none, or it is damaged."""
    try:
        number = parse_json_object(data or b"", 1000)["task"]
        return number if type(number) is int and 0 <= number < 1 << 40 else 0
    except (ValueError, KeyError):
        return 0
