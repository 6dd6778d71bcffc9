"""What lc0's networks see, against python-chess boards with their moves taken back."""

import chess
import numpy as np
from numpy.typing import NDArray

from tests.export.v6 import planes_of
from vecchess.chess.fen import from_fens
from vecchess.chess.game_arrays import Games
from vecchess.chess.planes import POSITION_INPUTS, encode_planes
from vecchess.chess.uci_moves import uci_to_move
from vecchess.lc0.lc0_planes import CASTLING_PLANE, CLASSICAL, input_planes, reversed_in_bytes

MEN = 104
EMPTY_MEN = 13 * 64
TO_AND_FRO = ["g1f3", "g8f6", "f3g1", "f6g8"] * 2
LINES = {
    chess.STARTING_FEN: ["e2e4", "c7c5", "e4e5", "d7d5", "e5d6", "g8f6", "f1c4", "b8c6", "g1f3"],
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 9": TO_AND_FRO[:7],
    "4k3/8/8/8/8/8/8/R3K2R w KQ - 3 40": ["e1c1", "e8e7", "d1d2", "e7e8", "d2d1", "e8e7"],
    "rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 3": ["g8f6", "b1c3", "f8b4"],
}


def seen_after(
    fen: str, moves: list[str], input_format: int = CLASSICAL
) -> list[tuple[chess.Board, NDArray[np.float32]]]:
    """Boards of a line, and what a player's network sees of them, ``float32[112, 64]``."""
    game, only, board = Games.at(from_fens([fen]), 400), np.zeros(1, np.int64), chess.Board(fen)
    found = []
    for uci in [*moves, None]:
        words = encode_planes(game.positions, game.repetitions, game.past, POSITION_INPUTS)
        found.append((board.copy(), input_planes(words.reshape(1, 8, 8), input_format)[0]))
        if uci is not None:
            game.play(only, np.array([uci_to_move(game.positions[0], uci)], np.uint16))
            board.push_uci(uci)
    return found


def bits(words: list[int]) -> NDArray[np.float32]:
    """Planes of a V6 record as ``float32[P, 64]``."""
    turned = reversed_in_bytes(np.array(words, np.uint64))
    return np.unpackbits(turned.view(np.uint8), bitorder="little").reshape(-1, 64).astype("f4")


def test_men_of_eight_positions_and_the_first_repeated() -> None:
    marked = 0
    for fen, moves in LINES.items():
        usual = chess.Board(fen).board_fen() == chess.STARTING_BOARD_FEN
        for board, planes in seen_after(fen, moves):
            wanted, known = bits(planes_of(board)), min(8, len(board.move_stack) + 1)
            found = planes[:MEN]
            assert np.array_equal(found[: 13 * known], wanted[: 13 * known]), board.fen()
            marked += int(found[12::13].any(axis=1).sum())
            rest = found[13 * known :].reshape(-1, 13, 64)
            if usual:
                assert not rest.any()
                continue
            first = wanted[13 * (known - 1) : 13 * known]
            if chess.Board(fen).has_legal_en_passant() and known < 8:
                first = wanted[13 * known : 13 * (known + 1)]
            assert all(np.array_equal(one, first) for one in rest), board.fen()
    assert marked > 10


def test_castling_colour_clock_and_edge() -> None:
    for fen, moves in LINES.items():
        for board, planes in seen_after(fen, moves):
            sides = board.turn, not board.turn
            rights = [
                right
                for side in sides
                for right in (
                    board.has_queenside_castling_rights(side),
                    board.has_kingside_castling_rights(side),
                )
            ]
            wanted = [*rights, board.turn == chess.BLACK, board.halfmove_clock, 0, 1]
            assert (planes[MEN:] == np.array(wanted, np.float32)[:, None]).all(), board.fen()


def test_rooks_that_may_castle_for_chess960() -> None:
    fen = "1r2k2r/8/8/8/8/8/8/R3K1R1 b GAhb - 0 1"
    ((_, planes),) = seen_after(fen, [], CASTLING_PLANE)
    assert [np.flatnonzero(plane).tolist() for plane in planes[MEN : MEN + 4]] == [
        [chess.B1, chess.A8], [chess.H1, chess.G8], [], [],
    ]  # fmt: skip
    ((_, planes),) = seen_after(fen, [], CLASSICAL)
    assert planes[MEN : MEN + 4].all()
