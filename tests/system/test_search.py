"""Searched self-play as a user runs it."""

from pathlib import Path

import pytest

from tests.system.commands import SHORT, games, inside, last_json

SEARCH = ["--search", "gumbel", "--sims", 6, "--net", "material", *SHORT]


@pytest.mark.thorough
def test_searched_games_are_recorded_and_go_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    summary = last_json(inside("selfplay", "--games", 6, *SEARCH, "--run-dir", run, "--json"))
    assert summary["searched_plies"] == summary["plies"]
    assert 1 <= summary["mean_visits"] <= 6
    assert (games(run).full == 1).all()
    done = inside("selfplay", "--run-dir", run, "--resume", "--games", 9, "--json")
    assert last_json(done)["games"] == 9
    other = tmp_path / "other"
    whole = ["--games", 9, "--slots", 3, "--run-dir", other]
    assert inside("selfplay", *SEARCH, *whole).returncode == 0
    assert games(run).digest() == games(other).digest()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--search", "alphabeta"], "search"),
        (["--search", "puct", "--sims", 0], "sims"),
        (["--search", "puct", "--sims", -3], "sims"),
        (["--search", "puct", "--fast-sims", 4], "full_share"),
        (["--search", "puct", "--full-share", 0.5, "--fast-sims", 99], "fast_sims"),
        (["--search", "puct", "--cache-mb", 4_000_000], "cache"),
        (["--search", "puct", "--sims", 10_000_000], "more than the memory"),
        (["--search", "puct", "--tree-mb", 1, "--sims", 5000], "tree_mb"),
        (["--sims", 800], "sims needs a search"),
        (["--search", "gumbel", "--sims", 16_000_000], "considered"),
        (["--search", "puct", "--syzygy", "/nowhere"], "syzygy"),
        (["--search", "puct", "--syzygy", "/"], "no tables"),
    ],
)
def test_bad_input_is_one_line(flags: list[object], words: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = inside("selfplay", "--net", "constant", "--gpus", "cpu", "--run-dir", run, *flags)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
    assert not run.exists()
