"""Times and durations as text."""

from datetime import datetime, tzinfo


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
