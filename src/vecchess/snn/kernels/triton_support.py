"""Finds out whether Triton kernels can run on a device, and why they cannot."""

import warnings
from importlib.util import find_spec

LEAST_CAPABILITY = (8, 0)
"""Compute capability of the first GPUs that Triton supports with asynchronous copies, which our
kernels need."""


def obstacle_to_gpu() -> str:
    """Why torch cannot compute on a GPU here, with torch's own reason; "" where it can."""
    import torch

    with warnings.catch_warnings(action="ignore"):  # the same reason, once a process
        if torch.cuda.is_available():
            return ""
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        line = str(error).strip().split("\n")[0]
        return f"torch finds no CUDA device: {line}"
    return "torch finds no CUDA device"


def obstacle_to_triton(device: str) -> str:
    """Why kernels cannot run on ``device`` ("cpu" or "cuda:<n>"), for people; "" where they can.

    On the processor they need Triton's interpreter, which is for tests.
    """
    if find_spec("triton") is None:
        return "Triton is not installed"
    import torch

    if device == "cpu":
        import triton

        interpreted = triton.knobs.runtime.interpret
        return "" if interpreted else "the Triton kernels need a GPU (or TRITON_INTERPRET=1)"
    if obstacle := obstacle_to_gpu():
        return obstacle
    if torch.version.hip:
        return "the Triton kernels were made for NVIDIA GPUs, and this torch is built for ROCm"
    capability = torch.cuda.get_device_capability(device)
    if capability < LEAST_CAPABILITY:
        have, need = (".".join(map(str, version)) for version in (capability, LEAST_CAPABILITY))
        gpu = torch.cuda.get_device_name(device)
        return f"{gpu} has compute capability {have}, the Triton kernels need {need}"
    return ""
