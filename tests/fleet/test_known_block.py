"""A player's test of itself: games that are known."""

from pathlib import Path

import pytest

from tests.fleet.test_fleet_run import Quiet
from vecchess.config import ContributeConfig, build
from vecchess.fleet.block_player import KNOWN_DIGEST, digest_of_known_block
from vecchess.runtime.devices import CPU

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("backend", ["auto", pytest.param("reference", marks=pytest.mark.slow)])
def test_each_backend_plays_them(backend: str, tmp_path: Path) -> None:
    config = build(ContributeConfig, {"threads": 1, "backend": backend})
    digest = digest_of_known_block(config, [CPU], tmp_path, Quiet())
    assert digest == KNOWN_DIGEST, f'KNOWN_DIGEST = "{digest}"'
