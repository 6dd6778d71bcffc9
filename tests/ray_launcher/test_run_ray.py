"""The commands of the nodes."""

from pathlib import Path

from vecchess.ray_launcher.run_ray import fleet_seed, selfplay_commands, training_commands


def test_runs_of_a_fleet_have_folders_and_seeds_of_their_own(tmp_path: Path) -> None:
    commands = selfplay_commands(["--games", "8"], tmp_path, ["--gpus", "all"], 7, False, 2)
    common = ["selfplay", "--games", "8", "--run-dir"]
    assert commands == [
        [*common, f"{tmp_path}/0", "--gpus", "all", "--seed", "7"],
        [*common, f"{tmp_path}/1", "--gpus", "all", "--seed", "8"],
    ]


def test_seeds_of_two_fleets_are_a_million_nodes_apart(tmp_path: Path) -> None:
    one, two = fleet_seed(tmp_path / "a"), fleet_seed(tmp_path / "b")
    assert one == fleet_seed(tmp_path / "x" / ".." / "a")
    assert abs(one - two) >= 1 << 20
    assert 0 <= one < 1 << 52


def test_an_existing_run_is_resumed_with_its_settings(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "config.toml").touch()
    new, old = selfplay_commands([], tmp_path, ["--gpus", "cpu"], 0, False, 2)
    assert new == ["selfplay", "--run-dir", f"{tmp_path}/0", "--gpus", "cpu", "--seed", "0"]
    assert old == ["selfplay", "--run-dir", f"{tmp_path}/1", "--resume"]
    old = selfplay_commands(["--seed", "7"], tmp_path, [], 7, True, 2)[1]
    assert old[-5:] == ["--run-dir", f"{tmp_path}/1", "--seed", "8", "--resume"]


def test_ranks_of_a_training_meet_at_the_first_node() -> None:
    commands = training_commands(["--net", "small"], ["--gpus", "all"], 2, "10.0.0.7", 4711)
    meeting = ["--nnodes", "2", "--master-addr", "10.0.0.7", "--master-port", "4711"]
    common = ["train", "--net", "small", "--gpus", "all", *meeting, "--node-rank"]
    assert commands == [[*common, "0"], [*common, "1"]]
