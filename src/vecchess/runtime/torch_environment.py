"""Variables that torch and its libraries read when torch is imported, and its threads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLES = {
    "TORCH_CPP_LOG_LEVEL": "ERROR",  # torch writes a page where a rank is lost
    # OpenMP's threads would go on spinning after an operator, on the cores that the threads of our
    # kernels and other programs need: on two cores a training step takes up to three times as long
    "OMP_WAIT_POLICY": "PASSIVE",
}


def prepare_environment() -> None:
    """Set the variables that are not set, for this process and those that it starts."""
    for name, value in _VARIABLES.items():
        os.environ.setdefault(name, value)


@contextmanager
def torch_threads(num: int) -> Iterator[None]:
    """Let torch compute with ``num`` threads, at least one, for a block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(max(1, num))
    try:
        yield
    finally:
        torch.set_num_threads(before)
