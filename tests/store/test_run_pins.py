import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from vecchess.config import SelfplayConfig, TrainConfig, to_toml
from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.selfplay.games.game_table import start_table
from vecchess.snn.integer import net_file
from vecchess.snn.integer.net_file import SHIPPED_NET
from vecchess.store import run_pins
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import (
    GAMES_VERSION,
    PinnedFile,
    PlayedBy,
    RunPins,
    absolute_paths,
    check_resumable,
    note_start,
    pin_run,
    pinned,
    replay_changes,
    replay_obstacles,
)

BOOK = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n"
OTHER = "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq -\n"


def new_run(path: Path, config: Any) -> RunFolder:
    run = RunFolder(path)
    run.create()
    pin_run(run, absolute_paths(config))
    run.config.write_text(to_toml(absolute_paths(config)))
    return run


def config_with(**settings: Any) -> SelfplayConfig:
    return absolute_paths(SelfplayConfig.model_validate({"net": "constant"} | settings))


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("book.epd").write_text(BOOK)
    return Path("book.epd")


def test_an_edited_book_and_a_moved_run_change_nothing(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_with(game={"openings": book})
    run, starts = new_run(tmp_path / "run", config), start_table(config.game)
    book.write_text(OTHER)
    check_resumable(run, config)
    assert note_start(run, config) == [
        f"{book.absolute()} has changed: the run goes on with its own copy"
    ]
    assert (start_table(pinned(run, config).game) == starts).all()
    book.unlink()
    run.path.rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    moved = RunFolder(tmp_path / "moved")
    check_resumable(moved, config)
    assert (start_table(pinned(moved, config).game) == starts).all()


def test_another_place_is_fine_and_another_content_is_not(book: Path, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", config_with(game={"openings": book}))
    Path("same.epd").write_text(BOOK)
    Path("other.epd").write_text(OTHER)
    check_resumable(run, config_with(game={"openings": "same.epd"}))
    for path in ("other.epd", "none.epd"):
        with pytest.raises(ConfigError, match=r"with openings = .* leave --openings out"):
            check_resumable(run, config_with(game={"openings": path}))
    with pytest.raises(ConfigError, match="openings"):
        check_resumable(run, config_with())


@pytest.mark.usefixtures("no_pauses")
def test_a_copy_that_was_edited_is_refused(book: Path, tmp_path: Path) -> None:
    config = config_with(game={"openings": book})
    run = new_run(tmp_path / "run", config)
    (run.inputs / "openings" / "book.epd").write_text(OTHER)
    with pytest.raises(DataError, match=r"book\.epd is not what the run began with"):
        pinned(run, config)
    (run.inputs / "openings" / "book.epd").unlink()
    with pytest.raises(FileUnreadable, match=r"cannot read .*book\.epd: No such file"):
        pinned(run, config)


def test_networks_of_a_training_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("sizes.toml", "weights.safetensors", "games.npz"):
        Path(name).write_text(name)
    settings = {"net": "sizes.toml", "init_from": "weights.safetensors", "data": ["games.npz"]}
    config = absolute_paths(TrainConfig.model_validate(settings))
    run = new_run(tmp_path / "run", config)
    for name in ("sizes.toml", "weights.safetensors"):
        Path(name).unlink()
    kept = pinned(run, config)
    assert Path(kept.net).read_text() == "sizes.toml"
    assert type(kept.net) is str
    assert kept.init_from is not None
    assert kept.init_from.read_text() == "weights.safetensors"
    assert kept.data == (tmp_path / "games.npz",)


def test_a_run_keeps_the_network_of_vecchess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later vecchess has another under the same name."""
    monkeypatch.chdir(tmp_path)
    Path("default").write_text("a file of that name")
    config = config_with(net="default")
    assert config.net == "default"
    run, data = new_run(tmp_path / "run", config), SHIPPED_NET.read_bytes()
    assert Path(pinned(run, config).net).read_bytes() == data
    assert note_start(run, config) == []
    Path("same.safetensors").write_bytes(data)
    check_resumable(run, config_with(net="same.safetensors"))
    later = tmp_path / "later.safetensors"
    later.write_bytes(b"another")
    monkeypatch.setattr(net_file, "SHIPPED_NET", later)
    check_resumable(run, config)
    assert note_start(run, config) == [f"{later} has changed: the run goes on with its own copy"]
    assert Path(pinned(run, config).net).read_bytes() == data


def test_a_training_keeps_it_too(tmp_path: Path) -> None:
    for name in ("net", "init_from"):
        config = absolute_paths(TrainConfig.model_validate({name: "default"}))
        assert str(getattr(config, name)) == "default"
        kept = pinned(new_run(tmp_path / name, config), config)
        assert Path(getattr(kept, name)).read_bytes() == SHIPPED_NET.read_bytes()


@pytest.mark.parametrize("net", ["tiny", "constant"])
def test_a_network_without_a_file_is_no_input(net: str, tmp_path: Path) -> None:
    config = config_with(net=net)
    run = new_run(tmp_path / "run", config)
    assert not run.inputs.exists()
    assert pinned(run, config) == config


def test_settings_that_decide_no_game_may_change(tmp_path: Path) -> None:
    tree = {"search": "gumbel", "sims": 8}
    run = new_run(tmp_path / "run", config_with(tree=tree))
    free: dict[str, Any] = {"gpus": "cpu:2", "slots": 9, "backend": "cpu", "shard_games": 3}
    check_resumable(run, config_with(tree=tree | {"tree_mb": 900, "cache_mb": 3}, **free))
    for other in ({"sims": 9}, {"c_scale": 0.25}, {"syzygy": tmp_path}):
        with pytest.raises(ConfigError, match=next(iter(other))):
            check_resumable(run, config_with(tree=tree | other))
    with pytest.raises(ConfigError, match="seed = 0, not 1: leave --seed out"):
        check_resumable(run, config_with(tree=tree, seed=1))


def test_a_version_that_plays_other_games_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_with()
    run = new_run(tmp_path / "run", config)
    assert replay_obstacles(run, config) == []
    monkeypatch.setattr(run_pins, "GAMES_VERSION", GAMES_VERSION + 1)
    with pytest.raises(ConfigError, match=r"of version .* install vecchess .* begin another run"):
        check_resumable(run, config)
    assert "install vecchess" in replay_obstacles(run, config)[0]


def test_another_program_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_with()
    run = new_run(tmp_path / "run", config)
    assert (note_start(run, config), replay_changes(run)) == ([], "")
    here = PlayedBy.here()
    other = here.model_copy(update={"libraries": here.libraries | {"numpy": "9.9"}})
    monkeypatch.setattr(PlayedBy, "here", lambda: other)
    (line,) = note_start(run, config)
    assert line.startswith(f"the run goes on with numpy {here.libraries['numpy']}, now 9.9")
    assert note_start(run, config) == []
    assert RunPins.of(run).played_by == [here, other]


def test_tables_are_known_by_their_names_and_sizes(tmp_path: Path) -> None:
    def tables(name: str, *sizes: int) -> dict[str, Any]:
        (tmp_path / name).mkdir(exist_ok=True)
        for number, size in enumerate(sizes):
            (tmp_path / name / f"{number}.rtbw").write_bytes(bytes(size))
        return {"search": "gumbel", "syzygy": tmp_path / name}

    run = new_run(tmp_path / "run", config_with(tree=tables("a", 5, 6)))
    check_resumable(run, config_with(tree=tables("b", 5, 6)))
    with pytest.raises(ConfigError, match="syzygy"):
        check_resumable(run, config_with(tree=tables("c", 5, 6, 7)))
    with pytest.raises(ConfigError, match="holds other tables than when"):
        check_resumable(run, config_with(tree=tables("a", 5, 7)))


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("change", [{"schema": 2}, {"inputs": 3}, {"played_by": []}, {"odd": 1}])
def test_damaged_pins_are_an_error_of_one_line(change: dict[str, Any], tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", config_with())
    values = json.loads((run.path / "pins.json").read_text())
    run.write_json("pins.json", values | change)
    with pytest.raises(DataError, match=r"pins.json is damaged") as caught:
        RunPins.of(run)
    assert "\n" not in str(caught.value)
    os.unlink(run.path / "pins.json")
    with pytest.raises(DataError, match=r"has no pins\.json.* begin another run"):
        pinned(run, config_with())


@pytest.mark.parametrize("name", ["../../../book.epd", "a\0b", "\ud800", ""])
def test_a_copy_lies_in_the_run_whatever_pins_say(name: str, book: Path, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", config_with(game={"openings": book}))
    values = json.loads((run.path / "pins.json").read_text())
    values["inputs"]["openings"]["file"] = name
    run.write_json("pins.json", values)
    with pytest.raises(DataError, match="damaged"):
        RunPins.of(run)


def test_paths_are_made_absolute_in_fixed_settings_alone(tmp_path: Path) -> None:
    config = TrainConfig.model_validate({"data": ["a"], "game": {"openings": "b"}})
    made = absolute_paths(config)
    assert (made.data, made.game.openings) == ((Path.cwd() / "a",), Path.cwd() / "b")
    assert made == config.model_copy(update={"data": made.data, "game": made.game})


@pytest.mark.parametrize("file", ["", ".", "..", "a/b", "../b", "a\\b", "a\0"])
def test_a_pinned_file_lies_in_its_folder(file: str) -> None:
    assert PinnedFile(file="..a.epd", sha256="").file == "..a.epd"
    with pytest.raises(ValidationError, match="file"):
        PinnedFile(file=file, sha256="")
