"""Compiling ahead: what fails there is only noticed by those who start with an empty cache."""

import pytest

from vecchess.config import SelfplayConfig, TreeConfig
from vecchess.jit import cache_dir
from vecchess.selfplay.warmup import Warmup


@pytest.mark.parametrize("search", ["none", "gumbel", "puct"])
def test_the_first_run_compiles_and_the_second_does_not(
    search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a name of its own, so that other runs of this version do not see its mark."""
    mark = f"test-{search}-{{}}-{{}}.compiled"
    monkeypatch.setattr("vecchess.selfplay.warmup._MARK", mark)
    config = SelfplayConfig(net="constant", tree=TreeConfig(search=search))
    said = []
    try:
        for _ in range(2):
            lines: list[str] = []
            Warmup(config, lines.append).finish("constant")
            said.append(lines)
    finally:
        for file in cache_dir("selfplay").glob(f"test-{search}-*.compiled"):
            file.unlink()
    assert "compiled in" in said[0][-1]
    assert said[1] == []
