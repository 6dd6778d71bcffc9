"""A module of torch as an evaluator of ``search.PolicySearch``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Arrays = tuple[NDArray[np.float32], NDArray[np.float32]]


def torch_evaluator(
    module: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Callable[[NDArray[Any]], Arrays]:
    """An evaluator that calls ``module(planes)`` without gradients.

    It gets the planes, ``[K, P, 8, 8]``, as ``dtype`` on ``device``, where the module has to be,
    and returns logits ``[K, 4672]`` and values, ``[K]`` or ``[K, 3]``, see ``PolicySearch``.
    """

    def evaluate(planes: NDArray[Any]) -> Arrays:
        with torch.inference_mode():
            given = torch.from_numpy(planes).to(device, dtype)
            logits, values = (answer.float().cpu().numpy() for answer in module(given))
        return logits, values

    return evaluate
