"""Texts of a head and settings: parts, escapes, readers, and lines for wrong ones."""

import pytest

from vecchess.errors import ConfigError
from vecchess.spec import Spec, is_function


def test_a_text_has_a_head_and_settings() -> None:
    spec = Spec.parse("net:a b?search=gumbel&Skill Level=3&weights=a%26b/c.x")
    assert spec.head == "net:a b"
    assert spec.settings == {"search": "gumbel", "Skill Level": "3", "weights": "a&b/c.x"}
    assert Spec.parse(str(spec)) == spec
    assert Spec.parse("greedy") == Spec.parse("greedy?") == Spec("greedy")
    named = Spec("net:wh?t.safetensors", {"sims": "8"})
    assert str(named) == "net:wh%3Ft.safetensors?sims=8"
    assert Spec.parse(str(named)) == named
    own, rest = spec.split(("search", "sims"))
    assert (own, str(rest)) == ({"search": "gumbel"}, "net:a b?Skill Level=3&weights=a%26b/c.x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x?a", "x?a: 'a' is no setting: write NAME=VALUE"),
        ("x?=1", "'=1' is no setting"),
        ("x?a=1&&b=2", "'' is no setting"),
        ("x?a=1&a=2", "x?a=1&a=2: a is given twice"),
    ],
)
def test_settings_that_are_not_understood(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Spec.parse(text)
    assert said in str(caught.value)


def test_readers_say_what_they_take() -> None:
    spec = Spec("x", {"chunk": "16", "many": "9999", "compile": "maybe"})
    assert spec.whole_number("chunk", 1, 64) == 16
    assert spec.whole_number("none", 1, 64) is None
    assert spec.choice("none", ("no", "yes")) == "no"
    with pytest.raises(ConfigError, match="many should be a number from 1 to 64"):
        spec.whole_number("many", 1, 64)
    with pytest.raises(ConfigError, match="compile should be no or yes"):
        spec.choice("compile", ("no", "yes"))


def test_functions_are_named_with_their_module() -> None:
    assert is_function("package.module:make_player")
    for text in ("random", "net:", ":make", "module:", "minimax:2", "net:a b", "uci:./engine"):
        assert not is_function(text), text
