"""CSV that Python's csv module reads: the sums are those of the manifest, the moves are legal."""

import csv
from pathlib import Path

import chess
import pytest

from tests.export.made import SEED, from_others, games_of, make_run, played, searched
from vecchess.export.csv_table import GAME_COLUMNS, PLY_COLUMNS, export_csv, game_rows, ply_rows
from vecchess.export.game_source import ExportSource, RecordedGame
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.stats import GameStats


def exported(folder: Path, records: GameRecords, plies: bool) -> list[dict[str, str]]:
    run = make_run(folder / "run", records, [[3, 1, 5], [0, 2, 7, 6, 4]])
    out = folder / "table.csv"
    num_games, num_rows = export_csv(ExportSource(run.path), out, plies)
    with out.open(newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    assert reader.fieldnames == list(PLY_COLUMNS if plies else GAME_COLUMNS)
    assert (num_games, num_rows) == (8, len(rows))
    return rows


def test_a_row_a_game(tmp_path: Path) -> None:
    records = searched()
    rows, stats = exported(tmp_path, records, plies=False), GameStats.of(records)
    assert [int(row["game"]) for row in rows] == list(range(8))
    assert {row["seed"] for row in rows} == {str(SEED)}
    assert {row["networks"] for row in rows} == {"net"}
    assert [int(row["fingerprint"], 16) for row in rows] == records.fingerprint.tolist()
    assert {row["start_fen"] for row in rows} == {chess.STARTING_FEN}
    total = {name: sum(int(row[name]) for row in rows) for name in ("plies", "searched")}
    assert total == {"plies": stats.plies, "searched": stats.searched_plies}
    assert sum(int(row["full_searches"]) for row in rows) == stats.full_searches
    visits = sum(float(row["mean_visits"]) * int(row["searched"]) for row in rows)
    assert visits == pytest.approx(stats.visits, abs=0.01 * len(rows))
    assert sum(int(row["total_steps"]) for row in rows) == records.thought.sum()
    results = [row["result"] for row in rows]
    counts = [results.count(result) for result in ("1-0", "1/2-1/2", "0-1")]
    assert counts == [stats.white_wins, stats.draws, stats.black_wins]
    ended = [row["termination"] for row in rows]
    assert {name: ended.count(name) for name in ended} == stats.terminations


def test_a_row_a_ply(tmp_path: Path) -> None:
    records = searched()
    rows = exported(tmp_path, records, plies=True)
    assert len(rows) == len(records.action)
    board = chess.Board()
    for index, row in enumerate(rows):
        if row["ply"] == "0":
            board = chess.Board()
        assert row["fen"] == board.fen(en_passant="legal")
        board.push(chess.Move.from_uci(row["move"]))
        assert board.is_valid()
        win, draw = int(records.win[index]), int(records.draw[index])
        if records.visits[index]:
            assert abs(float(row["win"]) * VALUE_UNIT - win) < 0.1
            assert abs(float(row["score"]) * 2 * VALUE_UNIT - 2 * win - draw) < 0.1
        else:
            assert (row["win"], row["draw"], row["score"]) == ("", "", "")
        found = [int(row[name]) for name in ("steps", "visits", "full_search", "search_steps")]
        columns = (records.steps, records.visits, records.full, records.thought)
        assert found == [int(column[index]) for column in columns]


def test_chess960_moves_are_written_as_uci_has_them() -> None:
    for game in games_of(played(chess960=True), chess960=True):
        board = game.start_board()
        assert next(game_rows(game))["chess960"] == 1
        for row in ply_rows(game):
            assert row["fen"] == board.fen(en_passant="legal")
            board.push(chess.Move.from_uci(str(row["move"])))


def test_what_there_is_not_is_left_empty() -> None:
    e2e4 = 12 | 28 << 6
    records = from_others([chess.STARTING_FEN], [[e2e4, e2e4]])
    found = next(iter(games_of(records)))
    game = RecordedGame(found.records, found.replayed, 0, None, False)
    row = next(game_rows(game))
    assert [row[name] for name in ("seed", "mean_steps", "mean_visits", "fingerprint")] == [""] * 4
    assert (row["networks"], row["judged"]) == ("pgn", 0)


def test_without_out_a_file_in_the_run_is_written(tmp_path: Path) -> None:
    from vecchess_cli.commands.runs import export

    run = make_run(tmp_path / "run", played(), [list(range(played().num_games))])
    export.csv(str(run.path), plies=True)
    export.pgn(str(run.path))
    export.lc0(str(run.path))
    assert (run.path / "plies.csv").read_text().startswith("game,ply,")
    assert (run.path / "games.pgn").read_text().startswith("[Event ")
    assert len(list((run.path / "lc0").glob("*.gz"))) == played().num_games
    shard = next(run.games.glob("*.npz"))
    export.csv(str(shard))
    assert (run.games / f"{shard.stem}-games.csv").exists()
