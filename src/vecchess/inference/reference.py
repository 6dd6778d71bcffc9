"""The slow backend that is obviously right: the torch module itself, one step at a time.

Runs wherever torch does, with matrix products only, since cuDNN may choose Winograd, which is not
exact. It is the fallback on GPUs that the Triton kernels cannot use.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.chess.planes import reads_moves
from vecchess.errors import ConfigError, device_work
from vecchess.inference.host_backend import StepwiseBackend
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.modules.rate_coding import rate_coded
from vecchess.snn.topology import stem_channels
from vecchess.snn.torch_integer import from_integers, in_units


class ReferenceBackend(StepwiseBackend):
    """``Backend`` in plain torch float32. Refuses a network that is not proved exact."""

    @device_work("opening the network")
    def __init__(
        self, net: IntegerNet, num_slots: int, rule: ExitRule, device: str = "cpu"
    ) -> None:
        """S = ``num_slots``; raises ``NetworkError``, ``ConfigError`` and ``DeviceError``."""
        super().__init__(net, num_slots, rule)
        self._device = _device(device)
        self._load(net)
        channels = stem_channels(net.config)
        self._input_current = torch.zeros(num_slots, 8, 8, channels, device=self._device)
        self._membranes = self._module.resting_membranes(num_slots)
        self._legal = torch.zeros(num_slots, MAX_MOVES, dtype=torch.int64, device=self._device)
        self._move_currents = torch.zeros(num_slots, MAX_MOVES, device=self._device)
        self._num_legal = torch.zeros(num_slots, 1, dtype=torch.int64, device=self._device)
        self._columns = torch.arange(MAX_MOVES, device=self._device)

    @device_work("admitting positions")
    @torch.no_grad()
    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Put the questions of ``rows`` into the free ``slots``, at step 0."""
        super().admit(slots, requests, rows)
        at = self._indices(slots)
        actions = np.minimum(requests.legal[rows].astype(np.int64), NUM_ACTIONS - 1)
        self._legal[at] = torch.from_numpy(actions).to(self._device)
        counts = requests.num_legal[rows, None].astype(np.int64)
        self._num_legal[at] = torch.from_numpy(counts).to(self._device)
        if reads_moves(requests.planes.shape[1]):
            words = torch.from_numpy(requests.planes[rows].view(np.int64)).to(self._device)
            self._move_currents[at] = self._module.move_currents(words, MAX_MOVES)
        if not self._module.config.is_rate_coded:
            self._input_current[at] = self._stem_current(requests.planes[rows])
        for membrane in self._membranes:
            membrane[at] = 0

    @device_work("taking a time step")
    @torch.no_grad()
    def _add_step(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> None:
        """Add one step's currents of ``slots`` to policy and wdl of ``rows``."""
        at = self._indices(slots)
        before = [membrane[at] for membrane in self._membranes]
        config = self._module.config
        if config.is_rate_coded:  # other spikes at every step
            coded = rate_coded(requests.planes[rows], requests.steps[rows], config.input_rate)
            current = self._stem_current(coded)[None]
        else:
            current = self._input_current[at]
        output = self._module.advance(current, before, 1)
        for membrane, after in zip(self._membranes, output.membranes, strict=True):
            membrane[at] = after
        requests.policy[rows] += in_units(self._of_legal_moves(output.policy[0], at), config)
        requests.wdl[rows] += in_units(output.wdl[0], config)

    def _load(self, net: PlayableNet) -> None:
        """Without the kernels that training uses: what is compared with kernels uses none."""
        assert isinstance(net, IntegerNet)
        self._module = from_integers(net).to(self._device).eval()
        self._module.compiled = False

    def _stem_current(self, planes: NDArray[np.uint64]) -> torch.Tensor:
        """x0 of ``planes: uint64[B, P]``."""
        words = torch.from_numpy(planes.view(np.int64)).to(self._device)
        return self._module.input_current(words)

    def _of_legal_moves(self, policy: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """[B, L] of [B, 4672]: chosen on the device; columns beyond the legal moves are 0."""
        of_moves = policy.gather(1, self._legal[at]) + self._move_currents[at]
        return of_moves * (self._columns < self._num_legal[at])

    def _indices(self, slots: NDArray[np.int32]) -> torch.Tensor:
        return torch.from_numpy(slots.astype(np.int64)).to(self._device)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"no device '{name}'; there are cpu and cuda:<number>") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device '{name}' asked for, but torch finds no CUDA device")
    return device
