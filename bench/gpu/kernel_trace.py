"""Times of kernels, and of the gaps between them, from a trace by torch's profiler."""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
"""Categories of what a device does, copies included."""
LONGEST_GAPS = 10


class Activity(NamedTuple):
    """Something that the device did; microseconds."""

    start_us: float
    end_us: float
    name: str


def traced(work: Callable[[], object], file: Path) -> dict[str, Any]:
    """Do ``work`` under the profiler, store the trace in ``file`` (.json.gz); returns its table."""
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler:
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    profiler.export_chrome_trace(str(file))
    with gzip.open(file) as stored:
        return kernel_table(json.load(stored))


def kernel_table(trace: dict[str, Any]) -> dict[str, Any]:
    """Of a Chrome trace: "kernels" by name with count and times, the busy share of the span from
    the first start to the last end, and the gaps in which the device did nothing."""
    done = sorted(
        Activity(event["ts"], event["ts"] + event["dur"], event["name"])
        for event in trace["traceEvents"]
        if event.get("cat") in ON_DEVICE and "dur" in event
    )
    if not done:
        return {"kernels": {}}
    gaps = list(_gaps(done))
    span = max(activity.end_us for activity in done) - done[0].start_us
    idle = sum(gap["us"] for gap in gaps)
    facts: dict[str, Any] = {"kernels": _by_name(done), "span_us": span}
    facts |= {"busy_share": 1 - idle / span if span else 1.0, "gaps": len(gaps)}
    if gaps:
        gaps.sort(key=lambda gap: -gap["us"])
        facts["median_gap_us"] = median(gap["us"] for gap in gaps)
        facts["longest_gaps"] = gaps[:LONGEST_GAPS]
    return facts


def _by_name(done: list[Activity]) -> dict[str, dict[str, float]]:
    """The most time first."""
    times: dict[str, list[float]] = defaultdict(list)
    for activity in done:
        times[activity.name].append(activity.end_us - activity.start_us)
    rows = sorted(times.items(), key=lambda row: -sum(row[1]))
    return {
        name: {
            "count": len(row),
            "total_us": sum(row),
            "mean_us": mean(row),
            "min_us": min(row),
            "max_us": max(row),
        }
        for name, row in rows
    }


def _gaps(done: list[Activity]) -> Iterator[dict[str, Any]]:
    """Times when nothing was done, between what ended last and what began next."""
    last = done[0]
    for activity in done[1:]:
        if activity.start_us > last.end_us:
            idle = activity.start_us - last.end_us
            yield {"us": idle, "after": last.name, "before": activity.name}
        last = max(last, activity, key=lambda one: one.end_us)
