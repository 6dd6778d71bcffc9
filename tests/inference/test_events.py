"""The event kernels on one board against dense numpy."""

import numpy as np
import pytest

from vecchess.inference.events import convolve, fire, list_planes
from vecchess.jit import kernel
from vecchess.snn.initialise import _patches, unpack_planes


@kernel
def _convolve(rows, starts, weight, num_inputs, scale, bias, total, out, add):  # type: ignore[no-untyped-def]
    convolve(rows, starts, weight, num_inputs, scale, bias, total, out, add)


@kernel
def _fire(membrane, current, threshold, stride, fired, rows, starts):  # type: ignore[no-untyped-def]
    fire(membrane, current, threshold, stride, fired, rows, starts)


@kernel
def _list(planes, stride, rows, starts):  # type: ignore[no-untyped-def]
    list_planes(planes, stride, rows, starts)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("outputs", [32, 64, 96, 128])
@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
def test_convolution(dtype: type, outputs: int, density: float) -> None:
    rng = np.random.default_rng(outputs)
    inputs = 20
    bits = rng.random((inputs, 64)) < density
    planes = (bits * (np.uint64(1) << np.arange(64, dtype=np.uint64))).sum(axis=1, dtype=np.uint64)
    rows, starts = np.zeros(64 * inputs + 1, np.int32), np.zeros(65, np.int32)
    _list(planes, outputs, rows, starts)
    assert starts[64] == bits.sum()

    weight = rng.integers(-127, 128, (9 * inputs, outputs)).astype(dtype)
    scale = np.left_shift(1, rng.integers(0, 8, outputs)).astype(np.int32)
    bias = rng.integers(-9999, 9999, outputs).astype(np.int32)
    dense = _patches(unpack_planes(planes[None])).reshape(64, -1).astype(np.int64)
    expected = dense @ weight.astype(np.int64) * scale + bias
    out, total = np.full((64, outputs), 7, np.int32), np.zeros(outputs, dtype)
    for add, before in ((False, 0), (True, expected)):
        _convolve(rows, starts, weight.ravel(), inputs, scale, bias, total, out, add)
        assert np.array_equal(out, expected + before)


@pytest.mark.parametrize("channels", [32, 64, 96])
def test_spikes_are_listed_in_order(channels: int) -> None:
    rng = np.random.default_rng(channels)
    membrane = rng.integers(-20_000, 20_000, (64, channels)).astype(np.int32)
    current = rng.integers(-20_000, 20_000, (64, channels)).astype(np.int32)
    charged = (membrane >> 1) + current
    spikes = charged > np.where(membrane > 8192, 16_384, 8192)
    rows, starts = np.zeros(64 * channels + 1, np.int32), np.zeros(65, np.int32)
    fired = np.zeros(channels, np.uint8)
    _fire(membrane, current, np.int32(8192), 10, fired, rows, starts)
    squares, which = np.nonzero(spikes)
    assert np.array_equal(rows[: len(squares)], (squares % 8 * channels + which) * 10)
    assert np.array_equal(starts, np.searchsorted(squares, np.arange(65)))
    assert np.array_equal(membrane, charged - spikes * 8192)
