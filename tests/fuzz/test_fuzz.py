"""No input of anybody's crashes a reader, nor takes memory at will; `make fuzz` tries many more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.drive import FOUND, Drive, corpus_of
from tests.fuzz.limits import TooLargeError, check_memory, refusal
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import Read, Target, plain
from tests.fuzz.targets import TARGETS
from vecchess.errors import DataError

QUICK, SLOW = 40, 4


def reads_a_whole_run(name: str) -> bool:
    """Whether a target reads one, whose memory takes long to measure."""
    return name.startswith(("watch-", "report-"))


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    return TARGETS[request.param]


@pytest.fixture
def read(target: Target, tmp_path: Path) -> Iterator[Read]:
    with target.opened(tmp_path) as opened:
        yield opened


@pytest.mark.thorough
def test_inputs_that_were_too_much_once_and_new_ones(target: Target, read: Read) -> None:
    seeds, corpus = target.seeds(), corpus_of(target)
    for data in corpus:
        is_read = refusal(read, data) == ""
        assert is_read or target.always_refuses or data not in seeds, "our own writers' are read"
    if not reads_a_whole_run(target.name):
        check_all_memory(target, read)
    mutator = Mutator(target.shape, target.words, 0)

    @settings(max_examples=SLOW if target.is_slow else QUICK, derandomize=True, database=None)
    @given(st.integers(0, 2**32 - 1), st.sampled_from(corpus), st.sampled_from(corpus))
    def is_read_or_refused(seed: int, data: bytes, other: bytes) -> None:
        mutator.draw.seed(seed)
        refusal(read, mutator.made_of(data, other))

    is_read_or_refused()


def check_all_memory(target: Target, read: Read) -> None:
    for data in corpus_of(target):
        check_memory(read, data, target.floor_mib)


@pytest.mark.slow
@pytest.mark.parametrize("target", list(filter(reads_a_whole_run, TARGETS)), indirect=True)
def test_whole_runs_take_no_more_memory_than_their_files(target: Target, read: Read) -> None:
    check_all_memory(target, read)


def test_every_case_that_was_found_belongs_to_a_target() -> None:
    assert {folder.name for folder in FOUND.iterdir() if folder.is_dir()} <= TARGETS.keys()


def test_the_same_seed_makes_the_same_inputs() -> None:
    def made(seed: int) -> list[bytes]:
        mutator = Mutator("lines", (b"x",), seed)
        return [mutator.made_of(b'{"a": 1}\n{"b": [2]}', b"z") for _ in range(200)]

    assert made(1) == made(1)
    assert len(set(made(1)) - set(made(2))) > 120


def test_the_driver_finds_what_is_there_to_find(tmp_path: Path) -> None:
    """A crash, an allocation and a refusal, told apart and kept."""
    kept: list[bytes] = []

    def fragile(data: bytes) -> None:
        if data.startswith(b"a"):
            raise DataError("it begins with an a")
        if b"7" in data:
            raise ZeroDivisionError
        if len(data) % 2:
            kept.append(bytes(3 << 20))
            kept.clear()

    target = Target("pgn", lambda: [b"seed"], plain(fragile), "text", (b"a", b"7"), 1)
    outcome = Drive(target, 1, tmp_path).run(3000, 60.0)
    assert outcome.inputs == 3000
    assert {fault.split()[0] for fault in outcome.faults} == {"ZeroDivisionError", "TooLargeError"}
    assert outcome.crashes > 10
    saved = [file.read_bytes() for file in (tmp_path / "pgn").iterdir()]
    assert any(b"7" in data for data in saved)
    with pytest.raises(TooLargeError):
        check_memory(fragile, b"bcd", 1)
