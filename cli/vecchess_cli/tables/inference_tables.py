"""Tables of ``vecchess bench inference``."""

from typing import TYPE_CHECKING, Any

from vecchess_cli.output import print_rows

if TYPE_CHECKING:
    from rich.console import Console

BUSY = 0.9
"""Share of the threads' time on cores below which other processes disturbed the figures."""


def print_inference(console: "Console", facts: dict[str, Any]) -> None:
    """Print speeds, and a few lines."""
    console.print(
        f"{facts['net']}, T = {facts['time_steps']}, {facts['slots']} slots, {facts['device']}, "
        f"{facts['threads']} threads, {facts['positions']} positions of random games"
    )
    rows = [
        [
            row["name"],
            f"{row['positions_per_s']:,.0f}",
            f"{row['mean_time_steps']:.2f}",
            f"{row['ratio_to_fixed']:.2f}",
            _agreement(row),
        ]
        for row in facts["backends"]
        if row["positions_per_s"] is not None
    ]
    print_rows(console, "", ["", "positions/s", "mean T", "x fixed_T", "agrees"], rows)
    for note, names in _notes(facts["backends"]).items():
        console.print(f"{', '.join(names)}: {note}")
    if facts["engine_overhead"] is not None:
        console.print(f"engine, all but kernels: {facts['engine_overhead']:.1%} of a step")
    if facts["device"] == "cpu" and facts["cores_used"] < BUSY * facts["threads"]:
        console.print(
            f"others used the machine: {facts['cores_used']:.2f} cores for {facts['threads']} "
            "threads; measure again when it is quiet"
        )


def _agreement(row: dict[str, Any]) -> str:
    if row["agrees"] is None:
        return "not checked"
    return "to the bit" if row["agrees"] == "bits" else f"best move {row['best_move']:.0%}"


def _notes(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Remark -> names of the entrants it holds for."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        if note := row.get("reason") or row.get("note"):
            notes.setdefault(note, []).append(row["name"])
    return notes
