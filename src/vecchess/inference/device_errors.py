"""Failures of a device as typed errors of one line (decision 120)."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from vecchess.errors import DeviceError

OUT_OF_MEMORY = ("out of memory", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED")
FAILED = (
    "CUDA error",
    "CUDA driver error",
    "HIP error",
    "Triton Error",
    "cuBLAS",
    "CUBLAS_STATUS",
    "CUDNN_STATUS",
    "AcceleratorError",
)
NO_KERNEL = ("OutOfResources", "PTXASError")
"""Triton's errors, which are no RuntimeErrors, for a kernel that the device cannot hold."""

P = ParamSpec("P")
R = TypeVar("R")


def device_work(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: failures of the device inside become ``DeviceError``; others pass unchanged."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                device_error = as_device_error(error, what)
                if device_error is None:
                    raise
                raise device_error from error

        return guarded

    return decorate


def as_device_error(error: Exception, what: str) -> DeviceError | None:
    """``error`` as a DeviceError, None if it does not come from the device.

    torch.OutOfMemoryError and torch.AcceleratorError are RuntimeErrors; older and other failures
    are told apart by their text alone.
    """
    name, text = type(error).__name__, f"{type(error).__name__}: {error}"
    first_line = (str(error).strip() or name).split("\n")[0]
    if name in NO_KERNEL:
        return DeviceError(
            f"the device cannot hold a kernel while {what}: {first_line}; use --backend reference"
        )
    if not isinstance(error, RuntimeError):
        return None
    if name == "OutOfMemoryError" or any(sign in text for sign in OUT_OF_MEMORY):
        advice = "use fewer --slots, or free memory on the device"
        return DeviceError(f"out of device memory while {what}: {first_line}; {advice}", True)
    if any(sign in text for sign in FAILED):
        advice = "look at the driver's log (dmesg, nvidia-smi) if it happens again"
        return DeviceError(f"the device failed while {what}: {first_line}; {advice}")
    return None
