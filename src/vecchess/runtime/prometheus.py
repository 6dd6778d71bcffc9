"""The status of a run as metrics for Prometheus, on a port: ``--metrics-port``.

Names follow prometheus.io/docs/practices/naming: base units, ``_total`` for what only grows.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from vecchess.errors import ConfigError

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.registry import Collector

GAUGES = {
    "plies_per_s": ("plies_per_second", "Plies played a second"),
    "games_per_s": ("games_per_second", "Games finished a second"),
    "evals_per_s": ("evaluations_per_second", "Positions the network answered a second"),
    "sims_per_s": ("simulations_per_second", "Simulations of searches a second"),
    "mean_time_steps": ("time_steps", "Mean time steps a position took"),
    "batch_fill": ("batch_fill_ratio", "Occupied share of the slots"),
    "device_busy": ("device_busy_ratio", "Share of the time in which the network was computed"),
    "mover_busy": ("mover_busy_ratio", "Share of the time in which movers were at work"),
    "queue_age_p99_ms": ("queue_age_p99_seconds", "99 of 100 positions waited less for a slot"),
}
"""Of every worker: key of its load, name after "vecchess_", and what it says."""
GPU_GAUGES = {
    "util": ("gpu_utilization_ratio", "Load of the GPU as its driver tells it"),
    "memory_mb": ("gpu_memory_bytes", "Memory in use on the GPU"),
    "power_w": ("gpu_power_watts", "Power the GPU takes"),
    "temperature_c": ("gpu_temperature_celsius", "Temperature of the GPU"),
}
UNITS = {"queue_age_p99_ms": 1e-3, "memory_mb": 1e6}
"""What a key's unit is in base units, where it is not one."""
LEARNING_GAUGES = ("loss", "loss_policy", "loss_value", "entropy", "spike_rate", "samples_per_s")
STATES = ("starting", "playing", "learning", "evaluating", "done", "stopped", "failed")


def metrics_endpoint(
    host: str, port: int, facts: Callable[[], dict[str, Any]]
) -> AbstractContextManager[object]:
    """Serve what ``facts`` says (as in ``status.json``) as long as the block lasts; 0: do not.

    Raises ConfigError where the port cannot be had.
    """
    return _serving(host, port, facts) if port else nullcontext()


@contextmanager
def _serving(host: str, port: int, facts: Callable[[], dict[str, Any]]) -> Iterator[None]:
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(_collector(facts))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigError(
            f"--metrics-port {port}: cannot listen on {host}: {error.strerror or error}"
        ) from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _collector(facts: Callable[[], dict[str, Any]]) -> "Collector":
    from prometheus_client.registry import Collector

    class StatusCollector(Collector):
        """Reads the status anew for every visit."""

        def collect(self) -> "Iterator[GaugeMetricFamily]":
            yield from families(facts())

    return StatusCollector()


def families(facts: dict[str, Any]) -> "Iterator[GaugeMetricFamily]":
    """The metrics of a status."""
    from prometheus_client.core import GaugeMetricFamily

    def gauge(name: str, help_text: str, value: float) -> "GaugeMetricFamily":
        return GaugeMetricFamily(f"vecchess_{name}", help_text, value=value)

    state = GaugeMetricFamily("vecchess_state", "1 for what the run is at", labels=["state"])
    for name in STATES:
        state.add_metric([name], float(facts["state"] == name))
    yield state
    yield gauge("games_finished", "Games finished in this generation", facts["games"])
    yield gauge("games_target", "Games of this generation", facts["target"])
    yield gauge("iteration", "Iteration of a training", facts["iteration"])
    yield gauge("worker_restarts", "Workers replaced in this generation", facts["restarts"])
    for key in LEARNING_GAUGES:
        if key in facts["learning"]:
            yield gauge(f"train_{key}", f"{key} of the last update", facts["learning"][key])
    yield from _of_workers(facts["workers"], "load", GAUGES)
    yield from _of_workers(facts["workers"], "gpu", GPU_GAUGES)


def _of_workers(
    workers: list[dict[str, Any]], part: str, gauges: dict[str, tuple[str, str]]
) -> "Iterator[GaugeMetricFamily]":
    """A gauge for each key of ``part`` that any worker has, labelled with worker and device."""
    from prometheus_client.core import GaugeMetricFamily

    for key, (name, help_text) in gauges.items():
        family = GaugeMetricFamily(f"vecchess_{name}", help_text, labels=["worker", "device"])
        for worker in workers:
            if key in worker.get(part, {}):
                value = worker[part][key] * UNITS.get(key, 1)
                family.add_metric([str(worker["index"]), worker["device"]], value)
        if family.samples:
            yield family
