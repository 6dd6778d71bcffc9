"""lc0's training data: the published layout, positions through python-chess, the round trip."""

import gzip
import math
from pathlib import Path

import chess
import numpy as np
import pytest

from tests.export.lc0_reader import board_of, move_of, policy_of, read_chunk
from tests.export.made import from_others, games_of, make_run, played, searched
from tests.export.v6 import FIELDS, SIZE, planes_of, unpack
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import move_to_uci
from vecchess.errors import ConfigError, DataError
from vecchess.export.game_source import ExportSource, RecordedGame
from vecchess.export.lc0_export import RECORD, export_lc0, to_chunk
from vecchess.export.pgn_export import recorded_pgn
from vecchess.lc0.lc0_moves import lc0_moves
from vecchess.shapes import TARGET_UNIT
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.shard import write_shard

# a pawn that may be taken at once, either colour to move; a clock that runs; moves there and back
EN_PASSANT = "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"
EN_PASSANT_BLACK = "rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 3"
ROOKS = "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 30 40"
G1F3, F3G1 = 6 | 21 << 6, 21 | 6 << 6


def others() -> GameRecords:
    there_and_back = [G1F3, G1F3, F3G1, F3G1] * 3
    castles = [4 << 0 | 0 << 6, 4 | 7 << 6]  # king takes own rook: Black left, White right
    return from_others(
        [EN_PASSANT, EN_PASSANT_BLACK, ROOKS], [there_and_back, there_and_back, castles]
    )


def every_game() -> list[RecordedGame]:
    return [
        *games_of(searched()),
        *games_of(played()),
        *games_of(played(chess960=True), chess960=True),
        *games_of(others()),
    ]


def boards_of(game: RecordedGame) -> list[chess.Board]:
    """Before every ply, each with the game so far, as python-chess plays it."""
    board = recorded_pgn(game, comments=False).board()
    boards = []
    for move in recorded_pgn(game, comments=False).mainline_moves():
        boards.append(board.copy())
        board.push(move)
    return boards


def test_the_layout_is_the_published_one() -> None:
    assert RECORD.itemsize == SIZE
    assert list(RECORD.names or ()) == [name for name, _, _ in FIELDS]
    chunk = to_chunk(games_of(searched())[0])
    for record in chunk:
        found = unpack(record.tobytes())
        for name, _, _ in FIELDS:
            assert np.array_equal(found[name], record[name], equal_nan=name[:4] == "orig"), name


@pytest.mark.thorough
def test_planes_are_those_of_the_game() -> None:
    repeated = 0
    for game in every_game():
        for board, record in zip(boards_of(game), to_chunk(game), strict=True):
            wanted = planes_of(board)
            assert record["planes"].tolist() == wanted
            repeated += wanted[12] != 0
    assert repeated > 10


def test_the_start_is_as_lc0_tests_it() -> None:
    record = unpack(to_chunk(games_of(played())[0])[0].tobytes())
    # src/neural/encoder_test.cc, EncodeStartPosition; here with the files in the other order
    assert record["planes"][0] == 0xFF00
    assert record["planes"][5] == int(f"{1 << 4:08b}"[::-1], 2)
    assert record["planes"][11] == int(f"{1 << 4:08b}"[::-1], 2) << 56
    assert not any(record["planes"][12:])
    assert [record[f"castling_{side}"] for side in ("us_ooo", "us_oo", "them_oo")] == [1, 1, 1]
    assert (record["rule50_count"], record["side_to_move_or_enpassant"]) == (0, 0)


@pytest.mark.thorough
def test_records_come_back_as_positions() -> None:
    for game in every_game():
        for board, record in zip(boards_of(game), to_chunk(game), strict=True):
            read = board_of(record)
            assert read.status() == chess.STATUS_VALID
            fen = read.shredder_fen(en_passant="legal").split()
            assert fen[:5] == board.shredder_fen(en_passant="legal").split()[:5]


@pytest.mark.thorough
def test_only_legal_moves_have_a_probability() -> None:
    for game in every_game():
        for board, record in zip(boards_of(game), to_chunk(game), strict=True):
            read = board_of(record)
            policy = policy_of(record)
            assert set(policy) == set(read.legal_moves)
            assert len(policy) == board.legal_moves.count()
            assert math.isclose(sum(policy.values()), 1, abs_tol=1e-6)
            values = record["probabilities"]
            assert ((values >= 0) | (values == -1)).all()
            assert values[record["played_idx"]] >= 0
            assert values[record["best_idx"]] == values.max()


def test_the_policy_is_the_recorded_target() -> None:
    records = searched()
    for game in games_of(records):
        for ply, record in enumerate(to_chunk(game)):
            place = game.plies.start + ply
            span = slice(*records.target_offsets[place : place + 2])
            weights = records.target_prob[span].astype(float)
            played_move = chess.Move.from_uci(
                move_to_uci(game.positions[ply], int(game.moves[ply]), chess960=True)
            )
            assert move_of(record, record["played_idx"]) == played_move
            policy = {move: part for move, part in policy_of(record).items() if part > 0}
            if not len(weights):
                assert policy == {played_move: 1.0}
                assert record["best_idx"] == record["played_idx"]
                continue
            found = sorted(part * weights.sum() for part in policy.values())
            wanted = sorted(weight for weight in weights if weight)
            assert np.allclose(found, wanted, atol=1e-6 * TARGET_UNIT)


def test_values_and_how_they_were_found() -> None:
    for records in (searched(), played(), others()):
        for game in games_of(records):
            black_first = boards_of(game)[0].turn == chess.BLACK
            for ply, record in enumerate(to_chunk(game)):
                require_values(game, ply, record, (ply + black_first) % 2 == 1)


def require_values(game: RecordedGame, ply: int, record: np.void, is_black: bool) -> None:
    win, draw, visits, steps, full = (
        int(game.column(name)[ply]) for name in ("win", "draw", "visits", "steps", "full")
    )
    loss = VALUE_UNIT - win - draw
    result = -game.result if is_black else game.result
    assert (record["result_q"], record["result_d"]) == (result, result == 0)
    judged = visits > 0 or steps > 0
    q = np.float32((win - loss) / VALUE_UNIT if judged else result)
    d = np.float32(draw / VALUE_UNIT if judged else result == 0)
    for name in ("root", "best", "played"):
        assert (record[f"{name}_q"], record[f"{name}_d"], record[f"{name}_m"]) == (q, d, 0)
    own = steps > 0 and visits == 0
    assert np.array_equal(record["orig_q"], q if own else np.nan, equal_nan=True)
    assert np.array_equal(record["orig_d"], d if own else np.nan, equal_nan=True)
    assert np.isnan(record["orig_m"])
    assert record["visits"] == (1 if own else visits)
    assert record["plies_left"] == game.num_plies - ply
    assert record["side_to_move_or_enpassant"] == is_black
    has_target = record["probabilities"][record["best_idx"]] < 1
    skipped = (visits > 0 and not full) or (not judged and game.column("prob")[ply] < 1)
    assert record["invariance_info"] >> 6 & 1 == (skipped and not has_target)
    adjudicated = game.termination >= Termination.PLY_CAP
    assert record["invariance_info"] >> 5 & 1 == adjudicated
    assert record["invariance_info"] >> 4 & 1 == (game.termination == Termination.PLY_CAP)
    assert record["invariance_info"] & 0b10001111 == 0
    assert (record["policy_kld"], record["q_st"], record["dummy"]) == (0, 0, 0)


def test_chess960_has_an_input_format_of_its_own() -> None:
    game = games_of(played(chess960=True), chess960=True)[0]
    for board, record in zip(boards_of(game), to_chunk(game), strict=True):
        assert record["input_format"] == 2
        for side, colour in (("us", board.turn), ("them", not board.turn)):
            files = board.clean_castling_rights() & board.occupied_co[colour]
            files = files & 0xFF if colour else files >> 56
            king = 1 << chess.square_file(board.king(colour) or 0)
            assert record[f"castling_{side}_ooo"] == files & (king - 1)
            assert record[f"castling_{side}_oo"] == files & ~(king - 1)
    assert {int(record["input_format"]) for record in to_chunk(games_of(played())[0])} == {1}


def test_a_run_comes_back_file_by_file(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", searched(), [[0, 3, 5], [1, 2, 4, 6, 7]])
    out = tmp_path / "chunks"
    written = export_lc0(ExportSource(run.path), out)
    assert written == (8, len(searched().action))
    games = games_of(searched())
    assert sorted(path.name for path in out.iterdir()) == [f"game_{i:06d}.gz" for i in range(8)]
    for game in games:
        path = out / f"game_{game.number:06d}.gz"
        assert len(gzip.decompress(path.read_bytes())) == SIZE * game.num_plies
        assert read_chunk(path).tobytes() == to_chunk(game).tobytes()
    with pytest.raises(ConfigError, match="choose another --out"):
        export_lc0(ExportSource(run.path), out)


def test_two_games_of_one_number_do_not_become_one(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    for name in ("a.npz", "b.npz"):
        write_shard(folder / name, played().take(np.arange(2)))
    with pytest.raises(ConfigError, match="two games have number 0"):
        export_lc0(ExportSource(folder), tmp_path / "out")
    assert list(tmp_path.iterdir()) == [folder]


def test_files_that_are_no_records(tmp_path: Path) -> None:
    chunk, path = to_chunk(games_of(played())[0]), tmp_path / "game.gz"
    for data, words in (
        (gzip.compress(chunk.tobytes()[:-1]), "not a number of V6 records"),
        (gzip.compress(b""), "not a number of V6 records"),
        (gzip.compress(chunk.tobytes())[:-20], "cannot read"),
        (chunk.tobytes(), "cannot read"),
        (gzip.compress(changed(chunk, "version", 5)), "has version 5"),
        (gzip.compress(changed(chunk, "input_format", 3)), "has input_format 3"),
        (gzip.compress(changed(chunk, "played_idx", len(lc0_moves()))), "beyond lc0's 1858"),
    ):
        path.write_bytes(data)
        with pytest.raises(DataError, match=words):
            read_chunk(path)
    with pytest.raises(DataError, match="cannot read"):
        read_chunk(tmp_path / "nowhere.gz")


def changed(chunk: np.ndarray, name: str, value: int) -> bytes:
    copy = chunk.copy()
    copy[name][-1] = value
    return copy.tobytes()
