"""Texts of ``vecchess replay``: a game move by move, the progress of a check, the verdict."""

from typing import TYPE_CHECKING, Any

from vecchess.runtime.progress import ProgressDisplay, bar_line
from vecchess_cli.output import print_rows

if TYPE_CHECKING:
    from rich.console import Console

    from vecchess.replay.run_replay import ReplayProgress

MOST_SHOWN = 10
"""Most games that differ are shown one by one."""
NAMES = {
    "action": "move",
    "steps": "time steps",
    "prob": "probability of the move",
    "full": "full search",
    "thought": "time steps of the search",
    "tag": "hash of the answers so far",
    "target": "policy target",
    "fingerprint": "hash of all answers",
    "length": "plies",
    "start": "start position",
}
"""Column -> a clearer name, where it needs one."""


def show_game(console: "Console", facts: dict[str, Any]) -> None:
    """Print the moves with their evaluations, and the verdict."""
    rows = [
        [
            ply["san"],
            "" if ply["value"] is None else f"{ply['value']:.1%}",
            f"{ply['visits']:,}" if ply["visits"] else "",
            f"{ply['time_steps']:,}" if ply["time_steps"] else "",
            "same" if ply["same"] else "DIFFERS",
        ]
        for ply in facts["plies"]
    ]
    title = f"game {facts['game']} of {facts['run']}, network {facts['net'][:16]}"
    print_rows(console, title, ["move", "value", "visits", "steps", ""], rows)
    console.print(f"{facts['result']}, {facts['termination']}", markup=False)
    console.print(verdict_of_game(facts), markup=False)


def verdict_of_game(facts: dict[str, Any]) -> str:
    """One line, or as many as there are differences."""
    if facts["difference"] is not None:
        return "\n".join([*difference_lines(facts["difference"]), *reason_lines(facts)])
    if facts["hashes_known"]:
        return "bit-identical"
    return "the same; recorded before there were hashes, so accumulators were not compared"


def difference_lines(difference: dict[str, Any]) -> list[str]:
    """Where a game differs, and a line for each column that does."""
    if difference["ply"] is None:
        place = "differs, though every ply is the same"
    else:
        recorded, now = difference["move_recorded"], difference["move_now"]
        moves = recorded if recorded == now else f"{recorded or 'over'} / {now or 'over'}"
        place = f"differs first at ply {difference['ply']} ({moves})"
    lines = [f"game {difference['game']} {place}; recorded / now:"]
    for change in difference["changes"]:
        name = NAMES.get(change["what"], change["what"])
        lines.append(f"  {name}: {change['recorded']} / {change['now']}")
    if [change["what"] for change in difference["changes"]] == ["tag"]:
        lines.append("  hashes alone: the answers may have begun to differ a ply or two before")
    return lines


def reason_lines(facts: dict[str, Any]) -> list[str]:
    """What is known of why games differ, a line for each reason."""
    return [f"a reason to differ: {reason}" for reason in facts["reasons"]]


def show_verdict(console: "Console", facts: dict[str, Any]) -> None:
    """Print the result of a check of many games."""
    for difference in facts["differences"][:MOST_SHOWN]:
        console.print("\n".join(difference_lines(difference)), markup=False)
    if facts["different"] > MOST_SHOWN:
        console.print(f"... and {facts['different'] - MOST_SHOWN:,} more that differ: --json")
    if facts["different"] and facts["reasons"]:
        console.print("\n".join(reason_lines(facts)), markup=False)
    nets = len(facts["networks"])
    console.print(
        f"{facts['games']:,} of {facts['recorded']:,} games, {facts['plies']:,} plies, "
        f"{nets} network{'s' if nets > 1 else ''}, in {facts['seconds']:.1f} s: "
        + (f"{facts['different']:,} differ" if facts["different"] else _agreement(facts))
    )


def _agreement(facts: dict[str, Any]) -> str:
    unknown = facts["hashes_unknown"]
    if not unknown:
        return "all bit-identical"
    return f"all the same; accumulators of {unknown:,} were not recorded, so not compared"


def show_progress(display: ProgressDisplay, progress: "ReplayProgress") -> None:
    """Show how far the check of many games has come."""
    counts = f"{progress.plies:,} plies, {len(progress.differences):,} differ"
    games = f"{progress.done:,}/{progress.wanted:,} games"
    display.update(
        lambda: f"{games}, {counts}",
        lambda: bar_line(progress.done, progress.wanted, games, counts),
    )
