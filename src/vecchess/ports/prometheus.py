"""The status of a run as metrics for Prometheus: ``--metrics-port``.

Names follow prometheus.io/docs/practices/naming: base units in the name.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily
    from starlette.applications import Starlette
    from starlette.requests import Request

Status = dict[str, Any]
Gauges = dict[str, tuple[str, str]]
"""Key in a worker's facts: (metric name after "vecchess_", help text)."""

GAUGES = {
    "plies_per_s": ("plies_per_second", "Plies played a second"),
    "games_per_s": ("games_per_second", "Games finished a second"),
    "evals_per_s": ("evaluations_per_second", "Positions the network answered a second"),
    "sims_per_s": ("simulations_per_second", "Simulations of searches a second"),
    "mean_time_steps": ("time_steps", "Mean time steps a position took"),
    "batch_fill": ("batch_fill_ratio", "Occupied share of the slots"),
    "device_busy": ("device_busy_ratio", "Share of the time in which the network was computed"),
    "host_busy": ("host_busy_ratio", "Share of the time in which the loop beside a GPU was busy"),
    "mover_busy": ("mover_busy_ratio", "Share of the time in which movers were busy"),
    "queue_age_p99_ms": ("queue_age_p99_seconds", "99 of 100 positions waited less for a slot"),
}
"""Keys of a worker's ``load``."""
SAVING_GAUGES = {
    "saving_age_s": ("saving_age_seconds", "Time since the games in progress were last saved"),
}
GPU_GAUGES = {
    "util": ("gpu_utilization_ratio", "Utilization of the GPU"),
    "memory_mb": ("gpu_memory_bytes", "Memory in use on the GPU"),
    "power_w": ("gpu_power_watts", "Power the GPU takes"),
    "temperature_c": ("gpu_temperature_celsius", "Temperature of the GPU"),
}
UNITS = {"queue_age_p99_ms": 1e-3, "memory_mb": 1e6}
"""Factor to the base unit, of keys in another unit."""
LEARNING_GAUGES = ("loss", "loss_policy", "loss_value", "entropy", "spike_rate", "samples_per_s")
MOST_CONNECTIONS = 32
STATES = ("starting", "playing", "learning", "evaluating", "done", "stopped", "failed")


@contextmanager
def metrics_endpoint(host: str, port: int, read_status: Callable[[], Status]) -> Iterator[None]:
    """Serve ``read_status()``, what ``status.json`` holds, while the block lasts; port 0: do not.

    Raises ConfigError where the port cannot be had.
    """
    if not port:
        yield
        return
    from vecchess.ports.address import open_port
    from vecchess.ports.port_server import served_in_thread

    listening, is_loopback = open_port(host, port, "metrics-")
    app = metrics_app(read_status, any_host=not is_loopback)
    with served_in_thread(app, listening, MOST_CONNECTIONS):
        yield


def metrics_app(read_status: Callable[[], Status], any_host: bool = False) -> "Starlette":
    """The application: ``/metrics``, the same at ``/``, and the health of the run."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import Response
    from starlette.routing import Route

    from vecchess.ports.access_control import AccessControl
    from vecchess.ports.port_server import health_route

    class StatusCollector(Collector):
        """Reads the status anew for every request."""

        def collect(self) -> "Iterator[GaugeMetricFamily]":
            return families(read_status())

    registry = CollectorRegistry()
    registry.register(StatusCollector())

    async def metrics(request: "Request") -> Response:
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={"content-type": kind})

    return Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/", metrics),
            health_route(lambda: str(read_status()["state"])),
        ],
        middleware=[Middleware(AccessControl, any_host=any_host)],
    )


def families(status: Status) -> "Iterator[GaugeMetricFamily]":
    """The metrics of a run's status."""
    from prometheus_client.core import GaugeMetricFamily

    def gauge(name: str, help_text: str, value: float) -> "GaugeMetricFamily":
        return GaugeMetricFamily(f"vecchess_{name}", help_text, value=value)

    states = GaugeMetricFamily("vecchess_state", "1 for the state of the run", labels=["state"])
    for name in STATES:
        states.add_metric([name], float(status["state"] == name))
    yield states
    yield gauge("games_finished", "Games finished in this generation", status["games"])
    yield gauge("games_target", "Games of this generation", status["target"])
    yield gauge("iteration", "Iteration of a training", status["iteration"])
    yield gauge("worker_restarts", "Workers replaced in this generation", status["restarts"])
    checked = status["blocks_checked"]
    yield gauge("blocks_checked", "Blocks of players that the learner played again", checked)
    yield gauge("unwritten_games", "Finished games not recorded on disk", status["unwritten_games"])
    if (memory := status["memory_bytes"]) is not None:
        yield gauge("memory_bytes", "Resident memory of the run's processes", memory)
    if (free := status["disk_free_bytes"]) is not None:
        yield gauge("disk_free_bytes", "Free space where the run's folder lies", free)
    for key in LEARNING_GAUGES:
        if key in status["learning"]:
            yield gauge(f"train_{key}", f"{key} of the last update", status["learning"][key])
    workers = status["workers"]
    yield from _worker_gauges(workers, lambda worker: worker, SAVING_GAUGES)
    yield from _worker_gauges(workers, lambda worker: worker["load"], GAUGES)
    yield from _worker_gauges(workers, lambda worker: worker.get("gpu", {}), GPU_GAUGES)


def _worker_gauges(
    workers: list[Status], facts_of: Callable[[Status], Status], gauges: Gauges
) -> "Iterator[GaugeMetricFamily]":
    """A gauge for each key that any worker's facts have, labelled with worker and device."""
    from prometheus_client.core import GaugeMetricFamily

    for key, (name, help_text) in gauges.items():
        family = GaugeMetricFamily(f"vecchess_{name}", help_text, labels=["worker", "device"])
        for worker in workers:
            if (value := facts_of(worker).get(key)) is not None:
                family.add_metric(
                    [str(worker["index"]), worker["device"]], value * UNITS.get(key, 1)
                )
        if family.samples:
            yield family
