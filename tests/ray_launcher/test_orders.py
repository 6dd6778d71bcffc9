"""What nodes are told to run."""

from pathlib import Path

from vecchess.ray_launcher.node_commands import selfplay_orders, training_orders


def test_runs_of_a_fleet_have_folders_and_seeds_of_their_own(tmp_path: Path) -> None:
    orders = selfplay_orders(["--games", "8"], tmp_path, ["--gpus", "all"], 7, False, 2)
    common = ["selfplay", "--games", "8", "--run-dir"]
    assert orders == [
        [*common, f"{tmp_path}/0", "--gpus", "all", "--seed", "7"],
        [*common, f"{tmp_path}/1", "--gpus", "all", "--seed", "8"],
    ]


def test_a_run_that_is_there_goes_on_as_it_was_begun(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "config.toml").touch()
    new, old = selfplay_orders([], tmp_path, ["--gpus", "cpu"], 0, False, 2)
    assert new == ["selfplay", "--run-dir", f"{tmp_path}/0", "--gpus", "cpu", "--seed", "0"]
    assert old == ["selfplay", "--run-dir", f"{tmp_path}/1", "--resume"]
    old = selfplay_orders(["--seed", "7"], tmp_path, [], 7, True, 2)[1]
    assert old[-5:] == ["--run-dir", f"{tmp_path}/1", "--seed", "8", "--resume"]


def test_ranks_of_a_training_meet_at_the_first_node() -> None:
    orders = training_orders(["--net", "small"], ["--gpus", "all"], 2, "10.0.0.7", 4711)
    meeting = ["--nnodes", "2", "--master-addr", "10.0.0.7", "--master-port", "4711"]
    common = ["train", "--net", "small", "--gpus", "all", *meeting, "--node-rank"]
    assert orders == [[*common, "0"], [*common, "1"]]
