"""Sizes that fit together, and what a file says about them."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from vecchess.errors import ConfigError
from vecchess.snn.create import InputSettings, create_network, create_twin, sizes_of
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.presets import NetConfig, preset
from vecchess.snn.topology import hidden_layers, layer_shapes, neuron_layers

CONFIGS = Path(__file__).parent.parent.parent / "configs" / "nets"


def test_shipped_sizes() -> None:
    twin, rate_coded = (sizes_of(str(CONFIGS / f"{name}.toml")) for name in ("twin", "rate-coded"))
    small, tiny = sizes_of("small"), sizes_of("tiny")
    four_steps = sizes_of(str(CONFIGS / "four-steps.toml"))
    assert (tiny.time_steps, four_steps.time_steps) == (1, 4)
    assert four_steps.model_copy(update={"time_steps": 1, "preset": "tiny"}) == tiny
    assert (twin.blocks, twin.channels) == (small.blocks, small.channels)
    assert layer_shapes(twin) == layer_shapes(small)
    assert (twin.neuron, twin.time_steps, twin.preset) == ("relu", 1, "twin")
    assert [(layer.inputs, layer.outputs) for layer in hidden_layers(rate_coded)] == [
        (64, 128),
        (128, 256),
    ]
    assert (rate_coded.time_steps, rate_coded.is_rate_coded) == (16, True)
    assert neuron_layers(rate_coded) == {"conv1": 4096, "conv2": 8192, "heads": 16384}


@pytest.mark.parametrize("name", ["twin", pytest.param("rate-coded", marks=pytest.mark.slow)])
def test_shipped_sizes_make_networks_that_are_exact(name: str) -> None:
    net = create_network(str(CONFIGS / f"{name}.toml"), 0)
    assert check_bounds(net).exact
    assert check_bounds(net).int16_sums == (name == "rate-coded")


def test_what_was_added_later_is_stored_only_where_it_is_used() -> None:
    assert "kind" not in preset("tiny", 25).facts()
    assert preset("tiny", 25).facts()["readout"] == "graded"
    assert "readout" not in NetConfig(num_planes=25, blocks=1, channels=32).facts()
    plain = NetConfig(num_planes=25, kind="plain", widths=(32, 64))
    assert plain.facts() | {"preset": "x"} == {
        "num_planes": 25,
        "kind": "plain",
        "widths": [32, 64],
        "blocks": 0,
        "channels": 64,
        "value_channels": 8,
        "time_steps": 1,
        "weight_bits": 10,
        "grid_bits": 13,
        "preset": "x",
    }
    assert NetConfig(**plain.facts()) == plain


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({"blocks": 0, "channels": 32}, "has blocks"),
        ({"blocks": 1, "channels": 32, "input_rate": 8}, "direct input"),
        ({"kind": "plain", "blocks": 0, "channels": 32}, "has widths"),
        ({"kind": "plain", "widths": (32, 40)}, "multiple"),
        ({"kind": "plain", "widths": (32, 1024)}, "less than|up to"),
        ({"blocks": 1, "channels": 32, "neuron": "relu", "time_steps": 2}, "time_steps = 1"),
        ({"blocks": 1, "channels": 32, "grid_bits": 9}, "grid_bits"),
        ({"kind": "plain", "widths": (32,), "readout": "graded"}, "graded readout"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: dict, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        NetConfig(num_planes=25, **sizes)


def test_twin_has_the_same_tower() -> None:
    twin = create_twin(preset("tiny", 25), 3)
    assert layer_shapes(twin.config) == layer_shapes(preset("tiny", 25))
    assert twin.config.readout == "spikes"
    assert twin.sha256 == create_twin(preset("tiny", 25), 3).sha256
    with pytest.raises(ConfigError, match="residual"):
        create_twin(NetConfig(num_planes=25, kind="plain", widths=(32,)), 3)


def test_the_history_of_recipes(tmp_path: Path) -> None:
    inputs = [InputSettings(history=history) for history in (None, 1, 8)]
    assert [sizes_of("tiny", one).num_planes for one in inputs] == [36, 36, 120]
    inputs = [InputSettings(history=history, tactical=False) for history in (None, 8)]
    assert [sizes_of("tiny", one).num_planes for one in inputs] == [25, 109]
    file = tmp_path / "three.toml"
    file.write_text("blocks = 1\nchannels = 32\nhistory = 3\n")
    net = create_network(str(file), 0)
    assert net.config.num_planes == 60
    assert check_bounds(net).exact
    assert create_network(str(file), 0, InputSettings(history=3)).sha256 == net.sha256
    stem = net.layers["stem"].weight.reshape(32, 9, 60)
    assert stem[:, :, 36:].any()


def test_new_networks_have_a_graded_readout_where_there_is_one(tmp_path: Path) -> None:
    kinds = {
        "": "graded",
        'readout = "spikes"': "spikes",
        'neuron = "relu"\ntime_steps = 1': "spikes",
    }
    for index, (words, readout) in enumerate(kinds.items()):
        file = tmp_path / f"{index}.toml"
        file.write_text(f"blocks = 1\nchannels = 32\n{words}\n")
        assert sizes_of(str(file)).readout == readout
    plain = tmp_path / "plain.toml"
    plain.write_text('kind = "plain"\nwidths = [32]\n')
    assert sizes_of(str(plain)).readout == "spikes"


def test_wrong_sizes_name_their_file(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text("blocks = 1\nchannels = 33\n")
    with pytest.raises(ConfigError, match=r"odd.toml: channels"):
        create_network(str(file), 0)
    for line, reason in (
        ("history = 9", "history must be at most 8"),
        ("num_planes = 30", "30 input planes: vecchess makes 25"),
        ("num_planes = 37\nhistory = 3", "a history of 2 positions, not 3"),
    ):
        file.write_text(f"blocks = 1\nchannels = 32\n{line}\n")
        with pytest.raises(ConfigError, match=f"odd.toml: .*{reason}") as told:
            create_network(str(file), 0)
        assert "\n" not in str(told.value)
    with pytest.raises(ConfigError, match="cannot read"):
        create_network(str(tmp_path / "none.toml"), 0)
