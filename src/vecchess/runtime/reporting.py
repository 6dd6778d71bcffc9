"""Lines for people: the type of what prints or forwards them, and times and durations as text."""

from collections.abc import Callable
from datetime import datetime, tzinfo

ReportLine = Callable[[str], object]
"""Takes one line for people, and prints it, forwards it to a parent process or drops it."""


def no_report(line: str) -> None:
    """Drop ``line``."""


def as_clock(seconds: float) -> str:
    """3725 as 1:02:05."""
    minutes, whole = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{whole:02d}"


def format_time(unix: float, pattern: str = "%H:%M:%S", zone: tzinfo | None = None) -> str:
    """``unix`` by ``pattern``, in local time or in ``zone``; "" where no calendar has it."""
    try:
        return datetime.fromtimestamp(unix, zone).strftime(pattern)
    except (ValueError, OverflowError, OSError):
        return ""


def rounded_duration(seconds: float) -> str:
    """40 s, 12 min, 5 h, 3 days."""
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"
