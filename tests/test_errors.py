"""What becomes of the system's refusals."""

import errno
import os

import pytest

from vecchess.errors import ConfigError, DataError, DiskFull, VecchessError, write_error


@pytest.mark.parametrize(
    ("number", "kind", "code", "advice"),
    [
        (errno.ENOSPC, DiskFull, 1, ""),
        (errno.EFBIG, DiskFull, 1, ""),
        (errno.EIO, DataError, 1, ""),
        (errno.EACCES, ConfigError, 2, "; choose another"),
        (errno.ENOTDIR, ConfigError, 2, "; choose another"),
    ],
)
def test_only_a_place_that_will_not_do_is_the_users_mistake(
    number: int, kind: type[VecchessError], code: int, advice: str
) -> None:
    found = write_error("cannot write x", OSError(number, "why"), ConfigError, "choose another")
    assert (type(found), found.exit_code) == (kind, code)
    assert str(found) == f"cannot write x: why{advice}"
    assert str(write_error("x", OSError(number, os.strerror(number)))).count(";") == 0
