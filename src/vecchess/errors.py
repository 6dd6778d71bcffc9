"""Errors that users can meet. A message tells what is wrong, where, and what to do next."""

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}
_BAD_PLACE = {
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS,
    errno.ENAMETOOLONG, errno.ELOOP, errno.EEXIST,
}  # fmt: skip
"""Error numbers of a place that was chosen badly."""

_OUT_OF_MEMORY = ("out of memory", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED")
_FAILED = (
    "CUDA error",
    "CUDA driver error",
    "HIP error",
    "Triton Error",
    "cuBLAS",
    "CUBLAS_STATUS",
    "CUDNN_STATUS",
    "AcceleratorError",
)
_NO_KERNEL = ("OutOfResources", "PTXASError")
"""Triton's errors, which are no RuntimeErrors, for a kernel that the device cannot hold."""
_LONGEST_NAME = 100
"""Letters of a name that are compared with ours: that takes the square of their number."""


class VecchessError(Exception):
    """Base of every error vecchess raises on purpose. The command line prints it as one line."""

    exit_code = 1


class ConfigError(VecchessError):
    """A wrong flag, key, value, device, FEN or file name: the user's input has to change."""

    exit_code = 2


class DataError(VecchessError):
    """Recorded games or positions on disk cannot be read or written."""


class FileUnreadable(DataError):  # noqa: N818
    """A file could not be read (I/O or permission). Its content is unknown; retrying may help."""


class FileMissing(FileUnreadable):
    """A file is not there, or its disk is away."""


class WriteLater(DataError):  # noqa: N818
    """A file cannot be written now, but perhaps later."""


class DiskFull(WriteLater):
    """The disk is full."""


class FileBusy(WriteLater):
    """Another process holds the lock of a file."""


class NetworkError(VecchessError):
    """A network file is missing, corrupt, or breaks the bounds in which inference is exact."""

    exit_code = 2


class DeviceError(VecchessError):
    """A GPU ran out of memory, or failed. Only a new process may be able to use it again."""

    def __init__(self, message: str, out_of_memory: bool = False) -> None:
        """``out_of_memory``: fewer slots may help."""
        super().__init__(message)
        self.out_of_memory = out_of_memory


class WorkerDied(VecchessError):  # noqa: N818  (named after the event)
    """A worker process ended, or stopped answering, and could not be replaced."""


class RankLost(WorkerDied):
    """A rank of a training ended or stopped answering; the others cannot go on without it."""


def write_error(
    line: str, error: OSError, mistake: type[VecchessError] = DataError, advice: str = ""
) -> VecchessError:
    """The error of a failed write: DiskFull for a full disk, WriteLater where too many files are
    open, ``mistake`` for a bad place, else DataError.

    line: what was tried, without the reason. advice: what to do about the place.
    """
    if error.errno in _BAD_PLACE:
        return mistake(f"{line}: {error.strerror}{advice and '; '}{advice}")
    if error.errno in _TOO_MANY_FILES:
        return WriteLater(f"{line}: {error.strerror}")
    kind = DiskFull if error.errno in _NO_ROOM else DataError
    return kind(f"{line}: {error.strerror}")


def missing_library(library: str, extra: str, otherwise: str = "") -> ConfigError:
    """The error of a library that vecchess does without unless a user asks for what needs it:
    ``extra`` has it, ``otherwise`` is what else may help."""
    return ConfigError(f"{library} is not installed: pip install 'vecchess[{extra}]'{otherwise}")


def require_library(library: str, extra: str, otherwise: str = "") -> None:
    """Raise the error of ``missing_library`` unless ``library`` is installed."""
    if find_spec(library) is None:
        raise missing_library(library, extra, otherwise)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a line about an unknown ``name``: the nearest of the ``known`` ones, "" where none
    is near."""
    near = get_close_matches(name[:_LONGEST_NAME], known, 1)
    return f'; did you mean "{near[0]}"?' if near else ""


def as_device_error(error: BaseException, what: str) -> DeviceError | None:
    """``error`` as a DeviceError, None if it does not come from the device.

    torch.OutOfMemoryError and torch.AcceleratorError are RuntimeErrors; older and other failures
    are told apart by their text alone.
    """
    name, text = type(error).__name__, f"{type(error).__name__}: {error}"
    first_line = (str(error).strip() or name).split("\n")[0]
    if name in _NO_KERNEL:
        return DeviceError(
            f"the device cannot hold a kernel while {what}: {first_line}; use --backend reference"
        )
    if not isinstance(error, RuntimeError):
        return None
    if name == "OutOfMemoryError" or any(sign in text for sign in _OUT_OF_MEMORY):
        advice = "use fewer --slots, or free memory on the device"
        return DeviceError(f"out of device memory while {what}: {first_line}; {advice}", True)
    if any(sign in text for sign in _FAILED):
        advice = "look at the driver's log (dmesg, nvidia-smi) if it happens again"
        return DeviceError(f"the device failed while {what}: {first_line}; {advice}")
    return None


@contextmanager
def device_work(what: str) -> Iterator[None]:
    """Raise DeviceError where the device fails in the block, or in a function that this decorates;
    other errors pass unchanged. ``what`` is done there, as the message says. Decision 120."""
    try:
        yield
    except Exception as error:
        if device_error := as_device_error(error, what):
            raise device_error from error
        raise
