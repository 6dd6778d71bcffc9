"""What the GPU says of itself while something runs: load, power, clocks, heat, throttling."""

from contextlib import suppress
from statistics import mean
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

import torch

INTERVAL_S = 0.2
REASONS = {
    0x2: "clocks set",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "temperature, by the driver",
    0x40: "temperature, by the hardware",
    0x80: "power brake",
    0x100: "display",
}
"""Bits of NVML's reasons for lower clocks; idling is none."""


class Sample(NamedTuple):
    """One reading."""

    busy_percent: float
    power_w: float
    sm_mhz: float
    memory_mhz: float
    temperature_c: float
    memory_mib: float
    reasons: int


class Telemetry:
    """Context: samples the GPU ``device`` in a thread; nothing for "cpu" or without NVML."""

    def __init__(self, device: str) -> None:
        """``device``: "cuda:<n>" or "cpu"."""
        self._device = device
        self._samples: list[Sample] = []
        self._lock = Lock()
        self._stop = Event()
        self._thread = Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "Telemetry":
        """Start sampling."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sampling."""
        self._stop.set()
        self._thread.join()

    def take(self) -> dict[str, Any]:
        """Summary of the samples since the call before; empty without a GPU that can be read."""
        with self._lock:
            samples, self._samples = self._samples, []
        return summary(samples) if samples else {}

    def _sample(self) -> None:
        try:
            nvml, handle = open_nvml(self._device)
        except Exception:  # no NVML, or no GPU that it knows: the report goes on without
            return
        while not self._stop.wait(INTERVAL_S):
            with suppress(nvml.NVMLError):
                sample = read(nvml, handle)
                with self._lock:
                    self._samples.append(sample)


def open_nvml(device: str) -> tuple[Any, Any]:
    """NVML, and its handle of the GPU that torch calls ``device``; raises what it raises."""
    import pynvml

    if device == "cpu":
        raise ValueError("no GPU")
    pynvml.nvmlInit()
    uuid = torch.cuda.get_device_properties(device).uuid
    return pynvml, pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")


def read(nvml: Any, handle: Any) -> Sample:
    """One reading."""
    return Sample(
        busy_percent=nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        power_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        temperature_c=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        memory_mib=nvml.nvmlDeviceGetMemoryInfo(handle).used / 2**20,
        reasons=nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
    )


def summary(samples: list[Sample]) -> dict[str, Any]:
    """Means, the extremes that matter, and the reasons for lower clocks that occurred."""
    columns = Sample(*map(list, zip(*samples, strict=True)))
    reasons = 0
    for sample in samples:
        reasons |= sample.reasons
    return {
        "samples": len(samples),
        "busy_percent": round(mean(columns.busy_percent), 1),
        "power_w": round(mean(columns.power_w), 1),
        "power_w_max": round(max(columns.power_w), 1),
        "sm_mhz": round(mean(columns.sm_mhz)),
        "sm_mhz_min": min(columns.sm_mhz),
        "memory_mhz": round(mean(columns.memory_mhz)),
        "temperature_c_max": max(columns.temperature_c),
        "memory_mib_max": round(max(columns.memory_mib)),
        "throttled_by": [name for bit, name in REASONS.items() if reasons & bit],
    }
