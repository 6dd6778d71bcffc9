"""One game as a page shows it: with the board after each ply."""

from typing import Any

import chess

from vecchess.monitor.live_game import LiveGame


def sheet(game: LiveGame) -> dict[str, Any]:
    """The game as plain values; ``fens`` are the men before the first ply and after each."""
    position = chess.Board(game.start_fen, chess960=game.chess960)
    fens = [_men(position)]
    for uci in game.ucis:
        position.push_uci(uci)
        fens.append(_men(position))
    return game.to_dict() | {"fens": fens}


def _men(position: chess.Board) -> str:
    """Men and side to move, the first two fields of a FEN."""
    return f"{position.board_fen()} {'w' if position.turn else 'b'}"
