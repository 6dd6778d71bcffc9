"""Networks as tutorials write them are served as what they are, or refused with the reason."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.networks.adapters import ROWS, outputs, planes
from tests.networks.tutorial_networks import REFUSED, SERVED, STEPS
from vecchess.errors import NetworkError
from vecchess.networks.module_net import create_module_net
from vecchess.networks.step_module import check_step_module

HERE = "module:tests.networks.tutorial_networks"


def own_answers(net: Any, readout: str) -> Tensor:
    """Mean or last of what a network's own loop gives, float32[S, 4675]."""
    if isinstance(net, nn.Sequential):  # its user calls it once a time step
        found = [net(planes()) for _ in range(STEPS)]
        found = [one[0] if isinstance(one, tuple) else one for one in found]
    else:
        given = net(planes())
        found = given[0] if isinstance(given, tuple) else given
        if isinstance(found, Tensor) and found.dim() == 2:
            return found
    stacked = torch.stack(list(found))
    return stacked.mean(0) if readout == "mean" else stacked[-1]


@torch.no_grad()
@pytest.mark.parametrize("kind", SERVED)
def test_what_is_served_is_what_the_network_computes(kind: str) -> None:
    torch.manual_seed(1)
    make = SERVED[kind]()
    net = make.__closure__[0].cell_contents  # type: ignore[attr-defined]
    for parameter in net.parameters():
        parameter.mul_(5 if parameter.dim() > 1 else 1)
    own = copy.deepcopy(net).eval()
    network: Any = make().eval()
    found = outputs(network, STEPS)
    found = found.mean(0) if network.readout == "mean" else found[-1]
    expected = own_answers(own, network.readout)
    assert expected.std(0).max() > 0
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    network.check_own_loop(planes())


@pytest.mark.parametrize("kind", REFUSED)
def test_what_would_be_another_network_is_refused_with_the_reason(kind: str) -> None:
    spec = f"{HERE}:refused?kind={kind}"
    with pytest.raises(NetworkError, match=REFUSED[kind][1]) as error:
        _opened(spec)
    assert str(error.value).startswith(spec)
    assert "\n" not in str(error.value)


def _opened(spec: str) -> None:
    net = create_module_net(spec, seed=1)
    check_step_module(net.module(), net.config, ROWS)
