"""Colours of the screen, on a dark background (decision 157)."""

GOOD, WARM, BAD, QUIET, LIVE = "#8ddb8c", "#f0b35e", "#f69d9d", "#8b98a5", "#6cb6ff"
WHITE, DRAW, BLACK = "#e6edf3", "#8b98a5", "#57606a"
STATE_STYLE = {
    "starting": LIVE, "playing": GOOD, "learning": LIVE, "evaluating": LIVE, "done": GOOD,
    "stopped": WARM, "failed": BAD, "gone": BAD, "unknown": QUIET,
}  # fmt: skip
AXIS = (139, 152, 165)
CURVES = (
    (108, 182, 255), (240, 179, 94), (141, 219, 140), (220, 189, 251), (246, 157, 157),
    (150, 208, 255),
)  # fmt: skip
"""Colours of curves, as red, green and blue."""
