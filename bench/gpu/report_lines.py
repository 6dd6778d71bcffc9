"""The GPU report's file: a JSON line for each result, written as it is found.

    {"schema": 2, "commit": ..., "date": ..., "device": ..., "quick": ...}
    {"section": "smoke", "begins": "12:30:05"}
    {"section": "smoke", "result": "tile", "at_s": 12.1, "facts": {...}, "gpu": {...}}
    {"section": "smoke", "seconds": 31.0}                       or also with "error"

A line is written whole before anything else is done, so a kill at any moment loses no finished
result; what a kill leaves of a line is skipped. ``gpu`` is what the GPU said of itself since the
section's result before. ``read_report`` puts the lines of one or several files together.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

SCHEMA = 2
HEAD = {"schema", "commit", "date", "device", "quick"}
CUT_SHORT = "ended before its time"
SHOWN = 400
"""Most characters of a result that are printed."""


class ResultWriter:
    """Appends the results of one section to the report's file, and prints a line for each."""

    def __init__(self, file: Path, section: str, gpu: Callable[[], dict[str, Any]] = dict) -> None:
        """``gpu``: returns what the GPU said of itself since the call before."""
        self.file = file
        self._section = section
        self._gpu = gpu
        self._start = monotonic()

    def add(self, result: str, **facts: Any) -> None:
        """Append a result; its name occurs once in the section, its facts are JSON."""
        line: dict[str, Any] = {"section": self._section, "result": result}
        line |= {"at_s": round(monotonic() - self._start, 1), "facts": facts}
        append_line(self.file, line | ({"gpu": gpu} if (gpu := self._gpu()) else {}))
        print(
            f"{self._section}: {result}: {json.dumps(facts)[:SHOWN]}", file=sys.stderr, flush=True
        )

    def begin_measurement(self) -> None:
        """Have the next result's ``gpu`` count from now on."""
        self._gpu()


def append_line(file: Path, values: dict[str, Any]) -> None:
    """Append one JSON line to ``file``, on the disk when this returns."""
    with file.open("ab+", buffering=0) as out:
        line = json.dumps(values).encode() + b"\n"
        if out.seek(0, os.SEEK_END) and not _ends_a_line(out):
            line = b"\n" + line
        out.write(line)
        os.fsync(out.fileno())


def read_report(files: Iterable[Path]) -> dict[str, Any]:
    """The report: its head, and "sections" by name with "results" by name, "seconds", "error".

    A section that was run again counts as it was the last time. Raises ValueError where the files
    are of different commits, devices or schemas, or there is no head in them.
    """
    heads: list[dict[str, Any]] = []
    sections: dict[str, dict[str, Any]] = {}
    for file in files:
        for line in _lines(file):
            if "section" in line:
                _take_in(sections, line)
            elif line.keys() >= HEAD:
                heads.append(line)
    if not heads:
        raise ValueError("no report in these files")
    for key in ("schema", "commit", "device", "quick"):
        if len(found := {str(head[key]) for head in heads}) > 1:
            raise ValueError(f"lines of several reports: {key} {', '.join(sorted(found))}")
    if heads[0]["schema"] != SCHEMA:
        raise ValueError(f"a report of schema {heads[0]['schema']}; this program reads {SCHEMA}")
    return heads[0] | {"sections": sections}


def _take_in(sections: dict[str, dict[str, Any]], line: dict[str, Any]) -> None:
    """Add a line of a section."""
    name = line["section"]
    if "begins" in line:
        sections[name] = {"results": {}, "error": CUT_SHORT}
        return
    results = sections[name]["results"]
    if "result" in line:
        kept = {key: line[key] for key in ("at_s", "gpu") if key in line}
        results[line["result"]] = line["facts"] | kept
    else:
        ended = {key: line[key] for key in ("seconds", "error") if key in line}
        sections[name] = {"results": results} | ended


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_bytes().splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # cut short by a kill
            continue


def _ends_a_line(out: Any) -> bool:
    out.seek(-1, os.SEEK_END)
    return bool(out.read(1) == b"\n")
