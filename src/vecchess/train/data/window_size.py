"""How many positions the replay window holds: a power law in those made so far, as KataGo's."""


def window_size(
    total_positions: int, scale: int = 250_000, exponent: float = 0.75, slope: float = 0.4
) -> int:
    """Positions to keep of ``total_positions`` made so far.

    N = c * (1 + beta * ((n / c) ** alpha - 1) / alpha), with c = ``scale``, alpha = ``exponent``
    and beta = ``slope``: all of the first c, then at most beta of what is new (Wu 2019,
    "Accelerating Self-Play Learning in Go", whose figures are the defaults).
    """
    if total_positions <= scale:
        return scale
    grown = float((total_positions / scale) ** exponent) - 1
    return round(scale * (1 + slope * grown / exponent))
