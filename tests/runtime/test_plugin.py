"""Functions of the user by ``module:attribute``."""

import importlib
import signal
import sys
from pathlib import Path
from threading import Thread

import pytest

from vecchess.errors import ConfigError
from vecchess.runtime import plugin
from vecchess.runtime.plugin import load_plugin, plugin_file, users_code
from vecchess.runtime.signals import Stopped


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


def test_a_slow_import_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plugin, "SLOW_S", 0.01)
    (folder / "slow_plugin.py").write_text("import time\ntime.sleep(0.3)\ndef make(): ...\n")
    load_plugin("slow_plugin:make")
    assert "vecchess: slow_plugin: its import takes long" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import no_such_thing\n", "ModuleNotFoundError: No module named 'no_such_thing' ("),
        ("def broken(:\n", "SyntaxError: invalid syntax (syntax_of_plugin.py:1)"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt: in 'raise KeyboardInterrupt' ("),
        ("assert [] == [1]\n", "AssertionError: in 'assert [] == [1]' ("),
        ("import json\njson.loads('{')\n", "(syntax_of_plugin.py:2)"),
        ("import os\nos._exit(7)\n", "SystemExit: os._exit(7) (syntax_of_plugin.py:2)"),
    ],
)
def test_an_import_that_fails_names_the_line(folder: Path, source: str, line: str) -> None:
    (folder / "syntax_of_plugin.py").write_text(source)
    importlib.invalidate_caches()
    with pytest.raises(ConfigError) as error:
        load_plugin("syntax_of_plugin:make")
    assert line in str(error.value)
    assert "PYTHONPATH" not in str(error.value)


def test_a_request_to_stop_is_no_error_of_the_user() -> None:
    with pytest.raises(Stopped), users_code("mine", "its step"):
        raise Stopped("SIGTERM")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a script may ignore it
    try:
        with pytest.raises(KeyboardInterrupt), users_code("mine", "its step"):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_only_the_thread_of_the_user_writes_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    printed = Thread(target=print, args=("a result",))
    with users_code("mine", "its step"):
        print("theirs")
        printed.start()
        printed.join()
    print("ours")
    assert capsys.readouterr() == ("a result\nours\n", "theirs\n")
