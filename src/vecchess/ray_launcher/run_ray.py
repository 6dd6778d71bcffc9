"""One order to each node of a Ray cluster, from placing them to one exit code."""

import os
from collections.abc import Callable

from vecchess.ray_launcher.ray_cluster import RayPost, Request, connected, posted
from vecchess.ray_launcher.wait import Ending, joined_code, watch
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import StopSignals

Orders = Callable[[list[RayPost]], list[list[str]]]
"""The arguments of ``vecchess`` on each post, once it is known where they are."""


def carry_out(
    orders: Orders, address: str | None, request: Request, report_line: ReportLine
) -> tuple[int, list[Ending]]:
    """Run the orders in this folder, with this process's settings; returns the joined exit code.

    And how each ended, where any began. ``report_line`` gets the nodes' lines. Raises ConfigError
    where Ray or the cluster cannot do what is asked, WorkerDied where a node cannot begin.
    """
    endings: list[Ending] = []
    settings = {name: value for name, value in os.environ.items() if name.startswith("VECCHESS_")}
    with (
        connected(address) as ray,
        StopSignals(interrupts=True) as stop,
        posted(ray, request, stop) as posts,
    ):
        if posts:
            for post, order in zip(posts, orders(posts), strict=True):
                post.start(order, os.getcwd(), settings)
            endings = watch(posts, stop, report_line)
    return joined_code(endings, stop.reason), endings
