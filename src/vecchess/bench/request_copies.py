"""Questions to be asked of several engines: everyone gets a copy of its own to write answers to."""

import numpy as np

from vecchess.inference.requests import Requests


def unanswered(questions: Requests, num: int | None = None) -> Requests:
    """The first ``num`` rows (all by default) as a copy, without answers."""
    rows = slice(num)
    return Requests(
        planes=questions.planes[rows].copy(),
        legal=questions.legal[rows].copy(),
        num_legal=questions.num_legal[rows].copy(),
        policy=np.zeros_like(questions.policy[rows]),
        wdl=np.zeros_like(questions.wdl[rows]),
        steps=np.zeros_like(questions.steps[rows]),
    )
