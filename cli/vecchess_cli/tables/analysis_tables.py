"""The picture of ``vecchess analyse``: the best lines, and figures of the search."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vecchess.runtime.signals import stopped_text

if TYPE_CHECKING:
    from vecchess.analysis.run_analysis import Analysis
    from vecchess.search.principal_variations import Line

ENDINGS = {
    "proof": "the outcome is proven",
    "seconds": "the time limit was reached",
}


def picture(found: "Analysis") -> RenderableType:
    """The lines as a table between position and figures; one row each while the search runs."""
    mover = "White" if found.fen.split()[1] == "w" else "Black"
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("", "score", "win", "draw", "loss", "visits"):
        table.add_column(title, justify="right", no_wrap=True)
    if found.stopped_by:
        table.add_column("line", overflow="fold")
    else:
        table.add_column("line", no_wrap=True, overflow="ellipsis")
    for number, variation in enumerate(found.variations, 1):
        line = variation.line
        shares = (line.estimate.win, line.estimate.draw, line.estimate.loss)
        table.add_row(
            str(number),
            score_words(line),
            *(f"{share:.0%}" for share in shares),
            f"{line.visits:,}",
            numbered(variation.san, found.fen),
        )
    heading = Text(f"{found.fen}\n{mover} to move; scores are {mover}'s", no_wrap=False)
    return Group(heading, table, Text(figures(found), style="dim", no_wrap=False))


def score_words(line: "Line") -> str:
    """A proven result in words, else the expected score."""
    if line.mate is not None:
        return f"mate in {line.mate}" if line.mate > 0 else f"mated in {-line.mate}"
    if line.outcome:
        return "won" if line.outcome > 0 else "lost"
    return f"{line.estimate.win + line.estimate.draw / 2:.1%}"


def numbered(san: tuple[str, ...], fen: str) -> str:
    """Moves with their numbers, "3. Nf3 Nc6 4. Bb5", from the position on."""
    black, number = int(fen.split()[1] == "b"), int(fen.split()[5])
    words = [f"{number}..."] if black else []
    for ply, move in enumerate(san, black):
        words += [move] if ply % 2 else [f"{number + ply // 2}.", move]
    return " ".join(words)


def figures(found: "Analysis") -> str:
    """Figures of the search, and why it ended early if it did."""
    words = [
        f"{found.simulations:,} simulation{'s' * (found.simulations != 1)} in "
        f"{found.seconds:.2f} s ({found.simulations_per_s:,.0f}/s)",
        f"{found.nodes:,} nodes",
        f"mean depth {found.mean_depth:.1f}",
        f"{found.cache_hit_rate:.0%} from the cache",
        f"{found.mean_time_steps:.2f} time steps a position",
    ]
    if found.unexpanded:
        words.append(f"no room in the tree for {found.unexpanded:,} more: raise --tree-mb")
    if found.stopped_by not in ("", "simulations"):
        words.append(ENDINGS.get(found.stopped_by) or stopped_text(found.stopped_by))
    return ", ".join(words)
