"""Answers of a module in slots: the same in every slot, with any neighbours."""

import numpy as np

from tests.inference.requests import Answers, answer, same
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.requests import Requests
from vecchess.networks.module_net import create_module_net
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.integer.integer_net import ExitRule


def served(net: str, num_slots: int, order: list[int], stride: int, threads: int = 1) -> Answers:
    """Answers of ``len(order)`` random positions, admitted in ``order``; seed 0 for new weights."""
    network = create_module_net(net, seed=0)
    requests = random_requests(len(order), 2, network.config.num_planes)
    backend = open_backend("auto", network, num_slots, threads=threads)
    return legal_only(requests, answer(backend, requests, order, stride))


def is_the_same_in_any_slot(net: str, num_rows: int = 8) -> bool:
    """Whether the bits of every answer are those of the position alone in the first slot."""
    forward, backward = list(range(num_rows)), list(reversed(range(num_rows)))
    alone = served(net, 1, forward, 1)
    others = (
        served(net, 5, forward, 2),
        served(net, num_rows, backward, num_rows),
        served(net, 24, backward, 3, threads=2),
    )
    return all(same(alone, other) for other in others)


def unchanged_rule(net: str) -> ExitRule:
    """The exit rule that a network's module asks for."""
    return ExitRule.from_metadata(create_module_net(net, seed=0).exit_rule)


def legal_only(requests: Requests, answers: Answers) -> Answers:
    """``answers`` with 0 in the columns behind the legal moves, which are undefined."""
    policy, wdl, steps = answers
    is_legal = np.arange(policy.shape[1]) < requests.num_legal[:, None]
    return policy * is_legal, wdl, steps
