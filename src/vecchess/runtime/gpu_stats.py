"""Load, memory, power, energy and temperature of GPUs, from the driver (NVML, by nvidia-ml-py).

Decision 151.
"""

from contextlib import suppress
from typing import Any

MB = 1e6


class GpuStats:
    """Readings of GPUs by their UUID; none where there is no driver or no GPU."""

    def __init__(self) -> None:
        """The driver is opened with the first GPU that is read."""
        self._nvml: Any = None
        self._has_tried = False
        self._handles: dict[str, Any] = {}

    def read(self, uuids: list[str]) -> dict[str, dict[str, Any]]:
        """By UUID: name, util (0 to 1), memory_mb, memory_total_mb, power_w, temperature_c, joules.

        ``joules`` count from the start of the driver.

        Empty strings stand for processors. Values that a GPU lacks are left out, and so are GPUs
        without any, such as parts of one (MIG).
        """
        wanted = [uuid for uuid in uuids if uuid]
        if wanted and not self._has_tried:
            self._open()
        if self._nvml is None:
            return {}
        readings = {uuid: self._reading(uuid) for uuid in wanted}
        return {uuid: reading for uuid, reading in readings.items() if reading}

    def _open(self) -> None:
        self._has_tried = True
        with suppress(Exception):  # no driver, too old a one, no permission
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml

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
