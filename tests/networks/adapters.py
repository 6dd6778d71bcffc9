"""What tests of all adapters ask of a network: its outputs step by step, and slots that begin."""

import torch
from torch import Tensor, nn

from vecchess.networks.state_nest import reset_slots

ROWS = 6


def planes() -> Tensor:
    """float32[6, 25, 8, 8] of 0 and 1, the same at every call."""
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 2, (ROWS, 25, 8, 8), generator=generator).float()


@torch.no_grad()
def outputs(network: nn.Module, steps: int) -> Tensor:
    """[T, S, 4675]: outputs of a network that meets the contract."""
    state, found = network.initial_state(ROWS), []
    for _ in range(steps):
        policy, wdl, state = network(planes(), state)
        found.append(torch.cat([policy, wdl], dim=1))
    return torch.stack(found)


@torch.no_grad()
def begins_anew_in_a_slot(network: nn.Module) -> bool:
    """Whether slots that are reset after two steps give their first output again, and only they."""
    first = outputs(network, 1)[0]
    state = network.initial_state(ROWS)
    for _ in range(2):
        _, _, state = network(planes(), state)
    is_new = torch.arange(ROWS) % 2 == 0
    state = reset_slots(state, network.initial_state(ROWS), is_new)
    policy, wdl, _ = network(planes(), state)
    found = torch.cat([policy, wdl], dim=1)
    others_differ = not torch.equal(found[~is_new], first[~is_new])
    return torch.equal(found[is_new], first[is_new]) and others_differ


def learn_through_time(network: nn.Module, steps: int) -> None:
    """Leave gradients of the last output in the parameters."""
    network.train()
    state = network.initial_state(ROWS)
    for _ in range(steps):
        policy, _, state = network(planes(), state)
    policy.square().sum().backward()
