"""Functions of the user by ``module:attribute``."""

import sys
from pathlib import Path

import pytest

from vecchess.errors import ConfigError
from vecchess.runtime.plugin import load_plugin, plugin_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "plugin_of_the_test.py").write_text("VALUE = 3\ndef make(seed): return seed + 1\n")
    (tmp_path / "plugin_that_fails.py").write_text("1 / 0\n")
    return tmp_path


def test_a_function_in_the_current_folder_is_found(folder: Path) -> None:
    assert load_plugin("plugin_of_the_test:make")(seed=4) == 5
    assert plugin_file("plugin_of_the_test:make") == folder / "plugin_of_the_test.py"
    assert plugin_file("no_such_module:make") is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("no_such_module:make", "cannot import no_such_module: ModuleNot"),
        ("plugin_that_fails:make", "ZeroDivisionError"),
        ("plugin_of_the_test:other", "module plugin_of_the_test has no function other"),
        ("plugin_of_the_test:VALUE", "has no function VALUE"),
    ],
)
def test_what_cannot_be_loaded_is_named(folder: Path, text: str, part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        load_plugin(text)
