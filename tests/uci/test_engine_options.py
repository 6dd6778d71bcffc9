"""The options table: names as elsewhere, every one of them with a field or a use."""

from typing import get_args

import pytest

from vecchess.config import UciConfig
from vecchess.errors import ConfigError
from vecchess.uci.engine_options import CLEAR_HASH, OPTIONS, Options

NOT_OPTIONS = {"gpus", "seed"}
"""Fields for flags only: which device, and the seed of a network that is made at the start."""


def test_every_field_can_be_set_and_every_option_sets_one() -> None:
    fields = [option.field for option in OPTIONS if option.field]
    assert len(fields) == len(set(fields))
    assert set(fields) | NOT_OPTIONS == set(UciConfig.model_fields)
    assert [option.name for option in OPTIONS if not option.field] == [
        CLEAR_HASH,
        "UCI_EngineAbout",
    ]


def test_combos_offer_all_that_the_model_takes() -> None:
    for option in OPTIONS:
        if option.kind == "combo":
            assert option.choices() == get_args(UciConfig.model_fields[option.field].annotation)


def test_lines() -> None:
    lines = Options(UciConfig(net="some.safetensors", threads=3)).lines()
    assert "option name Threads type spin default 3 min 0 max 256" in lines
    assert "option name WeightsFile type string default some.safetensors" in lines
    assert "option name SyzygyPath type string default <empty>" in lines
    assert "option name Clear Hash type button" in lines
    assert "option name UCI_Chess960 type check default false" in lines
    assert "option name Search type combo default puct var puct var gumbel" in lines


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("Hash", "64", "hash_mb", 64),
        ("hash", "64", "hash_mb", 64),
        ("MOVE OVERHEAD", "100", "move_overhead_ms", 100),
        ("UCI_Chess960", "True", "chess960", True),
        ("CPuct", "2.5", "c_puct", 2.5),
        ("ScoreType", "win_percentage", "score_type", "win_percentage"),
        ("ScoreType", "q", "score_type", "Q"),
        ("DrawScore", "-0.25", "draw_score", -0.25),
        ("WeightsFile", "some where/a net.safetensors", "net", "some where/a net.safetensors"),
    ],
)
def test_setting(name: str, text: str, field: str, value: object) -> None:
    options = Options(UciConfig())
    options.set(name, text)
    assert getattr(options.config, field) == value


def test_chess_programs_read_the_name_of_the_network_of_vecchess() -> None:
    """The bare word is a keyword of option lines: python-chess would read no value."""
    (line,) = (line for line in Options(UciConfig()).lines() if "WeightsFile" in line)
    assert line == "option name WeightsFile type string default <default>"
    options = Options(UciConfig(net="material"))
    for text in ("<default>", "material", "default"):
        options.set("WeightsFile", text)
        assert options.config.net == text.strip("<>")


def test_an_empty_path_means_none() -> None:
    options = Options(UciConfig(syzygy="/somewhere"))  # type: ignore[arg-type]
    options.set("SyzygyPath", "<empty>")
    assert options.config.syzygy is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Hash", "abc"),
        ("Hash", "15"),
        ("Hash", "99999999999999999"),
        ("Hash", ""),
        ("Ponder", "maybe"),
        ("CPuct", "x"),
        ("CPuct", "nan"),
        ("CPuct", "-1"),
        ("CPuct", ""),
        ("DrawScore", "2"),
        ("Backend", "blas"),
        ("WeightsFile", ""),
        ("UCI_Elo", "3000"),
        ("UCI_EngineAbout", "me"),
    ],
)
def test_wrong_values_change_nothing_and_are_named(name: str, text: str) -> None:
    options = Options(UciConfig())
    with pytest.raises(ConfigError, match=name) as caught:
        options.set(name, text)
    assert "\n" not in str(caught.value)
    assert options.config == UciConfig()


def test_unknown_names() -> None:
    with pytest.raises(KeyError):
        Options(UciConfig()).set("Contempt", "3")
