import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vecchess.search.kernels.sampling import softmax_weights
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


def test_fingerprint() -> None:
    """The same on every machine; other weights would mean other games from the same seed."""
    accumulators = [-3000, -100, 0, 1, 17, 2500, 2501, 2500]
    row = np.zeros((1, MAX_MOVES), np.int32)
    row[0, :8] = accumulators
    weights, _ = softmax_weights(row, np.array([8], np.uint8), np.array([0.001], np.float32))
    assert weights[0, :8].tolist() == FINGERPRINT


FINGERPRINT = [370470, 2765291, 2963765, 2965821, 2998895, 16765590, 16777216, 16765590]
