"""Readings of GPUs, with a driver that is made up."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from vecchess.runtime.gpu_stats import GpuStats, cpus_near


class Refusal(Exception):  # noqa: N818
    """What the driver answers to what it does not know."""


def driver(power_is_told: bool = True) -> ModuleType:
    """One GPU, "GPU-a"."""
    module = ModuleType("pynvml")

    def handle_of(uuid: str) -> str:
        if uuid != "GPU-a":
            raise Refusal
        return uuid

    def power(handle: str) -> int:
        if not power_is_told:
            raise Refusal
        return 400_500

    module.NVMLError, module.NVML_TEMPERATURE_GPU = Refusal, 0  # type: ignore[attr-defined]
    module.__dict__.update(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=handle_of,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=93),
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=2e9, total=8e9),
        nvmlDeviceGetPowerUsage=power,
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: 5_500,
        nvmlDeviceGetTemperature=lambda handle, sensor: 61,
        nvmlDeviceGetName=lambda handle: "H200",
    )
    return module


def test_what_a_gpu_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", driver())
    facts = {
        "name": "H200", "util": 0.93, "memory_mb": 2000.0, "memory_total_mb": 8000.0,
        "power_w": 400.5, "temperature_c": 61.0, "joules": 5.5,
    }  # fmt: skip
    assert GpuStats().read(["", "GPU-a", "GPU-unknown"]) == {"GPU-a": facts}


def test_what_it_does_not_tell_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", driver(power_is_told=False))
    facts = GpuStats().read(["GPU-a"])["GPU-a"]
    assert "power_w" not in facts
    assert facts["util"] == 0.93


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = driver()

    def refuse() -> None:
        raise Refusal("Driver Not Loaded")

    broken.nvmlInit = refuse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynvml", broken)
    assert GpuStats().read(["GPU-a"]) == {}
    assert GpuStats().read([""]) == {}


def test_the_cores_of_its_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    told = driver()

    def parent_of(handle: str) -> str:
        return "GPU-a"

    def affinity(handle: str, num_words: int) -> list[int]:
        assert (handle, num_words) == ("GPU-a", 2)
        return [0b1010, 1 << 3]

    def handle_of(uuid: str) -> str:
        if uuid not in ("GPU-a", "MIG-b"):
            raise Refusal
        return uuid

    told.__dict__.update(
        nvmlDeviceGetHandleByUUID=handle_of,
        nvmlDeviceGetCpuAffinity=affinity,
        nvmlDeviceGetDeviceHandleFromMigDeviceHandle=parent_of,
    )
    monkeypatch.setitem(sys.modules, "pynvml", told)
    monkeypatch.setattr("os.cpu_count", lambda: 96)
    assert cpus_near("GPU-a") == cpus_near("MIG-b") == {1, 3, 67}
    assert cpus_near("GPU-unknown") == set()
    monkeypatch.setattr(told, "nvmlInit", affinity)
    assert cpus_near("GPU-a") == set(), "no driver"
