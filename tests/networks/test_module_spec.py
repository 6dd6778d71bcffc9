"""Specs of modules: parts, order, escapes, and names of installed packages."""

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from vecchess.errors import ConfigError
from vecchess.networks import module_spec
from vecchess.networks.module_spec import ModuleSpec


def test_a_spec_has_four_parts() -> None:
    text = "module:pack.age:make?depth=3&weights=a%26b/c.safetensors&channels=64&chunk=16"
    spec = ModuleSpec.parse(text)
    assert spec.name == spec.factory == "pack.age:make"
    assert spec.settings == (("channels", "64"), ("depth", "3"))
    assert (spec.weights, spec.chunk) == (Path("a&b/c.safetensors"), 16)


def test_equal_specs_are_written_alike() -> None:
    one = ModuleSpec.parse("module:a:make?x=1&y=2&weights=/r%26d/n.safetensors")
    other = ModuleSpec.parse("module:a:make?weights=/r%26d/n.safetensors&y=2&x=1")
    assert str(one) == str(other) == "module:a:make?x=1&y=2&weights=/r%26d/n.safetensors"
    assert ModuleSpec.parse(str(one)) == one
    assert str(one.with_weights(None)) == "module:a:make?x=1&y=2"


def test_how_steps_are_computed_is_part_of_a_spec() -> None:
    plain = ModuleSpec.parse("module:a:make?compile=no&precision=fp32")
    assert (str(plain), plain.is_compiled, plain.precision) == ("module:a:make", False, "fp32")
    text = "module:a:make?x=1&precision=bf16&compile=yes"
    assert str(ModuleSpec.parse(text.replace("x=1&", "") + "&x=1")) == text


@pytest.mark.parametrize(
    "text",
    ["module:", "module:a:b:c", "module:a b:make", "module:a:make?x", "module:a:make?x=1&x=2",
     "module:a:make?1x=2", "module:a:make?chunk=0", "module:a:make?chunk=much",
     "module:a:make?precision=int8", "module:a:make?compile=maybe"],
)  # fmt: skip
def test_a_wrong_spec_is_one_line(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        ModuleSpec.parse(text)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_installed_packages_register_names(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("mine", "tests.networks.modules:leaking", module_spec.GROUP),
        EntryPoint("twice", "a:make", module_spec.GROUP),
        EntryPoint("twice", "b:make", module_spec.GROUP),
    ]
    monkeypatch.setattr(module_spec, "entry_points", lambda group: EntryPoints(points))
    assert ModuleSpec.parse("module:mine?exits=2").factory == "tests.networks.modules:leaking"
    with pytest.raises(ConfigError, match=r"several packages register it: a:make, b:make"):
        _ = ModuleSpec.parse("module:twice").factory
    with pytest.raises(ConfigError, match=r"registers a network of that name \(there: mine, twice"):
        _ = ModuleSpec.parse("module:theirs").factory
