"""Our kernels with every tile against the processor's, accumulator by accumulator."""

import hashlib
from typing import Any

import numpy as np
from bench.gpu.report_lines import ResultWriter
from bench.gpu.setting import STAGGER, Answers, Setting, TileTooLargeError, answers

from vecchess.snn.integer.integer_net import ExitRule, IntegerNet

NUM_POSITIONS = 2000
FEWER = {"large": 200}
"""For networks on which the processor takes long."""
QUICK_POSITIONS = 8
POSITIONS_A_SLOT = 7
"""Slots change hands several times, at different moments."""


def equality(setting: Setting, results: ResultWriter) -> None:
    """A result for each network, exit rule and tile; SystemExit at the end where one differs."""
    differ: list[str] = []
    for name in setting.names:
        net = setting.network(name)
        rules = {"all leave early": STAGGER}
        if not setting.quick:
            rules = {"its own exits": ExitRule.from_metadata(net.exit_rule)} | rules
        for words, rule in rules.items():
            differ += _compare(setting, results, f"{name}, {words}", net, rule)
    if differ:
        raise SystemExit(f"answers differ from the processor's: {'; '.join(differ)}")


def _compare(
    setting: Setting, results: ResultWriter, case: str, net: IntegerNet, rule: ExitRule
) -> list[str]:
    """All tiles on one case; returns the names of the results that differ."""
    count = FEWER.get(net.config.preset, NUM_POSITIONS)
    questions = setting.questions(
        QUICK_POSITIONS if setting.quick else count, net.config.num_planes
    )
    expected = answers(setting.open_on_processor(net, rule), questions)
    slots = max(questions.num_rows // POSITIONS_A_SLOT, 4)
    differ: list[str] = []
    for index, tile in enumerate(setting.tiles(net)):
        facts: dict[str, Any] = {"tile": vars(tile), "positions": questions.num_rows}
        try:
            found = answers(setting.open(net, rule, slots, tile), questions)
        except TileTooLargeError as error:
            results.add(f"{case}, tile {index}", **facts, too_large=str(error))
            continue
        different = num_different(found, expected)
        facts |= {"mean_steps": float(found.steps.mean()), "digest": digest(found)}
        results.add(f"{case}, tile {index}", **facts, different=different)
        if different:
            differ.append(f"{case}, tile {index}")
    return differ


def digest(found: Answers) -> str:
    """Equal for equal answers."""
    total = hashlib.sha256()
    for array in found:
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()[:16]


def num_different(found: Answers, expected: Answers) -> int:
    """Positions with any number that differs."""
    rows = zip(found, expected, strict=True)
    differs = [(one != other).reshape(len(one), -1).any(axis=1) for one, other in rows]
    return int(np.logical_or.reduce(differs).sum())
