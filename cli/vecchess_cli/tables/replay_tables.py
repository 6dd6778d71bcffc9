"""What ``vecchess replay`` shows people: a game move by move, how a check goes, the verdict."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from vecchess_cli.output import people, print_rows

if TYPE_CHECKING:
    from rich.console import Console

    from vecchess.replay.run_replay import ReplayProgress

PLAIN_INTERVAL_S = 10.0
MOST_SHOWN = 10
"""Games that differ are shown one by one up to so many."""
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
"""What people call the columns whose names do not say enough."""


def show_game(facts: dict[str, Any]) -> None:
    """The moves with what was thought of them, and the verdict."""
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
    print_rows(title, ["move", "value", "visits", "steps", ""], rows)
    people().print(f"{facts['result']}, {facts['termination']}", markup=False)
    people().print(verdict_of_game(facts), markup=False)


def verdict_of_game(facts: dict[str, Any]) -> str:
    """One line, or as many as there are differences."""
    if facts["difference"] is not None:
        return "\n".join(difference_lines(facts["difference"]))
    if facts["hashes_known"]:
        return "bit-identical"
    return "the same; recorded before there were hashes, so accumulators were not compared"


def difference_lines(difference: dict[str, Any]) -> list[str]:
    """Where a game differs, and a line for each thing that does."""
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
        lines.append("  hashes alone: the answers may have parted a ply or two before")
    return lines


def show_verdict(facts: dict[str, Any]) -> None:
    """How a check of many games ended."""
    console = people()
    for difference in facts["differences"][:MOST_SHOWN]:
        console.print("\n".join(difference_lines(difference)), markup=False)
    if facts["different"] > MOST_SHOWN:
        console.print(f"... and {facts['different'] - MOST_SHOWN:,} more that differ: --json")
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


@contextmanager
def following(console: "Console", quiet: bool) -> Iterator[Callable[["ReplayProgress"], None]]:
    """What shows how a check goes: a bar on a terminal, a line every ten seconds elsewhere."""
    if quiet:
        yield lambda tally: None
    elif console.is_terminal and not console.is_dumb_terminal:
        with _bar(console) as tell:
            yield tell
    else:
        yield _Lines(console).tell


@contextmanager
def _bar(console: "Console") -> Iterator[Callable[["ReplayProgress"], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def tell(tally: "ReplayProgress") -> None:
            words = f"games, {tally.plies:,} plies, {len(tally.differences):,} differ"
            progress.update(task, total=tally.wanted, completed=tally.done, description=words)

        yield tell


class _Lines:
    """A line every ten seconds."""

    def __init__(self, console: "Console") -> None:
        self._console, self._start = console, monotonic()
        self._next = self._start + PLAIN_INTERVAL_S

    def tell(self, tally: "ReplayProgress") -> None:
        """Print a line if one is due."""
        if monotonic() < self._next:
            return
        self._next = monotonic() + PLAIN_INTERVAL_S
        self._console.print(
            f"{monotonic() - self._start:6.0f} s  {tally.done:,}/{tally.wanted:,} games  "
            f"{tally.plies:,} plies  {len(tally.differences):,} differ"
        )
