"""JSON, TOML and files of anybody's: what is read, and what is refused before it does harm."""

import os
from pathlib import Path
from threading import Thread

import pytest

from vecchess.safe_parse import (
    MOST_DOTS,
    MOST_LEVELS,
    MOST_TOML_BYTES,
    open_regular,
    parse_json,
    parse_json_object,
    parse_toml,
    read_bytes,
    to_json_value,
)

REFUSED = "it is nested too deeply"
KEY = ".".join("a" * (MOST_DOTS + 2))


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, 100, 250, 480, 600, 900, 990])
def test_what_is_nested_deeply_is_refused_long_before_python_gives_up(levels: int) -> None:
    for text in (nested(levels), f'{{"x": {nested(levels - 1)}}}'):
        with pytest.raises(ValueError, match=REFUSED):
            to_json_value(parse_json(text))
    with pytest.raises(ValueError, match=REFUSED):
        to_json_value(parse_toml(f"x = {nested(levels)}"))


def test_what_is_nested_as_far_as_it_may_be_is_read() -> None:
    assert to_json_value(parse_json(nested(MOST_LEVELS))) == parse_json(nested(MOST_LEVELS))
    assert parse_json_object('{"a": {"b": [1, "x", null]}}') == {"a": {"b": [1, "x", None]}}
    assert [parse_json(text) for text in ("3", '"[[["', "null", "[]")] == [3, "[[[", None, []]
    assert parse_toml(f"x = {nested(MOST_LEVELS - 1)}")


@pytest.mark.parametrize(
    "text",
    [
        f"{KEY} = 1",
        f"[{KEY}]",
        f"[[{KEY}]]",
        f"x = [{{{KEY} = 1}}]",
        f"x = 1 # '\n{KEY} = 1",
        f"x = '#'\n{KEY} = 1",
        f"""x = "a\\"" \n{KEY} = 1""",
        f'x = """a\\"""""" \n{KEY} = 1',
        f'x = """a"""""\n{KEY} = 1',
        f"x = '''a''''\n{KEY} = 1",
        " . ".join(["'.='"] * (MOST_DOTS + 2)) + " = 1",
        "\t.\t".join(['"a.b # \\" c"'] * (MOST_DOTS + 2)) + " = 1",
    ],
)
def test_a_key_of_very_many_parts_is_refused_before_memory_is_taken(text: str) -> None:
    with pytest.raises(ValueError, match="a key with more than 31 dots"):
        parse_toml(text)


def test_dots_elsewhere_are_none_of_a_key() -> None:
    path = "../" * 200
    values = {
        "x": path, "y": [path] * 9, "z": [0.5] * 99, "v": f"{path}\n'''#", "w": f'"""\n{path}',
    }  # fmt: skip
    text = "".join(f"{name} = {value!r}\n" for name, value in values.items() if name in "xyz")
    text += f'v = """{path}\n\'\'\'#"""  # {path}\n'
    text += f"w = '''\"\"\"\n{path}'''\nd = [{'07:32:00.5, ' * 99}]\n"
    found = parse_toml(text)
    assert {name: found[name] for name in values} == values
    assert parse_toml(KEY.removeprefix("a.") + " = 1")


def test_numbers_too_long_to_be_written_are_refused_or_left_out() -> None:
    for base in "xob":
        with pytest.raises(ValueError, match="a number of more than 100 digits"):
            parse_toml(f"x = [1, 0{base}{'1' * 20_000}]")
    assert parse_toml(f"x = '0x{'1' * 200}'  # 0x{'1' * 200}\ny = 0x{'f' * 16}")["y"] == 2**64 - 1
    assert to_json_value([10**308, -(10**308), 10**309, -(10**309), True]) == [
        10**308, -(10**308), None, None, True,
    ]  # fmt: skip


def test_too_much_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes"):
        parse_toml(b"#" * (MOST_TOML_BYTES + 1))
    with pytest.raises(ValueError, match="bytes"):
        parse_json("[]   ", 4)


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    said = to_json_value(parse_json(r'{"a\ud800": ["\udfff", "\ud83d\ude00", 1e999]}'))
    assert said == {"a?": ["?", "\U0001f600", None]}
    assert to_json_value(os.fsdecode(b"\xff")) == "?"


@pytest.mark.timeout(60)
def test_only_what_people_name_may_be_a_pipe(tmp_path: Path) -> None:
    """Nobody writes to the first pipe: to open it would last for ever."""
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    for name in (pipe, Path("/dev/null"), tmp_path):
        with pytest.raises(OSError, match="it is no regular file"):
            read_bytes(name)
        with pytest.raises(OSError, match="it is no regular file"):
            open_regular(name)
    Thread(target=pipe.write_bytes, args=(b"x = 1",)).start()
    assert read_bytes(pipe, of_any_kind=True) == b"x = 1"
    with pytest.raises(ValueError, match="bytes"):
        read_bytes(Path("/dev/zero"), of_any_kind=True)
    file.write_bytes(b"12345")
    assert read_bytes(file, 5) == read_bytes(file, 5, of_any_kind=True) == b"12345"
    with pytest.raises(ValueError, match="it has 5 bytes, 4 are the most"):
        read_bytes(file, 4)
