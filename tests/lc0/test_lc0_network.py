"""lc0's networks in torch, against the same layers summed one by one in numpy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.lc0.made import network, packed
from vecchess.lc0.lc0_moves import NO_INDEX, conv_places, lc0_moves
from vecchess.lc0.lc0_network import Lc0Network
from vecchess.lc0.weights_file import parse_weights

Reals = NDArray[np.float64]


class Plain:
    """One position at a time, ``float64[C, 8, 8]``."""

    def __init__(self, layers: dict[str, Reals], mish: bool) -> None:
        self.layers, self.mish = layers, mish

    def act(self, x: Reals) -> Reals:
        return x * np.tanh(np.log1p(np.exp(x))) if self.mish else np.maximum(x, 0)

    def dense(self, name: str, x: Reals) -> Reals:
        return self.layers[name] @ x.ravel() + self.layers[f"{name} bias"]

    def conv(self, name: str, x: Reals) -> Reals:
        weights, biases = self.layers[name], self.layers[f"{name} bias"]
        size = round((weights.shape[1] / len(x)) ** 0.5)
        kernel = weights.reshape(len(biases), len(x), size, size)
        padded = np.pad(x, [(0, 0), (size // 2, size // 2), (size // 2, size // 2)])
        found = np.zeros((len(biases), 8, 8))
        for rank in range(size):
            for file in range(size):
                part = padded[:, rank : rank + 8, file : file + 8]
                found += np.einsum("oi,irf->orf", kernel[:, :, rank, file], part)
        return found + biases[:, None, None]

    def tower(self, x: Reals) -> Reals:
        x = self.act(self.conv("stem", x))
        for number in range(sum("conv1 bias" in name for name in self.layers)):
            y = self.act(self.conv(f"{number} conv1", x))
            y = self.conv(f"{number} conv2", y)
            if f"{number} squeeze" in self.layers:
                inner = self.act(self.dense(f"{number} squeeze", y.mean((1, 2))))
                both = self.dense(f"{number} excite", inner)
                gates, biases = both.reshape(2, -1, 1, 1)
                y = y / (1 + np.exp(-gates)) + biases
            x = self.act(x + y)
        return x

    def answer(self, x: Reals) -> tuple[Reals, Reals]:
        x = self.tower(x)
        if "policy1" in self.layers:
            planes = self.conv("policy", self.act(self.conv("policy1", x))).ravel()
            policy = planes[conv_places()]
        else:
            policy = self.dense("moves", self.act(self.conv("policy", x)))
        hidden = self.act(self.dense("hidden", self.act(self.conv("value", x))))
        return policy, self.dense("outcome", hidden)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mish": True, "norm": False},
        {"squeeze": 0, "wdl": False},
        {"conv_policy": False, "blocks": 3},
    ],
)
def test_answers_are_those_of_the_layers(settings: dict[str, bool]) -> None:
    net, layers = network(2, **settings)
    planes = np.random.default_rng(0).integers(0, 2, (5, 112, 64)).astype(np.float32)
    policy, outcomes = Lc0Network(parse_weights(packed(net))).answers(planes)
    plain = Plain(layers, settings.get("mish", False))
    for row, x in enumerate(planes.astype(np.float64)):
        moves, value = plain.answer(x.reshape(112, 8, 8))
        assert np.allclose(policy[row], moves, atol=1e-4)
        if len(value) == 3:
            assert np.allclose(outcomes[row], value, atol=1e-4)
            continue
        chances = np.exp(outcomes[row]) / np.exp(outcomes[row]).sum()
        assert chances[0] - chances[2] == pytest.approx(np.tanh(value[0]), abs=1e-5)
        assert chances[1] == 0
    assert policy.std() > 0.1


def test_every_move_has_a_place_in_a_convolutional_head() -> None:
    """The places of lc0's ``kConvPolicyMap`` (src/neural/tables/policy_map.h, commit 909a408)."""
    places = conv_places()
    assert len(np.unique(places)) == len(places) == 1858
    known = {7: 0, 10: 64, 13: 128, 1401: 48, 1792: 69 * 64 + 48, 1796: 70 * 64 + 48}
    known |= {1797: 71 * 64 + 48, 1795: 72 * 64 + 48, 1801: 69 * 64 + 49}
    assert {index: int(places[index]) for index in known} == known
    starts = [move.from_square for move in lc0_moves()]
    assert np.array_equal(places % 64, starts)
    assert places.max() // 64 == 72
    assert NO_INDEX not in places
