"""Everything that is timed by ``bench inference``: opened, and checked against ``reference``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vecchess.bench.batching_engines import Answering
from vecchess.bench.machine_limits import Ceilings, measure_ceilings
from vecchess.bench.operations import Work, count_work
from vecchess.bench.own_entrants import FIXED, SLOTS_FIXED, EntrantSetup, open_own, open_twin
from vecchess.bench.paired_timing import Entrant
from vecchess.errors import VecchessError
from vecchess.inference.requests import Requests
from vecchess.snn.create import create_twin
from vecchess.snn.integer.integer_net import IntegerNet

TWIN_SEED = 0


@dataclass
class OtherEntrants:
    """Entrants from outside vecchess, and why some of them do not run."""

    entrants: list[Entrant] = field(default_factory=list)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name -> how far it agrees with us, and how it was run."""
    missing: dict[str, str] = field(default_factory=dict)
    """Name -> why it does not run."""
    of_twin: set[str] = field(default_factory=set)
    """Names of those that compute the ReLU twin."""

    @property
    def names(self) -> list[str]:
        """Those that run, then those that do not."""
        return [*self.facts, *self.missing]


OpenOthers = Callable[[EntrantSetup, IntegerNet, IntegerNet, Requests], OtherEntrants]
"""Opens other entrants for a network, its ReLU twin and the positions."""


@dataclass(frozen=True)
class Twin:
    """The ReLU twin: its network, its work, and our server with it, or why there is none."""

    net: IntegerNet
    work: Work
    entrant: Answering | None
    missing: str | None = None


@dataclass(frozen=True)
class Contest:
    """One network, the positions, and everything that evaluates them."""

    setup: EntrantSetup
    net: IntegerNet
    work: Work
    requests: Requests
    ceilings: Ceilings
    own: list[Answering]
    twin: Twin | None
    others: OtherEntrants
    no_twin: str = ""
    """Why neither twin nor other entrants take part, if they do not."""

    @property
    def fixed(self) -> list[Answering]:
        """Those at fixed T, the best engine for it first, slots last."""
        return [entrant for entrant in self.own if entrant.name in (FIXED, SLOTS_FIXED)]

    @property
    def entrants(self) -> list[Entrant]:
        """All of them, fixed T first."""
        twin = [self.twin.entrant] if self.twin and self.twin.entrant else []
        return [*self.own, *twin, *self.others.entrants]


def open_contest(
    setup: EntrantSetup,
    net: IntegerNet,
    requests: Requests,
    with_twin: bool,
    open_others: OpenOthers | None,
) -> Contest:
    """Open and check everything. Raises as ``bench.inference.run``."""
    own = open_own(setup, net, requests)
    no_twin = _no_twin(net, with_twin)
    twin = None if no_twin else _twin(setup, net, requests)
    others = OtherEntrants()
    if twin is not None and open_others is not None:
        others = open_others(setup, net, twin.net, requests)
    return Contest(
        setup=setup,
        net=net,
        work=count_work(net, requests),
        requests=requests,
        ceilings=measure_ceilings(setup.device, setup.threads),
        own=own,
        twin=twin,
        others=others,
        no_twin=no_twin,
    )


def _no_twin(net: IntegerNet, with_twin: bool) -> str:
    if not with_twin:
        return "not asked for"
    if net.config.kind != "residual" or net.config.neuron != "lif":
        return "only spiking residual networks have a ReLU twin"
    return ""


def _twin(setup: EntrantSetup, net: IntegerNet, requests: Requests) -> Twin:
    twin = create_twin(net.config, TWIN_SEED)
    work = count_work(twin, requests)
    try:
        return Twin(twin, work, open_twin(setup, twin, requests))
    except VecchessError as error:
        return Twin(twin, work, None, str(error))
