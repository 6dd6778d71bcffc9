"""What NVIDIA's driver says of GPUs: load, memory, power, temperature (NVML, by nvidia-ml-py)."""

from contextlib import suppress
from typing import Any

MB = 1e6


class GpuStats:
    """Readings of GPUs by their UUID. Where there is no driver, or no GPU, there are none."""

    def __init__(self) -> None:
        """The driver is asked when there is a GPU to ask about."""
        self._nvml: Any = None
        self._has_tried = False
        self._handles: dict[str, Any] = {}

    def read(self, uuids: list[str]) -> dict[str, dict[str, Any]]:
        """By UUID: name, util (0 to 1), memory_mb, memory_total_mb, power_w, temperature_c.

        Empty strings stand for processors. What a GPU does not tell is left out, and so is a GPU
        that tells nothing, a part of one (MIG) among them.
        """
        wanted = [uuid for uuid in uuids if uuid]
        if wanted and not self._has_tried:
            self._open()
        if self._nvml is None:
            return {}
        told = {uuid: self._facts(uuid) for uuid in wanted}
        return {uuid: facts for uuid, facts in told.items() if facts}

    def _open(self) -> None:
        self._has_tried = True
        with suppress(Exception):  # no driver, one too old, no permission: there is nothing to see
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml

    def _facts(self, uuid: str) -> dict[str, Any]:
        nvml = self._nvml
        facts: dict[str, Any] = {}
        with suppress(nvml.NVMLError):
            if uuid not in self._handles:
                self._handles[uuid] = nvml.nvmlDeviceGetHandleByUUID(uuid)
            handle = self._handles[uuid]
            with suppress(nvml.NVMLError):
                facts["util"] = nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
            with suppress(nvml.NVMLError):
                memory = nvml.nvmlDeviceGetMemoryInfo(handle)
                facts["memory_mb"] = round(memory.used / MB, 1)
                facts["memory_total_mb"] = round(memory.total / MB, 1)
            with suppress(nvml.NVMLError):
                facts["power_w"] = nvml.nvmlDeviceGetPowerUsage(handle) / 1000
            with suppress(nvml.NVMLError):
                celsius = nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
                facts["temperature_c"] = float(celsius)
            if facts:
                facts["name"] = nvml.nvmlDeviceGetName(handle)
        return facts
