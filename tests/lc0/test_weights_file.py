"""Weight files of lc0: what is in them, and one line for those that cannot be used."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.lc0.made import Message, encoded, network, packed, weight_file
from vecchess.errors import NetworkError
from vecchess.lc0.weights_file import Affine, load_weights, parse_weights


def named(name: str, layer: Affine) -> dict[str, object]:
    return {name: layer.weights, f"{name} bias": layer.biases}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"squeeze": 0, "norm": False, "input_format": 2},
        {"conv_policy": False, "wdl": False, "blocks": 0, "mish": True},
    ],
)
def test_every_layer_is_read(settings: dict[str, int], tmp_path: Path) -> None:
    net, layers = network(5, **settings)
    file = tmp_path / "net.pb.gz"
    file.write_bytes(packed(net))
    weights = load_weights(file)
    found = named("stem", weights.stem)
    for number, block in enumerate(weights.blocks):
        found |= named(f"{number} conv1", block.first) | named(f"{number} conv2", block.second)
        for name, layer in zip(("squeeze", "excite"), block.squeeze, strict=False):
            found |= named(f"{number} {name}", layer)
    names = ("policy1", "policy") if weights.has_conv_policy else ("policy", "moves")
    for name, layer in zip(names, weights.policy, strict=True):
        found |= named(name, layer)
    for name, layer in zip(("value", "hidden", "outcome"), weights.value, strict=True):
        found |= named(name, layer)
    assert found.keys() == layers.keys()
    for name, numbers in layers.items():
        assert np.allclose(found[name], numbers, rtol=1e-6, atol=1e-9), name
    assert len(weights.stem.biases) == 4
    assert weights.input_format == settings.get("input_format", 1)
    assert weights.is_mish == settings.get("mish", False)


def test_an_old_file_says_nothing_of_formats() -> None:
    net, _ = network(1, squeeze=0, conv_policy=False, wdl=False)
    del net[4]
    weights = parse_weights(packed(net))
    assert (weights.has_conv_policy, weights.input_format, weights.is_mish) == (False, 1, False)
    assert len(weights.value[2].biases) == 1


@pytest.mark.parametrize(("encoding", "kind"), [(2, "<f2"), (3, "bfloat16"), (4, "<f4")])
def test_encodings_of_a_layer(encoding: int, kind: str) -> None:
    net, _ = network(1)
    numbers = np.linspace(-1, 1, 15).astype("<f4")
    if kind == "bfloat16":
        data = (numbers.view("<u4") >> 16).astype("<u2").tobytes()
    else:
        data = numbers.astype(kind).tobytes()
    net[10][9] = {3: data, 4: encoding}
    found = parse_weights(packed(net)).value[2].weights
    assert np.allclose(found, numbers.reshape(3, 5), atol=0.01)


def changed(change: Callable[[Message], object]) -> bytes:
    net, _ = network(1)
    change(net)
    return packed(net)


WHOLE = weight_file()
FORMATS: dict[str, bytes] = {
    "has body an attention body: ": changed(lambda net: net[4][2].update({3: 6})),
    "has body number 99: ": changed(lambda net: net[4][2].update({3: 99})),
    "has policy head attention: ": changed(lambda net: net[4][2].update({4: 3})),
    "has value head parametric: ": changed(lambda net: net[4][2].update({5: 3})),
    "has input format canonical v2: ": changed(lambda net: net[4][2].update({1: 5})),
    "has activation number 7: ": changed(lambda net: net[4][2].update({7: 7})),
    "holds an ONNX model": changed(lambda net: net.update({11: b""})),
    "has weights in encoding 9": changed(lambda net: net[4].update({1: 9})),
    "has weights in encoding 8, unknown": changed(lambda net: net[10][1][1].update({4: 8})),
    "does not begin as its weight files do": changed(lambda net: net.update({1: 5.0})),
    "old text format": gzip.compress(b"2\n0.5 0.25"),
}
DAMAGED: dict[str, bytes] = {
    "is empty": b"",
    "is no gzip file: lc0's weights end in .pb.gz": b"PK\3\4 an archive",
    "is truncated; copy it again": WHOLE[:-20],
    "is a damaged gzip file": WHOLE[:200] + bytes(40) + WHOLE[240:],
    "is damaged: it ends within a field": gzip.compress(gzip.decompress(WHOLE)[:-9]),
    "is damaged: it ends within a number": gzip.compress(b"\xff" * 20),
    "unpacks to more than weights can take": gzip.compress(bytes(8 << 20)),
    "has no weights in input": changed(lambda net: net[10].pop(1)),
    "has no weights in policy1, where 4 x 36 belong": changed(lambda net: net[10].pop(11)),
    "has no weights in residual 1 conv2": changed(lambda net: net[10][2][1].pop(2)),
    "in residual 0 squeeze": changed(lambda net: net[10][2][0][3].pop(1)),
    "has 2 biases in policy, where 80 belong": changed(
        lambda net: net[10][3].update({2: {1: 0.0, 2: 1.0, 3: bytes(4)}})
    ),
    "has 5 weights in ip2_val, where 3 x 5 belong": changed(
        lambda net: net[10].update({9: {1: 0.0, 2: 1.0, 3: bytes(10)}})
    ),
    "has input with a batch normalisation of another size": changed(lambda n: n[10][1].pop(4)),
    "has input with a negative variance": changed(
        lambda net: net[10][1].update({4: {1: -2.0, 2: -1.0, 3: bytes(8)}})
    ),
    "has weights in ip1_val that are no numbers": changed(
        lambda net: net[10][7].update({2: float("nan")})
    ),
}


@pytest.mark.parametrize("line", [*FORMATS, *DAMAGED])
def test_a_file_that_cannot_be_used_gets_one_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "net.pb.gz"
    file.write_bytes((FORMATS | DAMAGED)[line])
    with pytest.raises(NetworkError) as raised:
        load_weights(file)
    text = str(raised.value)
    assert text.startswith(f"lc0's network {file} ")
    assert line in text
    assert "\n" not in text
    assert raised.value.exit_code == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="none is not there"):
        load_weights(tmp_path / "none")
    with pytest.raises(NetworkError, match="cannot read"):
        load_weights(tmp_path)


def test_fields_in_any_order_and_unknown_ones_are_read() -> None:
    net, _ = network(3)
    other = dict(reversed(net.items())) | {50: 7, 51: b"more", 52: 1.5}
    assert encoded(other) != encoded(net)
    one, two = parse_weights(packed(net)), parse_weights(packed(other))
    assert np.array_equal(one.stem.weights, two.stem.weights)
