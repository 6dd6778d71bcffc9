"""All peers, opened, tuned and compared with our answers; or the reason why one is missing."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from bench.peers.agreement import Agreement, compare
from bench.peers.peer import Answer, Peer
from torch import Tensor, nn

from vecchess.bench.entrants import EntrantSetup, reference_answers
from vecchess.bench.inference import BITS
from vecchess.errors import VecchessError
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.modules.network import unpack_bitboards
from vecchess.snn.modules.neuron import lif_steps

SNNTORCH, COMPILED, SPIKINGJELLY = "snntorch", "snntorch_compiled", "spikingjelly"
RELU_TORCH = "relu_twin_torch"
OTHER_NEURON = (
    "its LIF fires at u >= 1, ours at u > 1, or u > 2 after a step that left more than 1 behind; "
    "with our neuron in its place its layers give our bits"
)
UNROUNDED = "activations in float32, not rounded down to seven bits"
WIRED = 8
"""Positions on which a peer is shown to have our layers."""


@dataclass
class OpenedPeers:
    """Peers that answer, and why the others do not run."""

    entrants: list[Peer] = field(default_factory=list)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name -> how far it agrees with us, and how it was run."""
    missing: dict[str, str] = field(default_factory=dict)
    """Name -> why it does not run."""
    of_twin: set[str] = field(default_factory=set)
    """Names of those that compute the ReLU twin."""

    def add(self, name: str, opened: Callable[[], tuple[Peer, Agreement]]) -> None:
        """Open a peer, or note in one line why that cannot be."""
        try:
            peer, agreement = opened()
        except (ImportError, RuntimeError, VecchessError) as error:
            self.missing[name] = str(error).strip().split("\n")[0]
            return
        self.entrants.append(peer)
        self.facts[name] = agreement.to_dict() | peer.facts()


@dataclass(frozen=True)
class Questions:
    """A network, requests, its own answers to the first of them, and the device of peers."""

    net: IntegerNet
    asked: Requests
    expected: Requests
    device: str

    def entrant(self, name: str, answer: Answer) -> Peer:
        """``answer`` as a peer."""
        return Peer(name, answer, self.asked, self.device, self.net.config.time_steps)

    def agreement(self, peer: Peer) -> Agreement:
        """How far ``peer`` answers like the network."""
        unit = 2.0**-self.net.config.grid_bits
        return compare(*peer.accumulators(self.expected.num_rows), unit, self.expected)

    def required(self, peer: Peer) -> Agreement:
        """The same of a peer with our neuron: on the CPU nothing may differ.

        On a GPU cuDNN may choose a convolution that rounds, and then some spikes differ.
        """
        agreement = self.agreement(peer)
        if self.device == "cpu" and agreement.agrees != BITS:
            raise VecchessError(f"{peer.name} answers differently: not reported")
        return agreement


def open_peers(
    setup: EntrantSetup, net: IntegerNet, twin: IntegerNet, requests: Requests
) -> OpenedPeers:
    """Every peer of a spiking network, and torch's way of computing its ReLU twin."""
    never, found = ExitRule.never(), OpenedPeers(of_twin={RELU_TORCH})
    spiking, dense = (
        Questions(one, requests, reference_answers(one, requests, never), setup.device)
        for one in (net, twin)
    )
    found.add(SNNTORCH, partial(_snntorch, spiking))
    found.add(COMPILED, partial(_compiled, spiking, found))
    found.add(SPIKINGJELLY, partial(_spikingjelly, spiking))
    found.add(RELU_TORCH, partial(_relu, dense))
    return found


def _snntorch(questions: Questions) -> tuple[Peer, Agreement]:
    from bench.peers.snntorch_loop import SnntorchLoop

    module = SnntorchLoop(questions.net)
    require_wired(SNNTORCH, module, questions)
    peer = _tuned(SNNTORCH, module, questions)
    return peer, questions.required(peer)


def _compiled(questions: Questions, found: OpenedPeers) -> tuple[Peer, Agreement]:
    """The snntorch loop under torch.compile, in the shape that suited it uncompiled."""
    from bench.peers.snntorch_loop import SnntorchLoop

    plain = next((peer for peer in found.entrants if peer.name == SNNTORCH), None)
    if plain is None:
        raise VecchessError("the snntorch loop itself does not run here")
    module = SnntorchLoop(questions.net).to(questions.device)
    module.compile(dynamic=False)
    peer = questions.entrant(COMPILED, module)
    peer.settle(plain.batch, plain.layout)
    return peer, questions.required(peer)


def _spikingjelly(questions: Questions) -> tuple[Peer, Agreement]:
    from bench.peers.spikingjelly_layers import SpikingjellyLayers

    try:
        grid_bits = questions.net.config.grid_bits
        ours = SpikingjellyLayers(questions.net, neuron=lambda: OurNeuron(grid_bits))
        require_wired(SPIKINGJELLY, ours, questions)
        module = SpikingjellyLayers(questions.net)
    except ImportError:
        raise VecchessError("not installed: pip install 'vecchess[peers]'") from None
    peer = _tuned(SPIKINGJELLY, module, questions)
    return peer, replace(questions.agreement(peer), note=OTHER_NEURON)


def _relu(questions: Questions) -> tuple[Peer, Agreement]:
    from bench.peers.relu_tower import ReluTower

    peer = _tuned(RELU_TORCH, ReluTower(questions.net), questions)
    return peer, replace(questions.agreement(peer), note=UNROUNDED)


def _tuned(name: str, module: nn.Module, questions: Questions) -> Peer:
    peer = questions.entrant(name, module.to(questions.device))
    peer.tune()
    return peer


class OurNeuron(nn.Module):
    """``snn.neuron`` in the place of a peer's: currents [T, ...] -> spikes [T, ...], from rest."""

    def __init__(self, grid_bits: int) -> None:
        """On the grid of 2^-``grid_bits``."""
        super().__init__()
        self.grid_bits = grid_bits

    def forward(self, currents: Tensor) -> Tensor:
        return lif_steps(currents, torch.zeros_like(currents[0]), self.grid_bits)[0]


@torch.no_grad()
def require_wired(name: str, module: nn.Module, questions: Questions) -> None:
    """Raise ``VecchessError`` unless ``module``, on the CPU, has our answers to the bit."""
    planes = unpack_bitboards(torch.from_numpy(questions.asked.planes[:WIRED])).permute(0, 3, 1, 2)
    policy, wdl = module(planes.contiguous())
    unit = 2.0**-questions.net.config.grid_bits
    rows = first_rows(questions.expected, len(planes))
    if compare(policy.numpy(), wdl.numpy(), unit, rows).agrees != BITS:
        raise VecchessError(f"{name} answers differently: not reported")


def first_rows(requests: Requests, num: int) -> Requests:
    """The first ``num`` rows, as views."""
    return requests.part(slice(num))
