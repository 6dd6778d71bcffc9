"""A game on the play page: its facts, and its text, read and written.

The page keeps the game and sends all of it with each request; the server is stateless. Taking back
is leaving moves out, and a game continues after the server or the page was restarted.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import chess
import chess.pgn

from vecchess.chess.pgn import in_lines
from vecchess.chess.read_pgn import PgnGame, read_pgn
from vecchess.chess.rules import Termination
from vecchess.errors import ConfigError
from vecchess.importers.imported_game import termination_of
from vecchess.uci.parse_command import STARTPOS, Position
from vecchess.uci.uci_board import UciGame, set_up

MOST_PLIES = 1200
"""Plies of a game at most."""
REASONS = {
    Termination.CHECKMATE: "checkmate",
    Termination.INSUFFICIENT_MATERIAL: "neither side can mate",
    Termination.STALEMATE: "stalemate",
    Termination.FIFTY_MOVES: "the fifty-move rule",
    Termination.THREEFOLD: "threefold repetition",
}
DRAWN, WON, LOST = "1/2-1/2", "1-0", "0-1"


def read_game(start: str, moves: Sequence[str]) -> UciGame:
    """The game of UCI moves, castling either way, from the FEN ``start`` or "startpos".

    Raises ConfigError for a FEN without a legal move, a move that is not legal, and a game
    that is too long.
    """
    if len(moves) > MOST_PLIES:
        raise ConfigError(f"the game has {len(moves)} plies; {MOST_PLIES} is the most here")
    game = set_up(Position(start or STARTPOS, tuple(moves)))
    if (played := len(game.moves)) < len(moves):
        raise ConfigError(f'move {played + 1}, "{moves[played]}", is not legal there')
    return game


def with_typed(game: UciGame, text: str) -> list[str]:
    """The moves and a typed one, in SAN or UCI; ConfigError where it is not legal."""
    board, words, is_960 = game.board, text.strip(), _is_960(game)
    for parse in (board.parse_san, board.parse_uci):
        try:
            move = parse(words)
        except ValueError:
            continue
        if move:
            return [*uci_moves(game), board.uci(move, chess960=is_960)]
    raise ConfigError(f'"{words}" is no legal move here; write Nf3, exd5, O-O, e8=Q or g1f3')


def uci_moves(game: UciGame) -> list[str]:
    """The moves in UCI: castling as king takes rook where the start position needs that."""
    board, moves, is_960 = game.start.copy(), [], _is_960(game)
    for move in game.moves:
        moves.append(board.uci(move, chess960=is_960))
        board.push(move)
    return moves


def game_facts(game: UciGame) -> dict[str, Any]:
    """The facts of a game that the page shows, as plain values."""
    board, plies = game.start.copy(), [_ply(game.start, None, None)]
    is_960 = _is_960(game)
    for move in game.moves:
        uci, san = board.uci(move, chess960=is_960), board.san(move)
        board.push(move)
        plies.append(_ply(board, uci, san))
    return {
        "start": game.start.fen(en_passant="legal"),
        "plies": plies,
        "turn": "white" if board.turn else "black",
        "targets": _targets(board),
        "promotions": sorted({move.uci()[:4] for move in board.legal_moves if move.promotion}),
        "outcome": outcome_of(board),
    }


def outcome_of(board: chess.Board) -> dict[str, Any] | None:
    """Result and reason where the game is over, draws being claimed; None where it is not.

    ``can_go_on``: whether there is a legal move all the same.
    """
    over = termination_of(board)
    if over is Termination.ONGOING:
        return None
    result = (LOST if board.turn else WON) if over is Termination.CHECKMATE else DRAWN
    can_go_on = any(board.generate_legal_moves())
    return {"result": result, "reason": REASONS[over], "can_go_on": can_go_on}


def read_text(text: str) -> UciGame:
    """A game from a FEN or a PGN, its main line; ConfigError where it is neither."""
    words = text.strip()
    if not words:
        raise ConfigError("there is nothing to read: give a FEN or a PGN")
    if "\n" not in words and "[" not in words and words.count("/") == 7:
        return read_game(words, ())
    games = list(islice(read_pgn(f"{words}\n".splitlines(keepends=True), MOST_PLIES), 2))
    if len(games) > 1:
        raise ConfigError("the PGN has several games: give one of them")
    game = games[0] if games else PgnGame()
    if not game.moves and not (game.tags and (game.fault or "FEN" in game.tags)):
        raise ConfigError("that is neither a FEN nor a PGN with moves")
    if game.fault:
        raise ConfigError(f"the PGN cannot be read: {game.fault}")
    return read_game(game.start.fen(), [move.uci() for move in game.moves])


def write_pgn(game: UciGame, tags: Mapping[str, str]) -> str:
    """The game as PGN, with ``tags`` among its headers."""
    board = game.start.copy()
    board.chess960 = game.start.has_chess960_castling_rights()
    for move in uci_moves(game):
        board.push_uci(move)
    written = chess.pgn.Game.from_board(board)
    for name, value in tags.items():
        written.headers[name] = value
    return in_lines(written)


def _ply(board: chess.Board, uci: str | None, san: str | None) -> dict[str, Any]:
    """A position and the move that led there."""
    fen, check = board.fen(en_passant="legal"), board.is_check()
    return {"fen": fen, "uci": uci, "san": san, "check": check}


def _targets(board: chess.Board) -> dict[str, list[str]]:
    """Target squares of each piece; to castle the rook's square, and the one two squares aside."""
    targets: dict[str, list[str]] = {}
    for move in board.legal_moves:
        goals = targets.setdefault(chess.square_name(move.from_square), [])
        names = {chess.square_name(move.to_square)}
        if board.is_castling(move) and not board.has_chess960_castling_rights():
            names.add(board.uci(move, chess960=False)[2:4])
        goals += sorted(names - set(goals))
    return targets


def _is_960(game: UciGame) -> bool:
    """Whether castling is written as king takes rook."""
    return game.start.has_chess960_castling_rights()
