"""Ghost batch norm: against torch's batch norm, and the same however a batch is split."""

import pytest
import torch

from vecchess.snn.modules.fused_layer import EPSILON
from vecchess.snn.modules.ghost_norm import MOMENTUM, GhostNorm

BOTH_WAYS = pytest.mark.parametrize("compiled", [True, False])


def _norm(group: int = 32, channels: int = 5) -> GhostNorm:
    norm = GhostNorm(channels, 1.0, 0.0, group)
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(0.5, 2, channels))
        norm.bias.copy_(torch.linspace(-1, 1, channels))
    return norm.train()


def _currents(boards: int, steps: int = 2, channels: int = 5) -> torch.Tensor:
    torch.manual_seed(boards)
    scale = torch.linspace(0.1, 3, channels)
    return torch.randn(steps, boards, 8, 8, channels) * scale + 2 * scale


@BOTH_WAYS
def test_one_group_is_torchs_batch_norm(compiled: bool) -> None:
    norm, currents = _norm(), _currents(20)
    oracle = torch.nn.BatchNorm1d(5, eps=EPSILON, momentum=MOMENTUM)
    oracle.load_state_dict(norm.state_dict(), strict=False)
    expected = oracle(currents.flatten(0, -2)).view(currents.shape)
    assert torch.allclose(norm(currents, compiled), expected, atol=1e-5)
    assert torch.equal(norm.running_mean, torch.zeros(5))
    norm.absorb()
    assert torch.allclose(norm.running_mean, oracle.running_mean, atol=1e-6)
    assert torch.allclose(norm.running_var, oracle.running_var, rtol=1e-3)
    norm.eval()
    oracle.load_state_dict(norm.state_dict(), strict=False)
    expected = oracle.eval()(currents.flatten(0, -2)).view(currents.shape)
    assert torch.allclose(norm(currents, compiled), expected, atol=1e-5)


def _learned(norm: GhostNorm, parts: list[torch.Tensor], compiled: bool) -> list[torch.Tensor]:
    """Outputs, gradients of the currents, of weight and bias, and running statistics."""
    norm.zero_grad()
    inputs = [part.clone().requires_grad_() for part in parts]
    outputs = [norm(part, compiled) for part in inputs]
    for output in outputs:
        (output.square() * output).sum().backward()
    norm.absorb()
    gradients = [part.grad for part in inputs if part.grad is not None]
    of_norm = [norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var]
    return [torch.cat(outputs, 1), torch.cat(gradients, 1), *(p.clone() for p in of_norm)]


@BOTH_WAYS
@pytest.mark.parametrize("boards", [64, 75])
def test_split_batch_is_the_whole_batch(compiled: bool, boards: int) -> None:
    currents = _currents(boards)
    whole = _learned(_norm(), [currents], compiled)
    halves = _learned(_norm(), [currents[:, :32], currents[:, 32:]], compiled)
    assert torch.equal(whole[0], halves[0])
    for one, other in zip(whole[1:], halves[1:], strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-4)


def _defined(norm: GhostNorm, currents: torch.Tensor) -> torch.Tensor:
    """The norm of groups of the same size as it is defined."""
    grouped = currents.unflatten(1, (-1, min(norm.group, currents.shape[1]))).flatten(2, -2)
    variance, mean = torch.var_mean(grouped, dim=(0, 2), correction=0)
    apart = (grouped - mean[:, None]) * torch.rsqrt(variance + EPSILON)[:, None]
    return (apart * norm.weight + norm.bias).view(currents.shape)


@pytest.mark.parametrize("boards", [20, 64])
def test_one_product_and_sum_are_the_norm(boards: int) -> None:
    """What a GPU computes, against float64; for the backward it keeps the currents alone."""
    currents, found, num_kept = _currents(boards), [], []
    ways = [_defined, _defined, GhostNorm._normalise_equal]
    for kind, normalise in zip([torch.float64, torch.float32, torch.float32], ways, strict=True):
        norm, inputs = _norm().to(kind), currents.to(kind, copy=True).requires_grad_()
        kept: set[int] = set()

        def keep(tensor: torch.Tensor, kept: set[int] = kept) -> torch.Tensor:
            if tensor.numel() == currents.numel():
                kept.add(tensor.data_ptr())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            normed = normalise(norm, inputs)
        num_kept.append(len(kept))
        (normed.square() * normed).sum().backward()
        found.append([normed, inputs.grad, norm.weight.grad, norm.bias.grad])
    for exact, ours in zip(found[0], found[2], strict=True):
        assert (ours - exact).norm() <= 1e-5 * exact.norm()
    assert num_kept[2] == 1 < num_kept[1]


def test_groups_have_statistics_of_their_own() -> None:
    currents = _currents(64)
    currents[:, 32:] += 100
    normed = _norm()(currents, True)
    middles = [half.mean((0, 1, 2, 3)) for half in normed.split(32, dim=1)]
    assert torch.allclose(*middles, atol=1e-4)


def test_kernels_do_what_torch_does() -> None:
    currents = _currents(75)
    pairs = zip(
        _learned(_norm(), [currents], True), _learned(_norm(), [currents], False), strict=True
    )
    for ours, theirs in pairs:
        assert (ours - theirs).norm() <= 1e-5 * theirs.norm()


@BOTH_WAYS
@pytest.mark.parametrize("is_same", [False, True])
def test_shortcut_is_added(compiled: bool, is_same: bool) -> None:
    norm, currents = _norm(), _currents(40)
    shortcut = torch.randn(1 if is_same else 2, *currents.shape[1:], requires_grad=True)
    added = shortcut.expand(currents.shape)
    found = norm(currents, compiled, added)
    assert torch.equal(found, norm(currents, compiled) + added)
    upstream = torch.randn_like(found)
    found.backward(upstream)
    expected = upstream.sum(0, keepdim=True) if is_same else upstream
    assert torch.equal(shortcut.grad, expected)


def test_sums_over_ranks_move_the_statistics_as_one_rank_would() -> None:
    currents = _currents(64)
    alone, ranks = _norm(), [_norm(), _norm()]
    for part in currents.split(32, dim=1)[::-1]:
        alone(part, True)
    for rank, part in zip(ranks, currents.split(32, dim=1), strict=True):
        rank(part, True)
    total = ranks[0].pending + ranks[1].pending
    for rank in ranks:
        rank.pending.copy_(total)
        rank.absorb()
    alone.absorb()
    assert torch.equal(alone.running_mean, ranks[0].running_mean)
    assert torch.equal(alone.running_var, ranks[0].running_var)
    assert torch.equal(ranks[0].running_var, ranks[1].running_var)
    ranks[0].absorb()
    assert torch.equal(ranks[0].running_var, ranks[1].running_var)


@BOTH_WAYS
def test_statistics_are_float32_whatever_the_forward_is_computed_in(compiled: bool) -> None:
    exact, reduced = _norm(), _norm()
    exact(_currents(75), compiled)
    with torch.autocast("cpu", torch.bfloat16):
        reduced(_currents(75), compiled)
    assert torch.equal(exact.pending, reduced.pending)


def test_momentum_is_as_exact_as_in_torch() -> None:
    for momentum in (0.1, 0.7, 1.0):
        norm = _norm()
        torch.nn.init.normal_(norm.running_mean)
        norm(_currents(75), True)
        mean = (norm.pending[:5] / norm.pending[-1]).float()
        expected = norm.running_mean.lerp(mean, momentum)
        norm.absorb(momentum)
        assert torch.equal(norm.running_mean, expected)
