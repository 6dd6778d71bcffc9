"""The kernels of the processor on single boards against plain numpy."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vecchess.inference.cpu.dense import convolve_dense, dense_weights
from vecchess.inference.cpu.events import convolve_by_events, event_weights, mask_planes
from vecchess.inference.cpu.neurons import ClippedRelu, Leaky, update_board
from vecchess.jit import kernel
from vecchess.snn.initialise import _patches

BOARDS = 3


@kernel
def _events(masks, weight, num_inputs, num_outputs, rows, starts, totals):  # type: ignore[no-untyped-def]
    count = masks.shape[0]
    convolve_by_events(masks, count, weight, 0, num_inputs, num_outputs, rows, starts, totals)


@kernel
def _dense(spikes, weight, num_inputs, num_outputs, totals):  # type: ignore[no-untyped-def]
    for board in range(spikes.shape[0]):
        convolve_dense(spikes[board], weight, 0, num_inputs, num_outputs, totals[board])


@kernel
def _update(total, scale, bias, bits, streams, base, stream, membrane, channels, neuron, out):  # type: ignore[no-untyped-def]
    spikes, masks, count = out
    update_board(
        total, scale, bias, bits, streams, base, stream, membrane, 0, membrane, 0, 0, channels,
        neuron, spikes, masks, count,
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
    bits = np.packbits(spikes.reshape(len(spikes), -1), axis=1, bitorder="little")
    return np.ascontiguousarray(bits).view(np.uint32)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize(("inputs", "outputs"), [(32, 32), (64, 64), (32, 96), (96, 128)])
@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
def test_both_convolutions(dtype: type, inputs: int, outputs: int, density: float) -> None:
    rng = np.random.default_rng(outputs)
    spikes = rng.random((BOARDS, 64, inputs)) < density
    weight = rng.integers(-127, 128, (outputs, 9 * inputs)).astype(np.int8)
    expected = _expected(spikes, weight).astype(dtype)  # int16 may wrap: the kernels must too
    totals = np.full((BOARDS, 64 * outputs), 7, dtype)
    rows = np.zeros((BOARDS, 64 * inputs + 1), np.int32)
    starts = np.zeros((BOARDS, 65), np.int32)
    weights = event_weights(weight)
    _events(_masks(spikes), weights, inputs, outputs, rows, starts, totals)
    assert np.array_equal(totals, expected)
    assert (starts[:, 64] == spikes.sum(axis=(1, 2))).all()
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
    words = -(-num_planes // 32)
    masks = np.full(64 * words + 1, 9, np.uint32)
    _mask_planes(planes, masks)
    filled = np.pad(bits, ((0, 0), (0, words * 32 - num_planes)))
    assert np.array_equal(masks[:-1], _masks(filled[None])[0])
    assert masks[-1] == 9


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("channels", [32, 96])
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("neuron", [Leaky(np.int32(8192)), ClippedRelu(np.int32(7))])
def test_neurons(dtype: type, channels: int, streams: bool, neuron: Leaky | ClippedRelu) -> None:
    rng = np.random.default_rng(channels)
    size = 64 * channels
    total = rng.integers(-20_000, 20_000, size).astype(dtype)
    scale = np.left_shift(1, rng.integers(0, 3, channels)).astype(np.int32)
    bias, base, membrane = (
        rng.integers(-20_000, 20_000, n).astype(np.int32) for n in (channels, size, size)
    )
    stream, before = np.full(size, 5, np.int32), membrane.copy()
    bits = 0 if isinstance(neuron, Leaky) else 2
    current = (total.astype(int) * np.tile(scale, 64) >> bits) + np.tile(bias, 64)
    spikes = np.full(80 * channels, 9, np.uint8)
    masks, count = np.zeros(size // 16, np.uint16), np.array([100])
    _update(
        total, scale, bias, np.int32(bits), streams, base, stream, membrane, channels, neuron,
        (spikes, masks, count),
    )  # fmt: skip
    if streams:
        current = current + base
    assert np.array_equal(stream, current if streams else np.full(size, 5))
    if isinstance(neuron, Leaky):
        charged = (before >> 1) + current
        values = charged > np.where(before > 8192, 16_384, 8192)
        assert np.array_equal(membrane, charged - values * 8192)
    else:
        values = np.clip(current >> 7, 0, 127)
        assert np.array_equal(membrane, before)
    assert np.array_equal(spikes, _padded(values.reshape(1, 64, channels))[0])
    assert np.array_equal(masks.view(np.uint32), _masks((values != 0)[None])[0])
    assert count[0] == 100 + np.count_nonzero(values)


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
