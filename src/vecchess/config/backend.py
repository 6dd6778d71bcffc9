"""How a network is computed: the name of a backend, or a fake device in front of one.

cpu    fake    fake?latency=2ms+10us    fake?of=cpu&latency=1:1ms,512:1ms,513:3ms&lost_after=500
"""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

BACKENDS = ("auto", "cpu", "cuda", "torch", "reference")
FAKE = "fake"
MOST_SLOTS = 1 << 20
UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
Curve = list[tuple[int, float]]


class FakeDevice(BaseModel):
    """A device that is slow, small, or fails, as it is told to be: for trying out what has to
    bear with one. Its answers are those of a real backend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    of: Literal["auto", "cpu", "cuda", "torch", "reference"] = "auto"
    """The backend that answers; of a network that is built in, that network."""
    latency: str = "0s"
    """Time of a step by the number of occupied slots: "2ms+10us" is 2 ms and 10 us for each;
    "1:1ms,512:1ms,513:3ms" are points with straight lines between them."""
    oom_above: Annotated[int, Field(ge=0)] = 0
    """It has memory for so many slots; 0: for any number."""
    oom_after: Annotated[int, Field(ge=0)] = 0
    """With more slots than ``oom_above`` memory runs out at this step; 0: already when opened."""
    lost_after: Annotated[int, Field(ge=0)] = 0
    """It is lost after so many steps, in each process anew; 0: never."""
    wrong_every: Annotated[int, Field(ge=0)] = 0
    """One answer in so many has a wrong bit; 0: none."""

    @field_validator("oom_after")
    @classmethod
    def _has_an_end(cls, step: int, info: ValidationInfo) -> int:
        if step and not info.data.get("oom_above"):
            raise ValueError("needs oom_above: for how many slots there is memory")
        return step

    @field_validator("latency")
    @classmethod
    def _is_curve(cls, text: str) -> str:
        parse_latency(text)
        return text

    @classmethod
    def parse(cls, text: str) -> "FakeDevice":
        """Read "fake?key=value&key=value"; raises ValueError with a one-line reason."""
        query = text.partition("?")[2]
        pairs = [pair.partition("=")[::2] for pair in query.split("&") if query]
        given: dict[str, Any] = dict(pairs)
        if len(given) < len(pairs):
            raise ValueError(f"{text}: a setting is given twice")
        for key in given:
            if key not in cls.model_fields:
                raise ValueError(f'{text}: no setting "{key}"; give {", ".join(cls.model_fields)}')
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            reason = first["msg"].removeprefix("Value error, ")
            raise ValueError(f"{text}: {first['loc'][0]}: {reason}") from None


def is_fake(backend: str) -> bool:
    """True for the name of a fake device."""
    return backend.partition("?")[0] == FAKE


def behind(backend: str) -> str:
    """The backend that answers: ``backend`` itself, or the one behind a fake device."""
    return FakeDevice.parse(backend).of if is_fake(backend) else backend


def parse_latency(text: str) -> Curve:
    """Read a latency as points (occupied slots, seconds), ascending; raises ValueError.

    Between two points the time grows evenly, outside it stays as it is.
    """
    if ":" not in text:
        fixed, plus, each = text.partition("+")
        fixed_s = _seconds(fixed)
        return [(0, fixed_s), (MOST_SLOTS, fixed_s + MOST_SLOTS * _seconds(each if plus else "0s"))]
    points: Curve = []
    for part in text.split(","):
        slots, _, time = part.partition(":")
        if not slots.isdecimal() or (points and int(slots) <= points[-1][0]):
            raise ValueError(f'"{part}" is not SLOTS:TIME with more slots than before')
        points.append((int(slots), _seconds(time)))
    return points


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?)(us|ms|s)", text)
    if match is None:
        raise ValueError(f'"{text}" is not a time like 10us, 2.5ms or 1s')
    return float(match[1]) * UNITS_S[match[2]]


def _known(backend: str) -> str:
    """Validator: the name of a backend."""
    if is_fake(backend):
        FakeDevice.parse(backend)
    elif backend not in BACKENDS:
        names = ", ".join(repr(name) for name in BACKENDS)
        raise ValueError(f"should be one of {names}, or '{FAKE}?...'")
    return backend


BackendName = Annotated[str, AfterValidator(_known)]
"""A name as above, for settings."""
