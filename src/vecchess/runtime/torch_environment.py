"""Variables that torch and its libraries read when torch is imported."""

import os

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
