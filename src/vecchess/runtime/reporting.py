"""Lines for people: the type of what prints or forwards them, and how durations are written."""

from collections.abc import Callable

ReportLine = Callable[[str], object]
"""Takes one line for people, and prints it, forwards it to a parent process or drops it."""


def no_report(line: str) -> None:
    """Drop ``line``."""


def as_clock(seconds: float) -> str:
    """3725 as 1:02:05."""
    minutes, whole = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{whole:02d}"
