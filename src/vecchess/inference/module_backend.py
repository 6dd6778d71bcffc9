"""The backend of a module that a user brings: S slots, computed in chunks of one size.

A sum of floats may depend on how many rows are computed together. So every time step computes
whole chunks, with what is left in empty slots; a chunk is computed by one thread, and opening
compares the bits that rows give in other places (``networks.step_module``).

Decision 256.
"""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vecchess.chess.unpack_planes import unpack_planes
from vecchess.errors import NetworkError, device_work
from vecchess.inference.float_backend import accumulators
from vecchess.inference.host_backend import StepwiseBackend
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.networks.module_net import LOGIT_BITS, ModuleNet
from vecchess.networks.state_nest import Nest, reset_slots
from vecchess.networks.step_function import exact_convolutions, step_function
from vecchess.networks.step_module import (
    StepFunction,
    StepModule,
    answer_of,
    check_step_module,
    placement,
)
from vecchess.runtime.plugin import users_code
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.snn.integer.integer_net import ExitRule

CPU_CHUNK, GPU_CHUNK = 32, 256
"""Positions computed at a time."""
MOST_LOGIT = float(1 << LOGIT_BITS)


class ModuleBackend(StepwiseBackend):
    """``Backend`` whose slots hold the states of a torch module."""

    @device_work("opening the network")
    def __init__(
        self,
        net: ModuleNet,
        num_slots: int,
        rule: ExitRule,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        """``threads``: of the processor; on a GPU, and where steps are compiled, there is one.
        Raises ConfigError, NetworkError and DeviceError."""
        super().__init__(net, num_slots, rule)
        self._device = torch.device(device)
        self._name, self._readout = net.config.module, net.config.readout
        self._unit = float(1 << net.unit_bits)
        self._chunk = net.spec.chunk or (CPU_CHUNK if device == "cpu" else GPU_CHUNK)
        num_chunks = -(-num_slots // self._chunk)
        is_threaded = device == "cpu" and not net.spec.is_compiled
        threads = min(threads, num_chunks) if is_threaded else 1
        self._pool = ThreadPoolExecutor(threads, "module", torch.set_num_threads, (1,))
        self._modules, steps = self._pool.submit(self._opened, net, threads).result()
        planes = torch.zeros(self._chunk, net.config.num_planes, 8, 8, device=self._device)
        self._chunks = [
            ModuleChunk(self._modules[i % threads], steps[i % threads], planes.clone(), self._name)
            for i in range(num_chunks)
        ]

    @property
    def chunk(self) -> int:
        """Positions computed at a time."""
        return self._chunk

    @device_work("admitting positions")
    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Put the questions of ``rows`` into the free ``slots``, at step 0."""
        super().admit(slots, requests, rows)
        planes = torch.from_numpy(unpack_planes(requests.planes[rows])).to(self._device)
        for index, members in self._by_chunk(slots):
            places = torch.from_numpy(slots[members].astype(np.int64) % self._chunk)
            self._chunks[index].admit(places.to(self._device), planes[members])

    @device_work("taking a time step")
    def _add_step(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> None:
        parts, num_lanes = self._by_chunk(slots), len(self._modules)

        def compute(lane: int) -> None:
            for index, members in parts:
                if index % num_lanes == lane:  # the chunks of this thread's module
                    self._compute(index, slots[members], rows[members], requests)

        list(self._pool.map(compute, range(num_lanes)))

    def _compute(
        self, index: int, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> None:
        """One step of a chunk, and the answers of its occupied ``slots`` into ``rows``."""
        with torch.inference_mode(), exact_convolutions(self._device):
            at = torch.from_numpy(slots.astype(np.int64) % self._chunk).to(self._device)
            with users_code(self._name, "a time step"):
                policy, wdl = self._chunks[index].advance(at)
            legal = np.minimum(requests.legal[rows].astype(np.int64), NUM_ACTIONS - 1)
            moves = policy[at].gather(1, torch.from_numpy(legal).to(self._device))
            logits = moves.float().cpu().numpy(), wdl[at].float().cpu().numpy()
        found, outcomes = (
            self._units(values, name, rows, requests)
            for values, name in zip(logits, ("policy", "win/draw/loss"), strict=True)
        )
        found *= np.arange(MAX_MOVES) < requests.num_legal[rows, None]
        if self._readout == "last":
            times = requests.steps[rows, None].astype(np.int32) + 1
            requests.policy[rows], requests.wdl[rows] = found * times, outcomes * times
        else:
            requests.policy[rows] += found
            requests.wdl[rows] += outcomes

    def _units(
        self, logits: NDArray[np.float32], what: str, rows: NDArray[np.int32], requests: Requests
    ) -> NDArray[np.int32]:
        """Logits [K, N] of ``rows`` in accumulator units; raises NetworkError for one that is not
        finite."""
        if not np.isfinite(logits).all():
            row, column = np.argwhere(~np.isfinite(logits))[0]
            board = placement(requests.planes[rows[row]])
            raise NetworkError(
                f"{self._name}: {what} is {logits[row, column]} in step "
                f"{int(requests.steps[rows[row]]) + 1} of {board}"
            )
        return accumulators(logits, self._name, self._unit, MOST_LOGIT)

    def _by_chunk(self, slots: NDArray[np.int32]) -> list[tuple[int, NDArray[np.int64]]]:
        """Chunks with members of ``slots``, and which these are."""
        chunks = slots // self._chunk
        return [(int(index), np.flatnonzero(chunks == index)) for index in np.unique(chunks)]

    def _opened(self, net: ModuleNet, count: int) -> tuple[list[StepModule], list[StepFunction]]:
        """The module on its device and its time step, once for each thread, checked."""
        module = net.module()
        assert isinstance(module, nn.Module)
        with users_code(self._name, "a copy of it"):
            module.requires_grad_(requires_grad=False).to(self._device)
            copies: list[StepModule] = [module, *(deepcopy(module) for _ in range(count - 1))]
        steps = [step_function(copy, net.spec, self._device) for copy in copies]
        with exact_convolutions(self._device):
            check_step_module(module, net.config, self._chunk, steps)
        return copies, steps

    def _require_exact(self, net: PlayableNet) -> None:
        """Do without a proof: nothing is proved of floats, and opening has compared their bits."""

    def _load(self, net: PlayableNet) -> None:
        assert isinstance(net, ModuleNet)
        for module in self._modules:
            assert isinstance(module, nn.Module)
            with users_code(self._name, "its state dict"):
                module.load_state_dict(net.tensors)
        for chunk in self._chunks:
            chunk.forget_initial()


class ModuleChunk:
    """Slots that are always computed together, and the state of each."""

    def __init__(self, module: StepModule, step: StepFunction, planes: Tensor, name: str) -> None:
        """``step`` computes a time step of ``module``; planes: float32[chunk, P, 8, 8], zeros, on
        the module's device; name: the module's, for messages."""
        self._module, self._step, self._planes, self._name = module, step, planes, name
        self._initial: Nest = None
        self._state: Nest = None
        self._is_new = torch.ones(len(planes), dtype=torch.bool, device=planes.device)

    def admit(self, places: Tensor, planes: Tensor) -> None:
        """Put ``planes: float32[K, P, 8, 8]`` into ``places: int64[K]``, before the first step."""
        self._planes[places] = planes
        self._is_new[places] = True

    def forget_initial(self) -> None:
        """Ask the module for its initial state again: its weights are others now."""
        self._initial = None

    def advance(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """One step of every slot: policy [chunk, 4672] and wdl [chunk, 3]. ``places: int64[K]`` are
        occupied; the others take a first step again and again, so that none takes more than T."""
        if self._initial is None:
            self._initial = self._module.initial_state(len(self._planes))
            self._state = self._initial if self._state is None else self._state
        is_empty = torch.ones_like(self._is_new)
        is_empty[places] = False
        begins = self._is_new | is_empty
        if bool(begins.any()):
            self._state = reset_slots(self._state, self._initial, begins)
        self._is_new.zero_()
        output = self._step(self._planes, self._state)
        policy, wdl, self._state = answer_of(output, len(self._planes), self._name)
        return policy, wdl
