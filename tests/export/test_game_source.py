"""Games come by number from shards in any order, and few shards are held at a time."""

import weakref
from pathlib import Path

import numpy as np
import pytest

from tests.export.made import SEED, make_run, played, with_a_bad_shard
from tests.selfplay.playing import recorded_games
from vecchess.errors import ConfigError, DataError
from vecchess.export.game_source import ExportSource, _ordered, parse_numbers
from vecchess.store.records import GameRecords


def numbers_of(source: ExportSource) -> list[int]:
    return [game.number for game in source.games()]


def test_games_come_by_number(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", played(), [[5, 0, 2], [7, 1], [6, 4, 3]])
    told: list[tuple[int, int]] = []
    games = list(ExportSource(run.path).games(lambda done, total: told.append((done, total))))
    assert [game.number for game in games] == list(range(8))
    assert told == [(done, 8) for done in range(1, 9)]
    assert {(game.seed, game.chess960) for game in games} == {(SEED, False)}
    for game, wanted in zip(games, recorded_games(played()), strict=True):
        assert (game.moves == wanted.moves).all()
        assert (game.positions == wanted.positions).all()
    folder = ExportSource(run.games)
    assert {game.seed for game in folder.games()} == {None}


def test_a_shard_is_held_from_its_first_game_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path / "run", played(), [[0, 1], [2, 4], [3, 5], [6, 7]])
    alive: list[weakref.ref[GameRecords]] = []
    read = ExportSource._read

    def noted(self: ExportSource, shard: object) -> object:
        found = read(self, shard)  # type: ignore[arg-type]
        alive.append(weakref.ref(found[0]))  # type: ignore[index]
        return found

    monkeypatch.setattr(ExportSource, "_read", noted)
    held = []
    for game in ExportSource(run.path).games():
        del game
        held.append(sum(reference() is not None for reference in alive))
    assert len(alive) == 4
    assert held == [1, 1, 1, 2, 2, 1, 1, 1]


def test_some_games_are_enough(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", played(), [[0, 1, 2], [3, 4], [5, 6, 7]])
    (run.games / "1.npz").write_bytes(b"never looked at for these games")
    said: list[str] = []
    assert numbers_of(ExportSource(run.path, range(1, 3), said.append)) == [1, 2]
    assert numbers_of(ExportSource(run.path, range(7, 99), said.append)) == [7]
    assert not said
    assert numbers_of(ExportSource(run.path, range(4, 6), said.append)) == [5]
    assert len(said) == 1
    with pytest.raises(DataError, match="no recorded games that can be read"):
        numbers_of(ExportSource(run.path, range(3, 5), said.append))
    with pytest.raises(ConfigError, match="no games 8-9: they have numbers from 0 to 7"):
        ExportSource(run.path, range(8, 10), said.append)


def test_the_order_takes_eight_bytes_a_game() -> None:
    numbers = [np.arange(0, 2000, 2), np.arange(1, 2000, 2)]
    order = _ordered(numbers, range(100, 1100))
    assert order.nbytes == 8 * 1000
    assert order[:3].tolist() == [[0, 50], [1, 50], [0, 51]]


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-99", range(100)), ("7", range(7, 8)), ("3-3", range(3, 4))]
)
def test_numbers_as_users_write_them(text: str, numbers: range) -> None:
    assert parse_numbers(text) == numbers


@pytest.mark.parametrize("text", ["", "-", "5-", "-5", "9-3", "all", "1,2", "1-2-3"])
def test_numbers_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="--games"):
        parse_numbers(text)


def test_a_shard_with_an_illegal_move_is_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", *with_a_bad_shard())
    said: list[str] = []
    assert numbers_of(ExportSource(run.path, report_line=said.append)) == [0, 2]
    assert len(said) == 1
    assert "1.npz: game 1: the move recorded at ply 0 is illegal" in said[0]
    with pytest.raises(DataError, match="illegal"):
        numbers_of(ExportSource(run.path))


def test_places_without_games(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        ExportSource(tmp_path / "nowhere")
    (tmp_path / "file").write_text("no shard")
    with pytest.raises(ConfigError, match="not a readable shard"):
        ExportSource(tmp_path / "file")
    run = make_run(tmp_path / "run", played(), [[0]])
    (run.games / "0.npz").write_bytes(b"damaged")
    with pytest.raises(DataError, match="no recorded games that can be read"):
        numbers_of(ExportSource(run.path, report_line=lambda line: None))
