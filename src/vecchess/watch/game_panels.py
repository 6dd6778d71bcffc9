"""Results, ends and lengths of games, in bars and figures."""

from collections.abc import Callable

from rich.text import Text

from vecchess.monitor.run_view import RunView
from vecchess.store.stats import GameStats
from vecchess.watch.palette import BLACK, DRAW, LIVE, QUIET, WHITE

BARS = " ▁▂▃▄▅▆▇█"


def results(view: RunView, width: int) -> Text:
    """Results of the newest generation where there is one, else of all games."""
    now = view.status.stats if view.status.stats.games else view.stats
    if not now.games:
        return Text(_none_yet(view), style=QUIET)
    text = outcome_bar(now, width).append("\n")
    text.append_text(_ended(now, 2 * width)).append("\n")
    lengths = {int(length): count for length, count in now.lengths.items()}
    return text.append_text(
        Text.assemble(
            ("lengths ", QUIET), (sparkline(lengths, 32), LIVE), f"  mean {now.mean_length:.0f}"
        )
    )


def _none_yet(view: RunView) -> str:
    """Why there are no results, though games may be finished."""
    if not view.status.games:
        return "no game is finished yet"
    return f"{view.status.games:,} games are finished; results follow when they are recorded"


def outcome_bar(stats: GameStats, width: int) -> Text:
    """White's wins, draws, Black's wins: figures, and parts of a line."""
    parts = (
        ("White", stats.white_wins, WHITE),
        ("draws", stats.draws, DRAW),
        ("Black", stats.black_wins, BLACK),
    )
    total = sum(count for _, count, _ in parts) or 1
    text, used = Text(), 0
    for place, (_, _, style) in enumerate(parts):
        cells = round(sum(p[1] for p in parts[: place + 1]) / total * width) - used
        text.append(("█", "▒", "░")[place] * cells, style=style)
        used += cells
    text.append("\n")
    has_room = width >= 50
    for name, count, _ in parts:
        share = f"{count / total:.0%}"
        text.append(f"{name} ", style=QUIET)
        text.append(f"{count:,} ({share})  " if has_room else f"{share}  ")
    return text


def _ended(stats: GameStats, width: int) -> Text:
    """Reasons for ends, the commonest first, as many as fit into ``width`` characters."""
    shown, left = "", width - 16
    for name, count in sorted(stats.terminations.items(), key=lambda item: -item[1]):
        reason = f"{', ' if shown else ''}{name.replace('_', ' ')} {count:,}"
        left -= len(reason)
        if left < 0:
            shown += ", ..."
            break
        shown += reason
    return Text.assemble(("ended by ", QUIET), shown)


def sparkline(counts: dict[int, int], width: int) -> str:
    """A histogram, a character a bin of ``width``."""
    if not counts:
        return ""
    bins = [counts.get(low, 0) for low in range(0, max(counts) + 1, width)]
    most = max(bins) or 1
    return "".join(BARS[-(-8 * count // most)] for count in bins)


def histogram(title: str, counts: dict[int, int], width: int, name: Callable[[int], str]) -> Text:
    """Counts as bars, one a line, and an empty line; nothing where nothing was counted."""
    if not counts:
        return Text()
    text = Text(f"{title}\n", style=QUIET)
    total, most = sum(counts.values()) or 1, max(counts.values()) or 1
    for key, count in sorted(counts.items()):
        label = f"{name(key):>12} "
        text.append(label, style="default").append("█" * round(count / most * width), style=LIVE)
        text.append(f" {count:,} ({count / total:.0%})\n", style="default")
    return text.append("\n")


def games_page(view: RunView, width: int) -> Text:
    """All counts of the recorded games."""
    stats, room = view.stats, max(min(width - 40, 80), 8)
    if not stats.games:
        return Text(_none_yet(view), style=QUIET)
    reasons = sorted(stats.terminations.items(), key=lambda item: -item[1])
    names = [name.replace("_", " ") for name, _ in reasons]
    text = Text.assemble((f"{stats.games:,} games recorded, {stats.plies:,} plies\n\n", "bold"))
    text.append_text(outcome_bar(stats, min(width, 100))).append("\n\n")
    ended = {place: count for place, (_, count) in enumerate(reasons)}
    text.append_text(histogram("ended by", ended, room, lambda place: names[place]))
    lengths = {int(key): count for key, count in stats.lengths.items()}
    text.append_text(histogram("length, plies", lengths, room, lambda low: f"{low}-{low + 31}"))
    steps = {int(key): count for key, count in stats.time_steps.items()}
    text.append_text(histogram("time steps of a position", steps, room, str))
    if stats.resign_checks:
        wrong = stats.resign_false_positives / stats.resign_checks
        text.append(f"resigning checked in {stats.resign_checks:,} games, wrong in {wrong:.0%}\n")
    return text
