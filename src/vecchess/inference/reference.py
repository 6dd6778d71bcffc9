"""The slow backend that is obviously right: the torch module itself, one step at a time.

Runs on "cpu"; "cuda:<n>" is written with it in mind (matrix products only, since cuDNN may choose
Winograd, which is not exact) but has not run on a GPU yet.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.answers import Answers
from vecchess.inference.exit import ExitRule
from vecchess.inference.requests import Requests
from vecchess.shapes import NUM_ACTIONS
from vecchess.snn.coding import rate_coded
from vecchess.snn.convert import from_integers, unpack_planes
from vecchess.snn.integer_net import IntegerNet
from vecchess.snn.topology import stem_channels


class ReferenceBackend:
    """``Backend`` in plain torch float32. Refuses a network that is not proved exact."""

    def __init__(
        self, net: IntegerNet, num_slots: int, rule: ExitRule, device: str = "cpu"
    ) -> None:
        """S = ``num_slots``; raises ``NetworkError`` and ``ConfigError``."""
        if num_slots < 1:
            raise ConfigError("a backend needs at least one slot")
        net.check().require_exact()
        self.num_slots = num_slots
        self.time_steps = net.config.time_steps
        self.policy_scale = net.policy_scale
        self.value_scale = net.value_scale
        self._device = _device(device)
        self._unit = 2.0**net.config.grid_bits
        self._module = from_integers(net).to(self._device).eval()
        self._config = net.config
        self._planes = np.zeros((num_slots, net.config.num_planes), np.uint64)
        channels = stem_channels(net.config)
        self._inflow = torch.zeros(num_slots, 8, 8, channels, device=self._device)
        self._membranes = self._module.at_rest(num_slots)
        self._answers = Answers(num_slots, self.time_steps, rule)

    @torch.no_grad()
    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        self._answers.open(slots, requests, rows)
        where = self._indices(slots)
        self._planes[slots] = requests.planes[rows]
        if not self._config.is_rate_coded:
            self._inflow[where] = self._current(requests.planes[rows])
        for membrane in self._membranes:
            membrane[where] = 0

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
        actions = np.minimum(answers.legal[slots].astype(np.int64), NUM_ACTIONS - 1)
        answers.policy[slots] += np.take_along_axis(self._integers(output.policy), actions, axis=1)
        answers.wdl[slots] += self._integers(output.wdl)
        self._erase_unused(slots)
        answers.judge(slots)

    def settled(self) -> NDArray[np.int32]:
        """See ``Backend.settled``."""
        return self._answers.take_settled()

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.read``."""
        self._answers.write(slots, requests, rows)

    def _current(self, planes: NDArray[np.uint64]) -> torch.Tensor:
        """x0 of ``planes: uint64[B, P]``."""
        return self._module.inflow(unpack_planes(planes, self._device))

    def _recoded(self, slots: NDArray[np.int32]) -> torch.Tensor:
        """[1, B, 8, 8, C]: x0 of the spikes that the planes of ``slots`` send at this step."""
        steps, rate = self._answers.steps[slots], self._config.input_rate
        return self._current(rate_coded(self._planes[slots], steps, rate))[None]

    def _erase_unused(self, slots: NDArray[np.int32]) -> None:
        """Columns beyond the legal moves stay 0."""
        answers = self._answers
        columns = np.arange(answers.policy.shape[1])
        answers.policy[slots] *= columns < answers.num_legal[slots, None]

    def _indices(self, slots: NDArray[np.int32]) -> torch.Tensor:
        return torch.from_numpy(slots.astype(np.int64)).to(self._device)

    def _integers(self, accumulators: torch.Tensor) -> NDArray[np.int32]:
        """The one step of [1, B, ...] in units of 2^-F."""
        return (accumulators[0] * self._unit).to(torch.int32).cpu().numpy()


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"no device '{name}'; there are cpu and cuda:<number>") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device '{name}' asked for, but torch finds no CUDA device")
    return device
