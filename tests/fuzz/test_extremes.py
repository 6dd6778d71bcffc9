"""Every field of every format at every extreme: refused in one line, or read without a warning,
and then no game has a value that none has."""

import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.fuzz.extremes import TEXTS, Variant, no_warnings, variants
from tests.fuzz.file_targets import signed
from tests.fuzz.limits import refusal
from tests.fuzz.targets import TARGETS
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS

SAMPLE = 6
"""Fields of a target that each run tries; the whole takes minutes."""
GAMES = ("shard", "inflight", "live")
"""Targets whose inputs are games."""
RANGES = {
    "result": (-1, 1), "termination": (0, 9), "resign": (0, 7), "full": (0, 1), "win": (0, 511),
    "draw": (0, 511), "prob": (0, 1), "steps": (0, 64), "numbers": (0, 2**62 - 1),
    "action": (0, NUM_ACTIONS - 1), "target_action": (0, NUM_ACTIONS - 1),
}  # fmt: skip
"""What docs/formats.md says of the columns."""


def files(name: str) -> Iterator[Variant]:
    """Of one format: the files of its own writer, each with one field changed."""
    target = TARGETS[name]
    for data in target.seeds():
        for where, changed in variants(target, data):
            yield where, signed(changed) if name == "network" else changed


@cache
def sample(name: str) -> list[Variant]:
    """Some of them, the same each time; the first file is enough where all would take seconds."""
    target = TARGETS[name]
    found = list(variants(target, target.seeds()[0]))
    chosen = Random(name).sample(found, min(SAMPLE, len(found)))
    return [(where, signed(data) if name == "network" else data) for where, data in chosen]


def check(name: str, folder: Path, found: Iterator[Variant] | list[Variant]) -> list[str]:
    """What was wrong with the reader of a format."""
    faults, target = list[str](), TARGETS[name]
    with target.opened(folder) as read:
        for data in target.seeds():
            assert target.always_refuses or not refusal(read, data)
        for where, data in found:
            try:
                with no_warnings():
                    refused = refusal(read, data)
                assert refused or name not in GAMES[:2] or is_game(data), "no game has this value"
            except Exception as error:
                faults.append(f"{where}: {type(error).__name__}: {str(error)[:120]}")
    return faults


def is_game(data: bytes) -> bool:
    """Whether all columns of a file are within what the documentation says of them."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        columns = {name: file[name] for name in file.files}
    limits = [(columns[name], *RANGES[name]) for name in RANGES]
    are_within = all(
        not column.size or low <= column.min() <= column.max() <= high
        for column, low, high in limits
    )
    together = (columns["win"].astype(int) + columns["draw"]).max(initial=0) <= 511
    moves = np.diff(columns["target_offsets"])
    shares = [
        sum(part.tolist()) for part in _parts(columns["target_prob"], columns["target_offsets"])
    ]
    return bool(
        are_within
        and together
        and moves.max(initial=0) <= MAX_MOVES
        and max(shares, default=0) <= 65_535 + MAX_MOVES
        and len(set(columns["numbers"].tolist())) == len(columns["numbers"])
    )


def _parts(column: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    return np.split(column, offsets[1:-1]) if len(offsets) > 1 else []


@pytest.mark.thorough
@pytest.mark.parametrize("name", TARGETS)
def test_some_fields_at_extremes_are_refused_or_read(name: str, tmp_path: Path) -> None:
    assert check(name, tmp_path, sample(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_every_field_at_every_extreme_is_refused_or_read(name: str, tmp_path: Path) -> None:
    assert check(name, tmp_path, files(name)) == []


def test_every_column_and_every_key_is_found() -> None:
    """The table is made of what files hold, so a new field is tried without being listed."""
    data = TARGETS["shard"].seeds()[-1]
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        names = set(file.files)
    tried = {where.partition(":")[0] for where, _ in variants(TARGETS["shard"], data)}
    assert tried >= names > {"win", "target_prob", "span_ply"}
    found = " ".join(where for where, _ in files("network-signed"))
    assert all(key in found for key in ("policy_scale", "exit_rule", "min_steps", "calibration"))
    assert len(list(variants(TARGETS["fen"], b"a 1 b 2"))) == 2 * len(TEXTS)


def test_a_value_that_no_game_has_would_be_seen() -> None:
    data = TARGETS["shard"].seeds()[0]
    assert is_game(data)
    found = variants(TARGETS["shard"], data)
    wrong = [changed for where, changed in found if where.startswith("win: [0] = 65535")]
    assert wrong
    assert not any(map(is_game, wrong))
