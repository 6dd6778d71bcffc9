"""The Spikformer is served unchanged: its own loop gives the same bits; attention is by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.networks.slots import is_the_same_in_any_slot, served
from torch import Tensor, nn

pytest.importorskip("spikingjelly")

from examples.spikformer.served import make
from examples.spikformer.spikformer import SelfAttention, Spikformer
from spikingjelly.activation_based import functional

from vecchess.chess.unpack_planes import unpack_planes
from vecchess.networks.module_net import create_module_net
from vecchess.selfplay.worker.random_requests import random_requests

ROWS = 32  # as many as a chunk


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that spikes: one whose batch norms have seen positions."""
    torch.manual_seed(1)
    module = make(dim="32").train()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.momentum = 0.5
    planes = torch.from_numpy(unpack_planes(random_requests(32, 3, 25).planes))
    with torch.no_grad():
        for _ in range(6):
            state = module.initial_state(32)
            for _ in range(module.time_steps):
                _, _, state = module(planes, state)
    file: Path = tmp_path_factory.mktemp("spikformer") / "w.safetensors"
    save_file(module.state_dict(), file)
    return f"module:examples.spikformer.served:make?dim=32&weights={file}"


def test_answers_are_the_same_in_any_slot(net: str) -> None:
    assert is_the_same_in_any_slot(net, num_rows=6)


@torch.no_grad()
def test_answers_are_those_of_the_networks_own_loop(net: str) -> None:
    """Each output is rounded to the server's units."""
    value = create_module_net(net, seed=0)
    own = Spikformer(4, 32).eval()
    own.load_state_dict({name[len("net.") :]: tensor for name, tensor in value.tensors.items()})
    requests = random_requests(ROWS, 2, 25)
    _, outcomes = own(torch.from_numpy(unpack_planes(requests.planes)))
    assert outcomes[-1].std(0).min() > 0  # it spikes
    units = (outcomes * 2.0**value.unit_bits).round().cumsum(0).numpy().astype(np.int32)
    _, wdl, steps = served(net, ROWS, list(range(ROWS)), ROWS)
    assert np.array_equal(wdl, units[steps - 1, range(ROWS)])


@torch.no_grad()
def test_attention_counts_spikes() -> None:
    """For each head and square: which values the squares have whose keys meet the query."""
    torch.manual_seed(2)
    attention, tokens = SelfAttention(8, heads=2).eval(), 9 * torch.rand(3, 64, 8)
    seen: list[Tensor] = []
    attention.attended.register_forward_pre_hook(lambda _node, args: seen.append(args[0]))
    attention(tokens)
    functional.reset_net(attention)
    parts = [getattr(attention, name)(tokens).int() for name in ("query", "key", "value")]
    for head in (slice(0, 4), slice(4, 8)):
        query, key, value = (part[:, :, head] for part in parts)
        common = (query[:, :, None] & key[:, None]).sum(3)
        assert common.any()
        counts = (common[:, :, :, None] * value[:, None]).sum(2)
        assert torch.equal(seen[0][:, :, head], 0.125 * counts)
