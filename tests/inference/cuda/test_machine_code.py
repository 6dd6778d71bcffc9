"""The kernels compiled for a GPU that need not be there, and what their machine code holds."""

import json
from typing import Any

import pytest

pytest.importorskip("triton")

from tests.inference.cuda.compiled import printed_by


def _tiles(*arguments: str) -> list[dict[str, Any]]:
    lines = printed_by("bench.gpu.machine_code", "base", *arguments).splitlines()
    return [json.loads(line) for line in lines]


def _is_lean(code: dict[str, Any]) -> bool:
    """8-bit products on the matrix units; sums meet membranes in registers, and all fit."""
    none = ("stack", "spills", "conversions")
    return code["products"] > 0 and code["barriers"] <= 30 and not any(code[n] for n in none)


@pytest.mark.thorough
def test_every_kernel_compiles_for_hopper() -> None:
    """What the interpreter cannot tell: types, layouts, shared memory. Needs no GPU."""
    printed_by("tests.inference.cuda.compile_kernels")


@pytest.mark.thorough
def test_the_likeliest_tile_is_lean_machine_code() -> None:
    (code,) = _tiles("--first", "1")
    assert _is_lean(code), code


@pytest.mark.slow
def test_every_tile_is_lean_machine_code() -> None:
    found = _tiles()
    assert {code["tile"]["steps"] for code in found} == {1, 2}
    assert [code for code in found if not _is_lean(code)] == []
