"""Files and folders are there whole or not at all."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from vecchess.errors import ConfigError, DataError
from vecchess.runtime.atomic_output import binary_file, text_file, whole_folder
from vecchess.runtime.atomic_write import own_partial


class HalfwayError(Exception):
    """Something goes wrong half-way."""


def fail_in_file(out: Path) -> None:
    with text_file(out) as file:
        file.write("half")
        raise HalfwayError


def fail_in_folder(out: Path) -> None:
    with whole_folder(out) as folder:
        (folder / "0.gz").write_bytes(b"0")
        raise HalfwayError


def test_a_file_is_replaced_when_all_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("before")
    with text_file(out) as file:
        file.write("after ä\n")
        file.flush()
        assert out.read_text() == "before"
    assert out.read_bytes() == "after ä\n".encode()
    with pytest.raises(HalfwayError):
        fail_in_file(out)
    assert out.read_text() == "after ä\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with binary_file(tmp_path / "link") as file:
        file.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    out, heard = tmp_path / "pipe", []
    os.mkfifo(out)
    reader = threading.Thread(target=lambda: heard.append(out.read_text()))
    reader.start()
    with text_file(out) as file:
        file.write("through\n")
    reader.join(10)
    assert heard == ["through\n"]
    assert out.is_fifo()


def test_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with text_file(Path("-")) as file:
        file.write("line\n")
    assert capfdbinary.readouterr().out == b"line\n"


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(HalfwayError):
        fail_in_folder(out)
    assert not list(tmp_path.iterdir())
    out.mkdir()
    with whole_folder(out) as folder:
        (folder / "1.gz").write_bytes(b"1")
        assert not any(out.iterdir())
    assert [path.name for path in out.iterdir()] == ["1.gz"]
    assert list(tmp_path.iterdir()) == [out]
    with pytest.raises(ConfigError, match="choose another --out"), whole_folder(out):
        pass


def test_of_two_files_at_one_place_the_last_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with text_file(out) as one:
        one.write("one, ")
        with text_file(out) as two:
            two.write("two")
        assert out.read_text() == "two"
        with pytest.raises(HalfwayError):
            fail_in_file(out)
        one.write("whole")
    assert out.read_text() == "one, whole"
    assert list(tmp_path.iterdir()) == [out]


def test_of_two_folders_at_one_place_the_first_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def write_while_others_do() -> None:
        with whole_folder(out) as one:
            (one / "1.gz").write_bytes(b"1")
            with pytest.raises(HalfwayError):
                fail_in_folder(out)
            with whole_folder(out) as two:
                (two / "2.gz").write_bytes(b"2")
            assert [path.name for path in one.iterdir()] == ["1.gz"]

    with pytest.raises(DataError, match=r"^cannot write .*/out: Directory not empty$"):
        write_while_others_do()
    assert [path.name for path in out.iterdir()] == ["2.gz"]
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("place", [binary_file, whole_folder])
def test_what_a_killed_export_left_is_removed(place: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    old, new, other = own_partial(out), own_partial(out), own_partial(tmp_path / "other")
    for left in (old, new, other):
        left.mkdir()
        (left / "0.gz").write_bytes(b"0")
    for left in (old, other):
        os.utime(left, (0, 0))
    with place(out):
        pass
    assert set(tmp_path.iterdir()) == {out, new, other}


def test_places_that_cannot_be(tmp_path: Path) -> None:
    for place in (text_file, whole_folder):
        with pytest.raises(ConfigError, match="no folder"), place(tmp_path / "no" / "out"):
            pass
    with pytest.raises(DataError, match="cannot write"), text_file(Path("/proc/vecchess")):
        pass
