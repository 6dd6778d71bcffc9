"""What the GPU says of itself while something runs: busy share, power, memory, clock."""

import subprocess
from contextlib import suppress
from statistics import mean
from threading import Event, Thread
from typing import Any

INTERVAL_S = 0.2
QUERY = "utilization.gpu,power.draw,memory.used,clocks.sm"
NAMES = ("busy_percent", "power_w", "memory_mib", "sm_mhz")


class Telemetry:
    """Context: samples the GPU of ``device`` in a thread. Nothing where there is none to ask."""

    def __init__(self, device: str) -> None:
        """``device``: "cuda:<n>" or "cpu"."""
        self._index = int(device.partition(":")[2] or 0) if device != "cpu" else None
        self._samples: list[tuple[float, ...]] = []
        self._stop = Event()
        self._thread = Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "Telemetry":
        """Start sampling."""
        if self._index is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sampling."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def to_dict(self) -> dict[str, Any]:
        """Mean of each figure, and how many samples that is."""
        means = [round(mean(column), 1) for column in zip(*self._samples, strict=True)]
        return dict(zip(NAMES, means, strict=False)) | {"samples": len(self._samples)}

    def _sample(self) -> None:
        assert self._index is not None
        ask = _nvml(self._index) or (lambda: _smi(self._index))
        while not self._stop.wait(INTERVAL_S):
            with suppress(OSError, ValueError, subprocess.SubprocessError):
                self._samples.append(ask())


def _nvml(index: int) -> Any:
    """A function that takes a sample by way of nvidia-ml-py; None where that is not installed."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except Exception:  # not installed, or no driver it knows: nvidia-smi is asked instead
        return None

    def sample() -> tuple[float, ...]:
        return (
            float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu),
            pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
            pynvml.nvmlDeviceGetMemoryInfo(handle).used / 2**20,
            float(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        )

    return sample


def _smi(index: int | None) -> tuple[float, ...]:
    command = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits", f"-i={index}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
    return tuple(float(part) for part in done.stdout.split(","))
