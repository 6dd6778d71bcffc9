"""Games by fixed seeds keep their bits, or ``GAMES_VERSION`` is raised (decision 218)."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from vecchess.config import SelfplayConfig
from vecchess.evaluate.calibrate_exits import play_here
from vecchess.runtime.devices import CPU
from vecchess.snn.create import InputSettings, create_sized, sizes_of
from vecchess.snn.integer.net_file import save_net
from vecchess.store.run_pins import GAMES_DIGEST, GAMES_VERSION

GAMES = 6
DRAWN = {"net": "constant", "game": {"max_plies": 60, "random_plies": 6, "temperature": "1,20:0.3"}}
GUMBEL = {
    "net": "material",
    "game": {"max_plies": 24, "chess960": True, "resign_below": 0.2, "adjudicate_draw_within": 0.1},
    "tree": {"search": "gumbel", "sims": 24, "considered": 16, "c_scale": 1.0},
}
PUCT = {
    "net": "material",
    "game": {"max_plies": 24, "random_plies": 30 - 8, "resign_playthrough": 0.5},
    "tree": {"search": "puct", "sims": 48, "fast_sims": 8, "full_share": 0.5, "c_puct": 1.745},
}
NETWORK = {"game": {"max_plies": 8, "random_plies": 4}}


def test_games_of_a_version_keep_their_bits(tmp_path: Path) -> None:
    digest, file = hashlib.sha256(), tmp_path / "net.safetensors"
    sizes = sizes_of("tiny", InputSettings(tactical=False))
    sizes = sizes.model_copy(update={"readout": "spikes", "time_steps": 4})
    save_net(create_sized(sizes, 0), file)
    for settings in (DRAWN, GUMBEL, PUCT, NETWORK | {"net": str(file)}):
        config = SelfplayConfig.model_validate(settings | {"seed": 218})
        records = play_here(config, CPU, GAMES)
        digest.update(records.digest().encode() + records.fingerprint.tobytes())
    assert digest.hexdigest() == GAMES_DIGEST, (
        f"the games of version {GAMES_VERSION} have changed: where that is meant, raise "
        f'GAMES_VERSION in store/run_pins.py, and set GAMES_DIGEST = "{digest.hexdigest()}"'
    )


@pytest.mark.parametrize("settings", [GUMBEL, PUCT], ids=["gumbel", "puct"])
def test_free_settings_decide_no_game(settings: dict[str, Any]) -> None:
    tree = settings["tree"] | {"tree_mb": 64, "cache_mb": 1}
    free = {"tree": tree, "slots": 3, "concurrent_games": 4, "movers": 2, "threads": 1}
    wanted, found = (
        play_here(SelfplayConfig.model_validate(settings | more), CPU, GAMES) for more in ({}, free)
    )
    assert found.digest() == wanted.digest()
    assert (found.fingerprint == wanted.fingerprint).all()
