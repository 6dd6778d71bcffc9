"""Times that others have written down, as text."""

from datetime import datetime, tzinfo


def format_time(unix: float, pattern: str = "%H:%M:%S", zone: tzinfo | None = None) -> str:
    """The time ``unix`` by ``pattern``, here or in ``zone``; "" where no calendar has it."""
    try:
        return datetime.fromtimestamp(unix, zone).strftime(pattern)
    except (ValueError, OverflowError, OSError):
        return ""
