"""Launches the kernels with their arguments: to admit questions, and for time steps."""

import ctypes
from functools import cache
from math import ceil
from typing import Any

import torch
import triton
from torch import Tensor

from vecchess.chess.move_inputs import NUM_CODES
from vecchess.chess.planes import reads_moves
from vecchess.inference.cuda import heads, tower
from vecchess.inference.cuda.device_weights import DeviceWeights, padded_values
from vecchess.inference.cuda.staging import record_words
from vecchess.inference.cuda.state import HostAnswers, SlotState
from vecchess.inference.cuda.tiles import Tile, channels_at_once
from vecchess.shapes import MAX_MOVES
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import stem_planes

SLOTS_TO_LIST = 1024
"""Slots a program of ``heads.list_active`` looks at."""


class Launches:
    """Launches on the current stream; no tensor moves between launches."""

    def __init__(
        self,
        config: NetConfig,
        state: SlotState,
        weights: DeviceWeights,
        rule: Tensor,
        answered: HostAnswers,
    ) -> None:
        """rule: int64[4] on the device, see ``ExitRule.as_integers``."""
        self._config = config
        self._state = state
        self._answered = answered
        self._rule = rule
        self._weights = weights
        self._num_slots = len(state.busy)
        self._inputs = channels_at_once(config)
        self._shared: dict[str, Any] = {
            "CHANNELS": config.channels,
            "GRID_BITS": config.grid_bits,
            "RELU": config.neuron == "relu",
            "GRADED": config.readout == "graded",
        }

    def admit(self, staged: Tensor, count: int) -> None:
        """Put ``count`` questions from ``staged``: int64[., RECORD], into their slots."""
        state, outputs = self._state, self._inputs
        heads.admit_requests[(count, self._config.channels // outputs)](
            staged,
            staged.view(torch.int16),
            staged.view(torch.int32),
            state.busy,
            state.steps,
            state.legal,
            state.codes,
            state.num_legal,
            state.input_current,
            *self._weights.of("stem"),
            NUM_WORDS=self._config.num_planes,
            NUM_PLANES=stem_planes(self._config),
            NUM_CODES=NUM_CODES,
            MAX_MOVES=MAX_MOVES,
            RECORD=record_words(self._config.num_planes),
            CHANNELS=self._config.channels,
            OUTPUTS=outputs,
        )

    def step(self, tile: Tile) -> None:
        """``tile.steps`` time steps of every busy slot, fewer where it settles before."""
        self.tower(tile)
        self.answer(tile)

    def tower(self, tile: Tile) -> None:
        """The part of a launch that depends on the shape of the tile."""
        self._list_active()
        self._advance_tower(tile)

    def _list_active(self) -> None:
        state = self._state
        heads.list_active[(triton.cdiv(self._num_slots, SLOTS_TO_LIST),)](
            state.busy,
            state.active,
            state.num_active,
            state.tick,
            self._num_slots,
            BLOCK=SLOTS_TO_LIST,
        )

    def _advance_tower(self, tile: Tile) -> None:
        state = self._state
        kernel = tower.advance_tower[(triton.cdiv(self._num_slots, tile.boards),)](
            state.active,
            state.num_active,
            state.steps,
            state.input_current,
            state.membranes,
            *self._weights.of("tower"),
            state.stream,
            state.spikes,
            state.spikes_inside,
            BLOCKS=self._config.blocks,
            TIME_STEPS=self._config.time_steps,
            **tile.constants,
            **tile.options,
            **self._shared,
        )
        if kernel is not None:  # the interpreter has none
            leave_cache(kernel)

    def answer(self, tile: Tile) -> None:
        """Heads and exit rule, for the steps that the tower has taken with ``tile``."""
        state, answered = self._state, self._answered
        heads.answer[(self._num_slots,)](
            state.active,
            state.num_active,
            state.tick,
            state.busy,
            state.steps,
            state.legal,
            state.codes,
            state.num_legal,
            state.policy,
            state.wdl,
            state.best_move,
            state.spikes,
            state.value_membranes,
            *self._weights.of("policy"),
            *self._weights.of("squeeze"),
            *self._weights.of("outcome"),
            self._weights.of_moves,
            self._rule,
            answered.policy,
            answered.wdl,
            answered.steps,
            answered.settled_at,
            TIME_STEPS=self._config.time_steps,
            MAX_MOVES=MAX_MOVES,
            INPUTS=self._inputs,
            VALUES=padded_values(self._config),
            STEPS=tile.steps,
            READS_MOVES=reads_moves(self._config.num_planes),
            **self._shared,
        )


CARVEOUT = 9
"""CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT of the driver: percent of the most."""
RESERVED_BYTES = 1024
"""Shared memory the driver takes for itself in each program."""


def leave_cache(kernel: Any) -> None:
    """Ask the driver for no more shared memory than the programs that fit will use.

    Triton asks for all of it where a program takes over 48 kB, and 28 kB of cache are left. The
    nine taps of a convolution read the same spikes, which then come from the second level each
    time. kernel: a launched kernel of Triton's. A wish: the driver may do as it likes, and where
    it cannot be asked nothing changes.
    """
    _set_carveout(kernel.function, 32 * kernel.metadata.num_warps, kernel.metadata.shared)


@cache
def _set_carveout(handle: int, threads: int, shared_bytes: int) -> None:
    """Once for each kernel: ``handle`` is the driver's, of programs of so many threads."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    function, programs = ctypes.c_void_p(handle), ctypes.c_int()
    failed = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(programs), function, threads, ctypes.c_size_t(shared_bytes)
    )
    if not failed:
        most = torch.cuda.get_device_properties().shared_memory_per_multiprocessor
        used = programs.value * (shared_bytes + RESERVED_BYTES)
        driver.cuFuncSetAttribute(function, CARVEOUT, min(ceil(100 * used / most), 100))
