"""The table of ``vecchess suite``."""

from typing import TYPE_CHECKING, Any

from vecchess_cli.output import note, print_rows

if TYPE_CHECKING:
    from rich.console import Console

FIGURES = {
    "value_error": ("value error", ".3f"),
    "moves": ("moves", ".1f"),
    "shortest": ("shortest", ".1f"),
}
"""Figure -> its heading and format; it has a column where a player has one."""
ALL = "all"


def show_suite(console: "Console", facts: dict[str, Any]) -> None:
    """A row for each player, and where there are several groups of positions for each group."""
    players = facts["players"]
    figures = [name for name in FIGURES if any(one.get(name) is not None for one in players)]
    rows = []
    for one in players:
        ratio = _ratio(one)
        for group, values in [(ALL, one), *one.get("groups", {}).items()]:
            low, high = values["interval"]
            rows.append(
                [
                    one["player"] if group == ALL else "",
                    group,
                    f"{values['positions']:,}",
                    f"{values['share']:.1%}",
                    f"{low:.1%} .. {high:.1%}",
                    *(_figure(name, values.get(name)) for name in figures),
                    *(ratio if group == ALL else ["", ""])[: 2 * (len(players) > 1)],
                ]
            )
    heads = [FIGURES[name][0] for name in figures]
    ratios = ["of the first", "95 %"] if len(players) > 1 else []
    columns = ["player", "positions", "", "share", "95 %", *heads, *ratios]
    print_rows(console, "", columns, rows, words=["positions"])
    for one in players:
        if one["forfeits"]:
            note(f"{one['player']} owed {one['forfeits']:,} moves: it crashed, stalled or cheated")


def _figure(name: str, value: float | None) -> str:
    return "" if value is None else format(value, FIGURES[name][1])


def _ratio(one: dict[str, Any]) -> list[str]:
    if one.get("ratio") is None:
        return ["", ""]
    low, high = one["ratio_interval"]
    return [f"{one['ratio']:.3f}", f"{low:.3f} .. {high:.3f}"]
