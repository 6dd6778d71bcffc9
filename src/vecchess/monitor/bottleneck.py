"""What limits the speed of play, and what to do about it."""

from dataclasses import dataclass

from vecchess.safe_parse import Values, number

NEARLY_ALL = 0.9
"""Share of the slots that can be filled, below which they are not."""
ADVICE = {
    "network on the CPU": (
        "To speed up: a smaller --net, fewer time steps (`vecchess calibrate`), or a GPU"
    ),
    "network on a GPU": (
        "As it should be. To speed up: more GPUs, a smaller --net or fewer time steps"
    ),
    "central loop": (
        "The GPU waits for the loop that feeds it. To speed up: more --slots, fewer --movers, or "
        "two workers on a GPU (--gpus 0,0)"
    ),
    "movers beside a CPU": (
        "Making moves takes longer than the network. To speed up: fewer --sims or more --movers"
    ),
    "movers beside a GPU": (
        "The GPU waits for moves. To speed up: more --movers if cores are free, or fewer --sims"
    ),
    "few games left": "All games left are in progress, and too few are left to fill the network",
    "starved": (
        "Network and movers wait for each other. "
        "To speed up: more --concurrent-games or --slots, or fewer workers"
    ),
}
LABELS = {
    "gpu-bound": "Limited by the GPU",
    "cpu-bound": "Limited by the CPU",
    "starved": "Starved",
}


@dataclass(frozen=True)
class Bottleneck:
    """The stage that limits the speed while games are played; all fields are empty otherwise."""

    code: str = ""
    """ "gpu-bound", "cpu-bound", "starved", or ""."""
    label: str = ""
    """ "Limited by the GPU", "Limited by the CPU", "Starved", or ""."""
    advice: str = ""
    """One or two sentences without the last full stop."""
    slowest: str = ""
    """The stage that is busy longest: "network", "loop", "movers"; "learning" while a network
    learns."""
    share: float = 0.0
    """The part of the time in which that stage is busy, 0 to 1."""


def find_bottleneck(load: Values, has_gpu: bool, left: int | None, seated: int) -> Bottleneck:
    """The bottleneck that a load shows. ``left``: games still to finish, None where that is not
    known; ``seated``: games in progress."""
    verdict = load.get("verdict")
    has_begun = number(load, "plies_per_s") > 0 or number(load, "evals_per_s") > 0
    if verdict not in ("device-bound", "host-bound", "mover-bound", "starved") or not has_begun:
        return Bottleneck()
    stages = {
        "network": number(load, "device_busy"),
        "loop": number(load, "host_busy"),
        "movers": number(load, "mover_busy"),
    }
    stage = max(stages, key=lambda name: stages[name])
    if verdict == "starved":
        code, cause = "starved", "starved"
    elif verdict == "device-bound":
        code = "gpu-bound" if has_gpu else "cpu-bound"
        cause = "network on a GPU" if has_gpu else "network on the CPU"
    elif verdict == "host-bound":
        code, cause = "cpu-bound", "central loop"
    else:
        code, cause = "cpu-bound", f"movers beside a {'GPU' if has_gpu else 'CPU'}"
    reach = 0.5 if has_gpu else 1.0  # a GPU's answers are read late: their slots wait as well
    if left is not None and 0 < left <= seated and number(load, "batch_fill") < NEARLY_ALL * reach:
        cause = "few games left"
    return Bottleneck(code, LABELS[code], ADVICE[cause], stage, stages[stage])
