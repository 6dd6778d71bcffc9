"""Failures of a device become typed errors; everything else passes as it is."""

import numpy as np
import pytest
import torch

from tests.inference.requests import ask
from tests.nets import FOUR_STEPS
from vecchess.errors import DeviceError, device_work
from vecchess.inference.reference import ReferenceBackend
from vecchess.snn.create import InputSettings, create_network
from vecchess.snn.integer.integer_net import ExitRule


@device_work("working")
def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "out_of_memory"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), True),
        (RuntimeError("Triton Error [CUDA]: out of memory"), True),
        (
            torch.AcceleratorError("CUDA error: an illegal memory access was encountered\nmore"),
            False,
        ),
        (RuntimeError("CUDA error: unspecified launch failure"), False),
        (RuntimeError("HIP error: the device is gone"), False),
    ],
)
def test_what_a_device_says_becomes_one_line(error: RuntimeError, out_of_memory: bool) -> None:
    with pytest.raises(DeviceError, match="while working") as caught:
        _raise(error)
    assert caught.value.out_of_memory is out_of_memory
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is error


def test_a_kernel_that_does_not_fit_is_the_devices_fault() -> None:
    """Triton's errors are no RuntimeErrors."""
    triton = pytest.importorskip("triton.runtime.errors")
    for error in (triton.OutOfResources(300_000, 232_448, "shared memory"), triton.PTXASError()):
        with pytest.raises(DeviceError, match="cannot hold a kernel while working: ") as caught:
            _raise(error)
        assert str(caught.value).endswith("; use --backend reference")
        assert "\n" not in str(caught.value)
        assert not caught.value.out_of_memory


@pytest.mark.parametrize(
    "error",
    [ValueError("slot"), RuntimeError("shapes do not match"), DeviceError("out of memory", True)],
)
def test_other_errors_pass(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        _raise(error)


def test_a_backend_reports_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    backend = ReferenceBackend(
        create_network(FOUR_STEPS, 1, InputSettings(tactical=False)), 2, ExitRule()
    )
    backend.admit(np.zeros(1, np.int32), ask(1), np.zeros(1, np.int32))
    monkeypatch.setattr(backend._module, "advance", full)
    with pytest.raises(DeviceError, match="taking a time step"):
        backend.advance()
    monkeypatch.setattr("vecchess.inference.reference.from_integers", full)
    with pytest.raises(DeviceError, match="opening the network"):
        ReferenceBackend(
            create_network(FOUR_STEPS, 1, InputSettings(tactical=False)), 2, ExitRule()
        )
