"""Lines of the protocol as values."""

import pytest

from vecchess.uci.parse_command import (
    MOST,
    STARTPOS,
    Go,
    Position,
    parse_go,
    parse_position,
    parse_set_option,
    split,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("go depth 3", ("go", ["depth", "3"])),
        ("  go\t depth   3 \r", ("go", ["depth", "3"])),
        ("", ("", [])),
        ("  ", ("", [])),
        ("# a comment", ("", [])),
        ("#x", ("", [])),
    ],
)
def test_lines_are_split(line: str, expected: tuple[str, list[str]]) -> None:
    assert split(line) == expected


def test_go_with_everything() -> None:
    line = (
        "wtime 1000 btime 2000 winc 10 binc 20 movestogo 5 nodes 7 depth 8 mate 9 movetime 11 "
        "infinite ponder searchmoves e2e4 d2d4"
    )
    assert parse_go(line.split()) == Go(
        time_ms=(1000, 2000), increment_ms=(10, 20), moves_to_go=5, nodes=7, depth=8, mate=9,
        movetime_ms=11, infinite=True, ponder=True, search_moves=("e2e4", "d2d4"),
    )  # fmt: skip


def test_words_after_searchmoves_still_count() -> None:
    go = parse_go(["searchmoves", "e2e4", "d2d4", "nodes", "5", "searchmoves", "a2a3"])
    assert go == Go(nodes=5, search_moves=("e2e4", "d2d4", "a2a3"))


@pytest.mark.parametrize(
    ("line", "go", "complaints"),
    [
        ("", Go(), 0),
        ("depth", Go(), 1),
        ("depth x nodes 4", Go(nodes=4), 1),
        ("depth nodes 4", Go(nodes=4), 1),
        ("foo depth 2 bar", Go(depth=2), 2),
        ("wtime -50 winc -3", Go(time_ms=(-50, None)), 0),
        ("nodes 99999999999999999999999", Go(nodes=MOST), 0),
        ("nodes " + "9" * 5000, Go(), 1),
        ("perft 3", Go(perft=3), 0),
    ],
)
def test_what_makes_no_sense_is_left_out(line: str, go: Go, complaints: int) -> None:
    found = parse_go(line.split())
    assert found == go
    assert len(found.errors) == complaints


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("startpos", Position()),
        ("startpos moves", Position()),
        ("startpos moves e2e4 e7e5", Position(STARTPOS, ("e2e4", "e7e5"))),
        ("startpos e2e4 e7e5", Position()),
        ("fen 8/8/8 w - - 0 1 moves a1a2", Position("8/8/8 w - - 0 1", ("a1a2",))),
        ("fen", Position("")),
        ("", None),
        ("foo", None),
        ("moves e2e4", None),
    ],
)
def test_positions(line: str, expected: Position | None) -> None:
    assert parse_position(line.split()) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("name Hash value 32", ("Hash", "32")),
        ("name Move Overhead value 5", ("Move Overhead", "5")),
        ("name Clear Hash", ("Clear Hash", "")),
        ("name SyzygyPath value /a b/c d", ("SyzygyPath", "/a b/c d")),
        ("name Hash value", ("Hash", "")),
        ("", None),
        ("Hash 32", None),
        ("name", None),
        ("name value 3", None),
    ],
)
def test_options(line: str, expected: tuple[str, str] | None) -> None:
    assert parse_set_option(line.split()) == expected
