"""The kernels of the processor on single boards against plain numpy."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vecchess.inference.cpu.dense import convolve_dense, dense_weights
from vecchess.inference.cpu.events import (
    WORD,
    convolve_events,
    event_weights,
    mask_planes,
    mask_words,
)
from vecchess.inference.cpu.neurons import (
    ADDS,
    BEGINS,
    ENDS,
    INSIDE,
    ClippedRelu,
    Leaky,
    Steps,
    update_board,
)
from vecchess.jit import kernel
from vecchess.snn.initialise import _patches

BOARDS = 3


@kernel
def _events(masks, weight, num_inputs, num_outputs, totals, first_change):  # type: ignore[no-untyped-def]
    """Boards from ``first_change`` on by what has changed since the one before."""
    for board in range(masks.shape[0]):
        old, is_change = max(board - 1, 0), int(board >= first_change)
        convolve_events(
            masks[board], masks[old], totals[old], is_change, weight, 0, num_inputs, num_outputs,
            totals[board],
        )  # fmt: skip


@kernel
def _dense(spikes, weight, num_inputs, num_outputs, totals):  # type: ignore[no-untyped-def]
    for board in range(spikes.shape[0]):
        convolve_dense(spikes[board], weight, 0, num_inputs, num_outputs, totals[board])


@kernel
def _update(steps, total, at, between, synapses, role, stream, membrane, neuron, out):  # type: ignore[no-untyped-def]
    shift, bias, bits = synapses
    spikes, writes_bytes, masks, words, count = out
    update_board(
        steps, total, at, between, shift, bias, bits, role, stream, membrane, bias.shape[0],
        neuron, spikes, writes_bytes, masks, words, count,
    )  # fmt: skip


@kernel
def _mask_planes(planes, masks):  # type: ignore[no-untyped-def]
    mask_planes(planes, masks)


def _expected(inputs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """int64[B, 64 * O] of inputs [B, 64, I]."""
    boards = inputs.reshape(len(inputs), 8, 8, -1).astype(np.float64)
    sums = _patches(boards).reshape(len(inputs), 64, -1) @ weight.T.astype(np.float64)
    return sums.astype(np.int64).reshape(len(inputs), -1)


def _padded(inputs: np.ndarray) -> np.ndarray:
    boards = inputs.reshape(len(inputs), 8, 8, -1).astype(np.uint8)
    return np.pad(boards, ((0, 0), (0, 0), (1, 1), (0, 0))).reshape(len(inputs), -1)


def _masks(spikes: np.ndarray) -> np.ndarray:
    """uint64[B, 64 * words] of spikes [B, 64, I]."""
    missing = mask_words(spikes.shape[2]) * WORD - spikes.shape[2]
    filled = np.pad(spikes, ((0, 0), (0, 0), (0, missing))).reshape(len(spikes), -1)
    return np.packbits(filled, axis=1, bitorder="little").view(np.uint64)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize(("inputs", "outputs"), [(32, 32), (64, 64), (32, 96), (96, 128)])
@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
def test_both_convolutions(dtype: type, inputs: int, outputs: int, density: float) -> None:
    rng = np.random.default_rng(outputs)
    spikes = rng.random((BOARDS, 64, inputs)) < density
    weight = rng.integers(-127, 128, (outputs, 9 * inputs)).astype(np.int8)
    expected = _expected(spikes, weight).astype(dtype)  # int16 may wrap: the kernels must too
    weights = event_weights(weight, np.dtype(dtype).itemsize)
    for first_change in (BOARDS, 1):
        totals = np.full((BOARDS, 64 * outputs), 7, dtype)
        _events(_masks(spikes), weights, inputs, outputs, totals, first_change)
        assert np.array_equal(totals, expected)
    totals[:] = 7
    _dense(_padded(spikes), dense_weights(weight), inputs, outputs, totals)
    assert np.array_equal(totals, expected)


def test_dense_convolution_of_activations_at_their_limits() -> None:
    rng = np.random.default_rng(1)
    activations = rng.choice([0, 1, 126, 127], (BOARDS, 64, 64))
    weight = rng.choice([-127, 127], (64, 9 * 64)).astype(np.int8)
    weight[0], weight[1] = 127, -127
    totals = np.zeros((BOARDS, 64 * 64), np.int32)
    _dense(_padded(activations), dense_weights(weight), 64, 64, totals)
    assert np.array_equal(totals, _expected(activations, weight))


@pytest.mark.parametrize("num_planes", [1, 25, 32, 40, 109])
def test_planes_become_masks(num_planes: int) -> None:
    rng = np.random.default_rng(num_planes)
    bits = rng.random((64, num_planes)) < 0.3
    planes = (bits.T << np.arange(64, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    masks = np.full(64 * mask_words(num_planes) + 1, 9, np.uint64)
    _mask_planes(planes, masks)
    assert np.array_equal(masks[:-1], _masks(bits[None])[0])
    assert masks[-1] == 9


LANE, LANES, STEPS = 1, 3, 3


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("channels", [32, 96])
@pytest.mark.parametrize("role", [INSIDE, BEGINS, ADDS, ENDS])
@pytest.mark.parametrize("neuron", [Leaky(np.int32(8192)), ClippedRelu(np.int32(7))])
@pytest.mark.parametrize("goes_on", [False, True])
def test_neurons(
    dtype: type, channels: int, role: int, neuron: Leaky | ClippedRelu, goes_on: bool
) -> None:
    """Three steps of a board in rows 1 to 3 and lane 1; rows and lanes around them stay."""
    rng = np.random.default_rng(channels)
    size, words = 64 * channels, 2 * mask_words(channels)
    total = rng.integers(-20_000, 20_000, (STEPS + 1, size)).astype(dtype)
    shift = rng.integers(0, 3, channels).astype(np.int32)
    bias = rng.integers(-20_000, 20_000, channels).astype(np.int32)
    stream = rng.integers(-20_000, 20_000, (STEPS + 2, size)).astype(np.int32)
    membrane = rng.integers(-20_000, 20_000, (LANES, 7 + size)).astype(np.int32)
    base, before = stream.copy(), membrane.copy()
    spikes = np.full((STEPS + 2, 80 * channels), 9, np.uint8)
    masks, count = np.full((STEPS + 2, 64 * words), 9, np.uint32), np.array([100])
    bits = 0 if isinstance(neuron, Leaky) else 2
    _update(
        Steps(STEPS, 1, LANE, 7, int(goes_on), int(goes_on)), total, size, size,
        (shift, bias, np.int32(bits)), role, stream, membrane, neuron,
        (spikes, True, masks, words, count),
    )  # fmt: skip
    charge, number = before[LANE, 7:].astype(int) * goes_on, 100
    for step in range(STEPS):
        current = total[1 + step].astype(int) << np.tile(shift, 64) >> bits
        current += np.tile(bias, 64)
        if role in (ADDS, ENDS):
            current += base[1 + step]
        kept = current if role in (BEGINS, ADDS) else base[1 + step]
        assert np.array_equal(stream[1 + step], kept)
        if isinstance(neuron, Leaky):
            charged = (charge >> 1) + current
            values = charged > np.where(charge > 8192, 16_384, 8192)
            charge = charged - values * 8192
        else:
            values = np.clip(current >> 7, 0, 127)
        boards = values.reshape(1, 64, channels)
        assert np.array_equal(spikes[1 + step], _padded(boards)[0])
        assert np.array_equal(masks[1 + step].view(np.uint64), _masks(boards != 0)[0])
        number += np.count_nonzero(values)
    assert count[0] == number
    if isinstance(neuron, Leaky) and goes_on:
        before[LANE, 7:] = charge
    assert np.array_equal(membrane, before)
    for rows in (spikes, masks):
        assert (rows[[0, -1]] == 9).all()


@pytest.mark.parametrize("neuron", [Leaky(np.int32(8192)), ClippedRelu(np.int32(7))])
def test_one_sum_for_all_steps_and_no_bytes(neuron: Leaky | ClippedRelu) -> None:
    """As the stem's constant current enters the first layer."""
    rng = np.random.default_rng(1)
    total = rng.integers(-20_000, 20_000, (2, 64 * 32)).astype(np.int16)
    found = []
    for between in (0, 64 * 32):
        sums = np.repeat(total[1:], STEPS + 1, axis=0) if between else total
        at = 0 if between else 64 * 32
        spikes, masks = np.full((STEPS, 80 * 32), 9, np.uint8), np.zeros((STEPS, 128), np.uint32)
        synapses = np.zeros(32, np.int32), np.zeros(32, np.int32), np.int32(0)
        state = np.zeros((STEPS, 64 * 32), np.int32), np.zeros((1, 64 * 32), np.int32)
        _update(
            Steps(STEPS, 0, 0, 0, 0, 0), sums, at, between, synapses, BEGINS, *state, neuron,
            (spikes, False, masks, 2, np.zeros(1, np.int64)),
        )  # fmt: skip
        assert (spikes == 9).all()
        found.append(masks)
    assert np.array_equal(*found)
    assert found[0].any()


@pytest.mark.parametrize(
    ("name", "features"),
    [
        pytest.param(
            "haswell",
            "+avx,+avx2,+bmi,+bmi2,+popcnt,+sse4.2,+ssse3,+fma,+lzcnt",
            marks=pytest.mark.slow,
        ),
        pytest.param("x86-64", "+sse2", marks=pytest.mark.slow),
    ],
)
def test_processors_with_fewer_instructions(name: str, features: str, tmp_path) -> None:
    """AVX2 without VNNI, and hardly anything: the same tests with kernels compiled for them."""
    _test_kernels_for(name, features, "test_both_convolutions or limits or test_neurons", tmp_path)


@pytest.mark.slow
def test_a_processor_with_hardly_any_instructions(tmp_path) -> None:
    _test_kernels_for("x86-64", "+sse2", "test_both_convolutions and 0.1-64-64-int16", tmp_path)


def _test_kernels_for(name: str, features: str, tests: str, cache: Path) -> None:
    if "avx2" in features and not _host_has_avx2():
        pytest.skip("this processor has no AVX2")
    if os.environ.get("NUMBA_CPU_NAME"):
        pytest.skip("this is the run with fewer instructions")
    restricted = {
        "NUMBA_CPU_NAME": name,
        "NUMBA_CPU_FEATURES": features,
        "NUMBA_CACHE_DIR": str(cache),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-k",
        tests,
        "-p",
        "no:cacheprovider",
        __file__,
    ]
    done = subprocess.run(
        command, env=os.environ | restricted, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


def _host_has_avx2() -> bool:
    import llvmlite.binding as llvm

    return bool(llvm.get_host_cpu_features().get("avx2"))
