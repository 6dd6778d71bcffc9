"""Tables of ``vecchess bench inference``."""

from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

BUSY = 0.9
"""Share of the threads' time on cores below which other processes disturbed the figures."""


def print_inference(console: "Console", facts: dict[str, Any]) -> None:
    """Print speeds, exit patterns, and a few lines."""
    console.print(
        f"{facts['net']}, T = {facts['time_steps']}, {facts['slots']} slots, {facts['device']}, "
        f"{facts['threads']} threads, {facts['positions']} positions of random games"
    )
    console.print(_backends(facts["backends"]))
    for note, names in _notes(facts["backends"]).items():
        console.print(f"{', '.join(names)}: {note}")
    if facts["exit_patterns"]:
        console.print(_patterns(facts["exit_patterns"]))
    for line in _lines(facts):
        console.print(line)


def _backends(rows: list[dict[str, Any]]) -> Table:
    table = _table("positions/s", "mean T", "x fixed_T", "of roofline", "agrees")
    for row in rows:
        if row["positions_per_s"] is not None:
            table.add_row(
                row["name"],
                f"{row['positions_per_s']:,.0f}",
                f"{row['mean_time_steps']:.2f}",
                f"{row['ratio_to_fixed']:.2f}",
                f"{row['share_of_roofline']:.1%}",
                _agreement(row),
            )
    return table


def _notes(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Remark -> names of the entrants it holds for."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        if note := row.get("reason") or row.get("note"):
            notes.setdefault(note, []).append(row["name"])
    return notes


def _agreement(row: dict[str, Any]) -> str:
    if row["agrees"] == "bits":
        return "to the bit"
    return f"best move {row['best_move']:.0%}"


def _patterns(rows: list[dict[str, Any]]) -> Table:
    columns = ("T / mean T", "continuous", "of ideal", "of slots' ideal", "by batches", "of ideal")
    table = _table(*columns, title="mean T")
    for row in rows:
        table.add_row(
            f"{row['mean_time_steps']:.2f}",
            f"{row['ideal']:.2f}",
            f"{row['speedup']:.2f}",
            f"{row['share_of_ideal']:.1%}",
            f"{row['share_of_slots_ideal']:.1%}",
            f"{row['batch_synchronous_speedup']:.2f}",
            f"{row['batch_synchronous_share_of_ideal']:.1%}",
        )
    return table


def _table(*columns: str, title: str = "") -> Table:
    """A name, then numbers to the right."""
    table = Table(title, box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _lines(facts: dict[str, Any]) -> list[str]:
    rates = facts["spike_rates"]
    mean = sum(rates.values()) / len(rates)
    named = ", ".join(f"{name} {rate:.1%}" for name, rate in rates.items())
    energy = ", ".join(
        f"{name} {value:,.0f}" for name, value in facts["energy_proxy_nj"].items() if value
    )
    ceilings = facts["ceilings"]
    lines = [
        f"spikes per neuron and step: {mean:.1%} ({named})",
        f"energy proxy, nJ a position (0.9 pJ an accumulate, 4.6 a multiply-accumulate): {energy}",
        f"ceilings: int8 {ceilings['int8_ops_per_s'] / 1e9:,.0f} Gop/s, float32 "
        f"{ceilings['fp32_ops_per_s'] / 1e9:,.0f}, int16 additions "
        f"{ceilings['int16_adds_per_s'] / 1e9:,.0f}, memory "
        f"{ceilings['bytes_per_s'] / 1e9:,.1f} GB/s",
    ]
    if facts["engine_overhead"] is not None:
        lines.append(f"engine, all but kernels: {facts['engine_overhead']:.1%} of a step")
    if facts["device"] == "cpu" and facts["cores_used"] < BUSY * facts["threads"]:
        lines.append(
            f"others used the machine: {facts['cores_used']:.2f} cores for {facts['threads']} "
            "threads; measure again when it is quiet"
        )
    return lines
