"""All code in the pages is run: Python, commands and settings, in the order a reader meets them.

Pages that take long are slow; every command of every page is at least parsed in ``make test``.
"""

import json
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, Block, blocks_of
from tests.docs.calls import calls, check_call
from tests.docs.pages import Reader, is_run, read_aloud
from tests.docs.scale import SCALE
from vecchess.config import SelfplayConfig, TrainConfig, build
from vecchess.config.load import read_toml
from vecchess.snn.integer.net_file import SHIPPED_NET, load_net

QUICK = [
    ROOT / "docs" / name
    for name in (
        "batching.md",
        "exactness.md",
        "extending.md",
        "loops.md",
        "own-network.md",
        "python.md",
        "watching.md",
    )
]
"""Pages that are run in ``make test``."""
LANGUAGES = {"console", "python", "output", "toml", "bash", "json", "text", "dockerfile"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def runnable(page: Path) -> bool:
    return any(is_run(block) for block in blocks_of(page))


def blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page) if block.language == language]


@pytest.mark.thorough
@pytest.mark.parametrize("page", QUICK, ids=name_of)
def test_short_pages_do_what_they_say(page: Path, tmp_path: Path) -> None:
    read_aloud(Reader(tmp_path, in_process=True), blocks_of(page))


@pytest.mark.slow
@pytest.mark.stockfish
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [p for p in PAGES if p not in QUICK and runnable(p)], ids=name_of)
def test_long_pages_do_what_they_say(page: Path, tmp_path: Path) -> None:
    read_aloud(Reader(tmp_path), blocks_of(page))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_have_a_language_that_is_looked_after(page: Path) -> None:
    for block in blocks_of(page):
        if not block.language.startswith("{"):
            assert block.language in LANGUAGES, block.name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_call_is_understood(page: Path) -> None:
    for block in blocks_of(page):
        commands = block.commands if block.language == "console" else []
        if block.language == "bash":
            commands = [line for line in block.text.replace("\\\n", " ").splitlines() if line]
        for command in commands:
            for arguments in calls(command):
                check_call(arguments)


def test_the_model_card_is_that_of_the_network_that_is_shipped() -> None:
    card = (ROOT / "docs" / "networks.md").read_text()
    assert f"sha256        {load_net('default').sha256}" in card
    assert f"{SHIPPED_NET.stat().st_size:,} bytes" in card


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_have_a_text(page: Path) -> None:
    """Sphinx writes the title where there is none; who reads the file, or GitHub, sees nothing."""
    assert "[](" not in page.read_text()


def test_shell_scripts_are_shell() -> None:
    for block in blocks("bash"):
        done = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, ""), block.name


def test_settings_are_settings() -> None:
    assert blocks("toml")
    for block in blocks("toml"):
        values = tomllib.loads(block.text)
        is_training = bool(values.keys() - SelfplayConfig.model_fields.keys())
        told = {"data": ["games.pgn"]} if values.get("objective") == "supervised" else {}
        build(TrainConfig if is_training else SelfplayConfig, values | told)


def test_json_is_json() -> None:
    for block in blocks("json"):
        json.loads(block.text)


@pytest.mark.parametrize(("place", "said", "done"), SCALE)
def test_what_is_scaled_down_still_stands_in_the_page(place: str, said: str, done: str) -> None:
    commands = [c for b in blocks_of(ROOT / place) for c in b.commands]
    assert any(said in command for command in commands)
    assert said != done


def test_the_configurations_that_pages_name_are_there() -> None:
    for file in (ROOT / "configs").rglob("*.toml"):
        if file.parent.name != "nets":
            is_training = bool(read_toml(file).keys() - SelfplayConfig.model_fields.keys())
            build(TrainConfig if is_training else SelfplayConfig, read_toml(file))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("sphinx-build"), reason="`make docs` installs Sphinx")
def test_the_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    command = ["sphinx-build", "-q", "-W", "--keep-going", "-d", tmp_path / "trees"]
    done = subprocess.run(
        [*command, ROOT / "docs", tmp_path / "html"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    helped = (tmp_path / "html" / "commands" / "selfplay.html").read_text()
    assert "--resign-playthrough" in helped
    assert "https://" not in _loaded(tmp_path / "html" / "index.html")


def _loaded(page: Path) -> str:
    """What a page makes a browser load."""
    lines = page.read_text().replace(">", ">\n").splitlines()
    return "\n".join(line for line in lines if "<script" in line or 'rel="stylesheet"' in line)
