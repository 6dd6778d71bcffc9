"""Mutants that are not tried, by rules: those that could not matter, or that would flatter.

What a rule leaves out is counted and told. No mutant is left out by its name.
"""

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from cosmic_ray.work_item import MutationSpec

_FLATTERY = re.compile(r"core/ReplaceBinaryOperator_\w+_(Div|FloorDiv|Mod|Pow)$")
_SAME_BITS = re.compile(r"core/ReplaceBinaryOperator_(BitOr_(Add|BitXor)|BitXor_Add)$")
_UNSIGNED = re.compile(r"core/ReplaceComparisonOperator_(NotEq_Gt|Eq_LtE)$")
_ZERO = re.compile(r"\s*(_ZERO\b|_U\(0\)|np\.uint64\(0\))")
_COMPILERS = re.compile(r"@(inline|kernel|part|paste)\b")


def reason_not_to_try(mutant: MutationSpec) -> str | None:
    """Why this mutant is left out; None where it is to be tried."""
    for reason, applies in RULES.items():
        if applies(mutant):
            return reason
    return None


def _is_flattery(mutant: MutationSpec) -> bool:
    return bool(_FLATTERY.match(mutant.operator_name))


def _has_same_bits(mutant: MutationSpec) -> bool:
    return bool(_SAME_BITS.match(mutant.operator_name))


def _is_unsigned(mutant: MutationSpec) -> bool:
    """The right side is the word 0."""
    rest = _lines(mutant.module_path)[mutant.end_pos[0] - 1][mutant.end_pos[1] :]
    return bool(_UNSIGNED.match(mutant.operator_name) and _ZERO.match(rest))


def _is_compiler(mutant: MutationSpec) -> bool:
    line = _lines(mutant.module_path)[mutant.start_pos[0] - 1]
    return mutant.operator_name == "core/RemoveDecorator" and bool(_COMPILERS.match(line.strip()))


def _is_annotation(mutant: MutationSpec) -> bool:
    return any(
        first <= mutant.start_pos and mutant.end_pos <= end
        for first, end in _annotations(mutant.module_path)
    )


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@cache
def _annotations(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """First and end of each annotation of the file: lines from 1, columns from 0."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            found.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in found
        if node is not None
    ]


RULES: dict[str, Callable[[MutationSpec], bool]] = {
    "to / // % **: a rare mistake, and nearly all are killed at once": _is_flattery,
    "| to + or ^, ^ to +: the same where words have no bit in common": _has_same_bits,
    "!= to >, == to <= beside the word 0: the same, words have no sign": _is_unsigned,
    "a decorator of numba: does nothing where kernels are interpreted": _is_compiler,
    "an annotation: not looked at when the program runs": _is_annotation,
}
