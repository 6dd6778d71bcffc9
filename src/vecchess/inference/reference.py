"""The slow backend that is obviously right: the torch module itself, one step at a time.

Runs wherever torch does, with matrix products only, since cuDNN may choose Winograd, which is not
exact. On a GPU that our kernels cannot use, an old one or one of another maker, it is the fallback.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.device_errors import device_work
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.inference.slot_answers import Answers
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.modules.rate_coding import rate_coded
from vecchess.snn.topology import stem_channels
from vecchess.snn.torch_integer import from_integers, unpack_planes


class ReferenceBackend:
    """``Backend`` in plain torch float32. Refuses a network that is not proved exact."""

    @device_work("opening the network")
    def __init__(
        self, net: IntegerNet, num_slots: int, rule: ExitRule, device: str = "cpu"
    ) -> None:
        """S = ``num_slots``; raises ``NetworkError``, ``ConfigError`` and ``DeviceError``."""
        if num_slots < 1:
            raise ConfigError("a backend needs at least one slot")
        check_bounds(net).require_exact()
        self.num_slots = num_slots
        self.time_steps = net.config.time_steps
        self.policy_scale = net.policy_scale
        self.value_scale = net.value_scale
        self._device = _device(device)
        self._unit = 2.0**net.config.grid_bits
        self._module = self._opened(net)
        self._config = net.config
        self._planes = np.zeros((num_slots, net.config.num_planes), np.uint64)
        channels = stem_channels(net.config)
        self._inflow = torch.zeros(num_slots, 8, 8, channels, device=self._device)
        self._membranes = self._module.resting_membranes(num_slots)
        self._legal = torch.zeros(num_slots, MAX_MOVES, dtype=torch.int64, device=self._device)
        self._num_legal = torch.zeros(num_slots, 1, dtype=torch.int64, device=self._device)
        self._columns = torch.arange(MAX_MOVES, device=self._device)
        self._answers = Answers(num_slots, self.time_steps, rule)

    @device_work("admitting positions")
    @torch.no_grad()
    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        self._answers.open(slots, requests, rows)
        where = self._indices(slots)
        self._planes[slots] = requests.planes[rows]
        actions = np.minimum(requests.legal[rows].astype(np.int64), NUM_ACTIONS - 1)
        self._legal[where] = torch.from_numpy(actions).to(self._device)
        counts = requests.num_legal[rows, None].astype(np.int64)
        self._num_legal[where] = torch.from_numpy(counts).to(self._device)
        if not self._config.is_rate_coded:
            self._inflow[where] = self._current(requests.planes[rows])
        for membrane in self._membranes:
            membrane[where] = 0

    @device_work("taking a time step")
    @torch.no_grad()
    def advance(self) -> None:
        """See ``Backend.advance``."""
        answers, slots = self._answers, self._answers.busy()
        if len(slots) == 0:
            return
        where = self._indices(slots)
        before = [membrane[where] for membrane in self._membranes]
        inflow = self._inflow[where] if not self._config.is_rate_coded else self._recoded(slots)
        output = self._module.advance(inflow, before, 1)
        for membrane, after in zip(self._membranes, output.membranes, strict=True):
            membrane[where] = after
        answers.policy[slots] += self._integers(self._of_legal_moves(output.policy[0], where))
        answers.wdl[slots] += self._integers(output.wdl[0])
        answers.judge(slots)

    def settled(self) -> NDArray[np.int32]:
        """See ``Backend.settled``."""
        return self._answers.take_settled()

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.read``."""
        self._answers.write(slots, requests, rows)

    @device_work("replacing the network")
    def replace_network(self, net: IntegerNet) -> None:
        """See ``Backend.replace_network``."""
        if net.config != self._config:
            raise ValueError("the new network has other sizes; open a backend for it")
        self._answers.require_free()
        check_bounds(net).require_exact()
        self._module = self._opened(net)
        self.policy_scale, self.value_scale = net.policy_scale, net.value_scale

    def _opened(self, net: IntegerNet) -> SpikingNet:
        """Without the kernels that training uses: what is compared with kernels uses none."""
        module = from_integers(net).to(self._device).eval()
        module.compiled = False
        return module

    def _current(self, planes: NDArray[np.uint64]) -> torch.Tensor:
        """x0 of ``planes: uint64[B, P]``."""
        return self._module.input_current(unpack_planes(planes, self._device))

    def _recoded(self, slots: NDArray[np.int32]) -> torch.Tensor:
        """[1, B, 8, 8, C]: x0 of the spikes that the planes of ``slots`` send at this step."""
        steps, rate = self._answers.steps[slots], self._config.input_rate
        return self._current(rate_coded(self._planes[slots], steps, rate))[None]

    def _of_legal_moves(self, policy: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
        """[B, L] of [B, 4672]: chosen on the device; columns beyond the legal moves are 0."""
        return policy.gather(1, self._legal[where]) * (self._columns < self._num_legal[where])

    def _indices(self, slots: NDArray[np.int32]) -> torch.Tensor:
        return torch.from_numpy(slots.astype(np.int64)).to(self._device)

    def _integers(self, accumulators: torch.Tensor) -> NDArray[np.int32]:
        """In units of 2^-F."""
        return (accumulators * self._unit).to(torch.int32).cpu().numpy()


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"no device '{name}'; there are cpu and cuda:<number>") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device '{name}' asked for, but torch finds no CUDA device")
    return device
