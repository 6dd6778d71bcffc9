"""Load, memory, power, energy, temperature and cores of GPUs, from the driver (NVML, by
nvidia-ml-py).

Decision 151.
"""

import os
from contextlib import suppress
from typing import Any

MB = 1e6
WORD_BITS = 64


def open_nvml() -> Any:
    """The driver's library; None where there is none, or it is too old or refuses."""
    with suppress(Exception):
        import pynvml

        pynvml.nvmlInit()
        return pynvml
    return None


def cpus_near(uuid: str) -> set[int]:
    """Cores of the socket that a GPU is attached to, as the system numbers them; none where the
    driver does not tell.

    uuid: "GPU-..." as the driver spells it, or "MIG-..." of a part of one.
    """
    nvml = open_nvml()
    if nvml is None:
        return set()
    with suppress(nvml.NVMLError):
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        if uuid.startswith("MIG-"):
            handle = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        words = nvml.nvmlDeviceGetCpuAffinity(handle, -(-(os.cpu_count() or 1) // WORD_BITS))
        bits = range(len(words) * WORD_BITS)
        return {bit for bit in bits if words[bit // WORD_BITS] >> bit % WORD_BITS & 1}
    return set()


class GpuStats:
    """Readings of GPUs by their UUID; none where there is no driver or no GPU."""

    def __init__(self) -> None:
        """The driver is opened with the first GPU that is read."""
        self._nvml: Any = None
        self._has_tried = False
        self._handles: dict[str, Any] = {}

    def read(self, uuids: list[str]) -> dict[str, dict[str, Any]]:
        """Readings of each GPU, by its UUID.

        They are name, util (0 to 1), memory_mb, memory_total_mb, power_w, temperature_c and
        joules, which count from the start of the driver.

        Empty strings stand for processors. Values that a GPU lacks are left out, and so are GPUs
        without any, such as parts of one (MIG).
        """
        wanted = [uuid for uuid in uuids if uuid]
        if wanted and not self._has_tried:
            self._nvml, self._has_tried = open_nvml(), True
        if self._nvml is None:
            return {}
        readings = {uuid: self._reading(uuid) for uuid in wanted}
        return {uuid: reading for uuid, reading in readings.items() if reading}

    def _reading(self, uuid: str) -> dict[str, Any]:
        nvml = self._nvml
        reading: dict[str, Any] = {}
        with suppress(nvml.NVMLError):
            if uuid not in self._handles:
                self._handles[uuid] = nvml.nvmlDeviceGetHandleByUUID(uuid)
            handle = self._handles[uuid]
            with suppress(nvml.NVMLError):
                reading["util"] = nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
            with suppress(nvml.NVMLError):
                memory = nvml.nvmlDeviceGetMemoryInfo(handle)
                reading["memory_mb"] = round(memory.used / MB, 1)
                reading["memory_total_mb"] = round(memory.total / MB, 1)
            with suppress(nvml.NVMLError):
                reading["power_w"] = nvml.nvmlDeviceGetPowerUsage(handle) / 1000
            with suppress(nvml.NVMLError):
                celsius = nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
                reading["temperature_c"] = float(celsius)
            with suppress(nvml.NVMLError):
                reading["joules"] = nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000
            if reading:
                reading["name"] = nvml.nvmlDeviceGetName(handle)
        return reading
