"""Test positions in EPD files: a position a line, followed by what is claimed of it.

``bm`` and ``am`` list the moves to be found and to be avoided, ``dm`` the moves to mate. Where the
history matters, the line holds the start and ``c0`` the moves (UCI) that lead from there to the
position all else is said of.
"""

import re
from pathlib import Path
from typing import Any

import chess

FOLDER = Path(__file__).parent / "positions"

_OPERATION = re.compile(r' (\w+) ("[^"]*"|[^";]*);')


def read_epd(name: str) -> list[tuple[chess.Board, dict[str, Any]]]:
    """The positions of ``positions/NAME.epd``, clocks at zero, with the moves of ``c0`` played.

    Returns: boards with their move stacks, and operations by opcode: ``bm`` and ``am`` as moves,
        ``dm`` as a number, all others as text.
    """
    return [_parse(line) for line in (FOLDER / f"{name}.epd").read_text().splitlines()]


def epd_line(board: chess.Board, **operations: str | int | list[chess.Move]) -> str:
    """The line that reads as ``board`` with its move stack: text quoted, moves sorted."""
    if board.move_stack:
        operations = {"c0": " ".join(move.uci() for move in board.move_stack), **operations}
    fields = [f"{code} {_operand(board, value)};" for code, value in operations.items()]
    return " ".join([board.root().epd(), *fields])


def _operand(board: chess.Board, value: str | int | list[chess.Move]) -> str:
    if isinstance(value, list):
        return " ".join(sorted(board.san(move) for move in value))
    return f'"{value}"' if isinstance(value, str) else str(value)


def _parse(line: str) -> tuple[chess.Board, dict[str, Any]]:
    start = " ".join(line.split(" ", 4)[:4])
    board = chess.Board(f"{start} 0 1")
    operations: dict[str, Any] = dict(_OPERATION.findall(line, len(start)))
    for uci in operations.get("c0", "").strip('"').split():
        board.push_uci(uci)
    for code, operand in operations.items():
        if code in ("am", "bm"):
            operations[code] = [board.parse_san(san) for san in operand.split()]
        else:
            operations[code] = int(operand) if code == "dm" else operand.strip('"')
    return board, operations
