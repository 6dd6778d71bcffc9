import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecchess.jit import kernel
from vecchess.search.kernels.sampling import draw_index, softmax_scale, softmax_weights
from vecchess.shapes import MAX_MOVES


def weigh(accumulators: list[int], scale: float) -> np.ndarray:
    row = np.zeros((1, MAX_MOVES), np.int32)
    row[0, : len(accumulators)] = accumulators
    counts = np.array([len(accumulators)], np.uint8)
    weights, totals = softmax_weights(row, counts, np.array([scale], np.float32))
    assert weights[0, : len(accumulators)].sum() == totals[0]
    return weights[0, : len(accumulators)].astype(np.float64) / totals[0]


@given(
    st.lists(st.integers(-(2**23), 2**23), min_size=1, max_size=MAX_MOVES),
    st.floats(2**-24, 2**-14),
)
def test_close_to_the_real_softmax(accumulators: list[int], scale: float) -> None:
    """Weights are out of 2**24, float32 holds the exponent: errors stay below 1e-5."""
    scale = float(np.float32(scale))
    logits = np.array(accumulators, np.float64) * scale * np.log(2)
    exact = np.exp(logits - logits.max())
    assert np.abs(weigh(accumulators, scale) - exact / exact.sum()).max() < 1e-5


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=MAX_MOVES))
def test_temperature_zero_takes_the_first_of_the_best(accumulators: list[int]) -> None:
    expected = np.zeros(len(accumulators))
    expected[int(np.argmax(accumulators))] = 1
    assert (weigh(accumulators, 0.0) == expected).all()


def test_equal_accumulators_weigh_the_same() -> None:
    assert (weigh([7] * MAX_MOVES, 0.5) == 1 / MAX_MOVES).all()


@pytest.mark.parametrize("scale", [1e-300, 1.0, 3e38, 1e300, float("inf")])
def test_scales_beyond_float32_are_its_largest(scale: float) -> None:
    found = softmax_scale(scale)
    assert found.dtype == np.float32
    assert 0 <= found <= np.finfo(np.float32).max
    assert weigh([5, 5, 3, 5], float(found)).sum() == pytest.approx(1)


@kernel
def _draw(weights, count, total, random):  # type: ignore[no-untyped-def]
    return draw_index(np.int64(weights.ctypes.data), count, total, random)


@pytest.mark.parametrize("total", [0, 6, 100, 2**32 - 1])
@pytest.mark.parametrize("random", [0, 2**63, 2**64 - 1])
def test_an_index_is_below_the_count_whatever_the_total(total: int, random: int) -> None:
    weights = np.array([1, 2, 3, 2**30], np.uint32)
    index = _draw(weights, 3, np.uint32(total), np.uint64(random))
    assert 0 <= index < 3


def test_fingerprint() -> None:
    """The same on every machine; other weights would mean other games from the same seed."""
    accumulators = [-3000, -100, 0, 1, 17, 2500, 2501, 2500]
    row = np.zeros((1, MAX_MOVES), np.int32)
    row[0, :8] = accumulators
    weights, _ = softmax_weights(row, np.array([8], np.uint8), np.array([0.001], np.float32))
    assert weights[0, :8].tolist() == FINGERPRINT


FINGERPRINT = [370470, 2765291, 2963765, 2965821, 2998895, 16765590, 16777216, 16765590]
