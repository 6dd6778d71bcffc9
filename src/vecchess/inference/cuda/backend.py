"""``Backend`` on an NVIDIA GPU: kernels that never wait for the host, and a host that never waits
for the last time step.

    host       admit n+1   settled n-1   admit n+2   settled n    ...
                  |            ^            |           ^
    device   [admit | call n+1 ............][admit | call n+2 ............]

A call of ``advance`` is one CUDA graph over all S slots, of one or two time steps, as the tile is.
Kernels list the busy slots themselves and take a slot off the list at the step it settles, so the
host sends nothing but questions. Which slots have settled is read one call late: the answers of
call n are copied while call n + 1 runs.
"""

from collections.abc import Callable
from contextlib import suppress
from weakref import finalize

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.errors import ConfigError, device_work
from vecchess.inference.cuda.device_weights import DeviceWeights
from vecchess.inference.cuda.launches import Launches
from vecchess.inference.cuda.staging import StagingBuffer, copy_answers
from vecchess.inference.cuda.state import HostAnswers, SlotState, Widths
from vecchess.inference.cuda.streams import NUM_BUFFERS, CudaStreams, Streams
from vecchess.inference.cuda.tiles import Tile
from vecchess.inference.cuda.tuning import choose_tile, compiling_alone
from vecchess.inference.host_backend import require_free, require_questions, require_same_sizes
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet


class CudaBackend:
    """``Backend`` in Triton kernels. Refuses a network that is not proved exact."""

    _state: SlotState
    _weights: DeviceWeights
    _launches: Launches
    _step: Callable[[], None]

    @device_work("opening the network")
    def __init__(
        self,
        net: IntegerNet,
        num_slots: int,
        rule: ExitRule,
        device: str = "cuda:0",
        tile: Tile | None = None,
    ) -> None:
        """S = ``num_slots``. ``tile`` None takes the fastest one, measured the first time.

        On "cpu" the kernels run in Triton's interpreter, where TRITON_INTERPRET=1 was set before
        they were imported: for tests. Raises NetworkError, ConfigError and DeviceError.
        """
        if num_slots < 1:
            raise ConfigError("a backend needs at least one slot")
        if net.config.kind != "residual":
            raise ConfigError("backend 'cuda' computes residual networks only; take 'reference'")
        report = check_bounds(net)
        report.require_exact()
        self.num_slots = num_slots
        self.time_steps = net.config.time_steps
        self._device = torch.device(device)
        self.is_asynchronous = self._device.type == "cuda"
        self.late_steps = 0
        is_gpu = self._device.type == "cuda"
        self._streams = (CudaStreams if is_gpu else Streams)(self._device)
        finalize(self, _wait_for, self._streams)
        self._answered = HostAnswers(num_slots, self._streams.host_tensor)
        self._settled_at: NDArray[np.int64] = self._answered.settled_at.numpy()
        self._staging = [
            StagingBuffer(num_slots, net.config.num_planes, self._streams)
            for _ in range(NUM_BUFFERS)
        ]
        self._buffer = 0
        self._occupied = np.zeros(num_slots, np.bool_)
        self._rows = np.zeros(num_slots, np.int32)
        self._reported = 0
        self._wanted_tile = tile
        self._rule = torch.from_numpy(rule.as_integers()).to(self._device)
        self._min_steps = rule.min_steps
        self._open(net, Widths.proved_by(report))

    @device_work("admitting positions")
    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Begin questions, see ``Backend.admit``."""
        require_free(self._occupied[slots], slots)
        require_questions(requests, rows, self._config.num_planes)
        if len(slots) == 0:
            return
        self._buffer = (self._buffer + 1) % NUM_BUFFERS
        staging, streams = self._staging[self._buffer], self._streams
        streams.wait_to_fill(self._buffer)
        target, source = staging.write(slots, requests, rows)
        with streams.computing():
            streams.upload(self._buffer, target, source)
            streams.begin_admission()
            self._launches.admit(staging.device, len(slots))
            streams.end_admission()
            streams.uploaded_is_read(self._buffer)
        self._occupied[slots] = True
        self._rows[slots] = rows
        self._requests = requests

    @device_work("taking a time step")
    def advance(self) -> None:
        """Launch a call of all busy slots, and return at once; see ``Backend.advance``."""
        with self._streams.computing():
            self._streams.begin_step()
            self._step()
            self._streams.end_step()

    @device_work("waiting for a time step")
    def settled(self) -> NDArray[np.int32]:
        """The slots that have settled, see ``Backend.settled``; one may be reported a call late.

        Settled answers lie in the host's memory already, and are copied to their rows here.
        """
        finished, at = self._streams.finished_steps(), self._settled_at
        slots = np.flatnonzero((at > self._reported) & (at <= finished)).astype(np.int32)
        self._reported = finished
        self._occupied[slots] = False
        if len(slots):
            self._copy_answers(slots)
            self.late_steps += self._streams.num_steps * len(slots) - int(at[slots].sum())
        return slots

    @device_work("freeing its slots")
    def clear(self) -> None:
        """Free all slots, see ``Backend.clear``."""
        with self._streams.computing():
            self._state.busy.zero_()
            # an interrupt may have come between a launch and its count
            self._state.tick.fill_(self._streams.num_steps)
        self._streams.synchronize()
        self._settled_at[:] = 0
        self._reported = self._streams.finished_steps()
        self._occupied[:] = False

    def _copy_answers(self, slots: NDArray[np.int32]) -> None:
        requests = self._requests
        rows = requests.num_legal, requests.policy, requests.wdl, requests.steps
        copy_answers(slots, self._rows, *self._answered.arrays, *rows)

    @device_work("changing the network")
    def replace_network(self, net: PlayableNet) -> None:
        """Take another network, see ``Backend.replace_network``. The recorded graph reads the new
        weights, unless they are proved for other widths of membranes than the old ones."""
        require_same_sizes(net.config == self._config, bool(self._occupied.any()))
        assert isinstance(net, IntegerNet)
        report = check_bounds(net)
        report.require_exact()
        self._streams.synchronize()
        widths = Widths.proved_by(report)
        if widths != self._widths:
            # freed before the new ones are taken: the device may have no room for both
            del self._step, self._launches, self._weights, self._state
            self._open(net, widths)
            return
        self._weights.load(net)
        self._streams.synchronize()
        self._set_scales(net)

    @property
    def steps_at_once(self) -> int:
        """Time steps of a launch, as the tile is."""
        return self.tile.steps

    @property
    def kernel_ns(self) -> int:
        """Time the device took so far, for steps that are finished."""
        return self._streams.busy_ns

    @property
    def nbytes(self) -> int:
        """Bytes on the device: state of the slots, weights, staged questions."""
        staged = sum(buffer.device.nbytes for buffer in self._staging)
        return self._state.nbytes + self._weights.nbytes + staged

    def _open(self, net: IntegerNet, widths: Widths) -> None:
        """Allocate, compile, choose a tile, and record the time step."""
        self._config = net.config
        self._widths = widths
        self._state = SlotState(net.config, self.num_slots, widths, self._device)
        self._weights = DeviceWeights(net, self._device)
        self._set_scales(net)
        self._launches = Launches(
            net.config, self._state, self._weights, self._rule, self._answered
        )
        self._streams.synchronize()  # what was allocated so far was filled on another stream
        with self._streams.computing(), compiling_alone(net.config, self._state, self._min_steps):
            self._compile_copies()
            self._launches.admit(self._staging[0].device, 1)  # compiles
            self._state.busy.zero_()
            self.tile = self._wanted_tile or choose_tile(
                net.config, self._launches, self._state, self._min_steps
            )
            self._launches.step(self.tile)
        self._streams.synchronize()
        self._state.tick.fill_(self._streams.num_steps)
        launches, tile = self._launches, self.tile
        self._step = self._streams.record(lambda: launches.step(tile))

    def _compile_copies(self) -> None:
        """Compile the host's kernels, by copying nothing: later the device would wait for it."""
        none = np.empty(0, np.int32)
        self._requests = Requests.empty(0, self._config.num_planes)
        self._staging[0].write(none, self._requests, none)
        self._copy_answers(none)

    def _set_scales(self, net: IntegerNet) -> None:
        self.policy_scale = net.policy_scale
        self.value_scale = net.value_scale


def _wait_for(streams: Streams) -> None:
    """Wait for the device before a backend's memory is free for others: kernels of a stream of
    their own may still write to it. One that has failed writes no more."""
    with suppress(RuntimeError):
        streams.synchronize()
