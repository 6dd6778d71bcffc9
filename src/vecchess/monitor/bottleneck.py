"""What limits the speed, in words, and what to do about it."""

from dataclasses import dataclass
from typing import Any

from vecchess.monitor.status_reader import Values, number

NEARLY_ALL = 0.9
ADVICE = {
    "network on the processor": (
        "faster: a smaller --net, `vecchess calibrate` (positions leave it earlier), or a GPU"
    ),
    "network on a GPU": (
        "as it should be; faster: more GPUs, a smaller --net or `vecchess calibrate`"
    ),
    "movers beside a processor": (
        "moves take longer than the network: fewer --sims or more --movers make it faster"
    ),
    "movers beside a GPU": (
        "the GPU waits for moves: more --movers, if cores are free, or fewer --sims"
    ),
    "few games left": "all games left are in progress, too few to fill the network: it ends",
    "starved": ("neither has enough to do: more --concurrent-games or --slots, or fewer workers"),
}


@dataclass(frozen=True)
class Verdict:
    """Where the time goes while games are played; all empty while none are."""

    code: str = ""
    """ "gpu-bound", "cpu-bound", "starved", or ""."""
    words: str = ""
    """ "GPU-bound", "CPU-bound", "starved", or ""."""
    advice: str = ""
    """One sentence on what to do."""
    slowest: str = ""
    """The stage that takes longest: "network", "movers"; "learning" while a network learns."""
    share: float = 0.0
    """The part of the time in which that stage is at work, 0 to 1."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(vars(self))


def judge(load: Values, has_gpu: bool, left: int | None, seated: int) -> Verdict:
    """The verdict on a load. ``left``: games still to finish, None where that is not known;
    ``seated``: places for games that are taken, or were."""
    said = load.get("verdict")
    has_begun = number(load, "plies_per_s") > 0 or number(load, "evals_per_s") > 0
    if said not in ("device-bound", "mover-bound", "starved") or not has_begun:
        return Verdict()
    network, movers = number(load, "device_busy"), number(load, "mover_busy")
    stage, share = ("network", network) if network >= movers else ("movers", movers)
    is_gpu = has_gpu and said == "device-bound"
    words = "starved" if said == "starved" else "GPU-bound" if is_gpu else "CPU-bound"
    if left is not None and 0 < left <= seated and number(load, "batch_fill") < NEARLY_ALL:
        advice = ADVICE["few games left"]
    elif said == "starved":
        advice = ADVICE["starved"]
    elif said == "device-bound":
        advice = ADVICE["network on a GPU" if has_gpu else "network on the processor"]
    else:
        advice = ADVICE["movers beside a GPU" if has_gpu else "movers beside a processor"]
    return Verdict(words.lower(), words, advice, stage, share)
