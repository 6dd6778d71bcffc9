"""Who takes part: everything opened, checked and ready to race."""

from dataclasses import dataclass

from vecchess.bench.agreement import reference_answers
from vecchess.bench.batching_engines import Answering
from vecchess.bench.machine_limits import Ceilings, measure_ceilings
from vecchess.bench.operations import Work, count_work
from vecchess.bench.own_entrants import FIXED, SLOTS_FIXED, EntrantSetup, open_own, open_twin
from vecchess.bench.paired_timing import Entrant
from vecchess.bench.peers.line_up import LineUp, Questions, line_up
from vecchess.errors import VecchessError
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.snn.create import create_twin
from vecchess.snn.integer.integer_net import IntegerNet

TWIN_SEED = 0


@dataclass(frozen=True)
class Twin:
    """The ReLU twin: its network, its work, and our server with it, or why there is none."""

    net: IntegerNet
    work: Work
    entrant: Answering | None
    missing: str | None = None


@dataclass(frozen=True)
class Contest:
    """One network, its questions, and all that answer them."""

    place: EntrantSetup
    net: IntegerNet
    work: Work
    questions: Requests
    ceilings: Ceilings
    own: list[Answering]
    twin: Twin | None
    peers: LineUp
    alone: str = ""
    """Why neither twin nor peers take part, if they do not."""

    @property
    def fixed(self) -> list[Answering]:
        """Those at fixed T, the best engine for it first, slots last."""
        return [entrant for entrant in self.own if entrant.name in (FIXED, SLOTS_FIXED)]

    @property
    def entrants(self) -> list[Entrant]:
        """All of them, fixed T first."""
        twin = [self.twin.entrant] if self.twin and self.twin.entrant else []
        return [*self.own, *twin, *self.peers.peers]


def open_contest(place: EntrantSetup, net: IntegerNet, questions: Requests, peers: bool) -> Contest:
    """Open and check everything. Raises as ``bench.inference.run``."""
    own = open_own(place, net, questions)
    alone = _alone(net, peers)
    twin = None if alone else _twin(place, net, questions)
    return Contest(
        place=place,
        net=net,
        work=count_work(net, questions),
        questions=questions,
        ceilings=measure_ceilings(place.device, place.threads),
        own=own,
        twin=twin,
        peers=LineUp() if twin is None else _peers(place, net, questions, twin),
        alone=alone,
    )


def _alone(net: IntegerNet, peers: bool) -> str:
    if not peers:
        return "not asked for"
    if net.config.kind != "residual" or net.config.neuron != "lif":
        return "peers are written for spiking residual networks"
    return ""


def _twin(place: EntrantSetup, net: IntegerNet, questions: Requests) -> Twin:
    twin = create_twin(net.config, TWIN_SEED)
    work = count_work(twin, questions)
    try:
        return Twin(twin, work, open_twin(place, twin, questions))
    except VecchessError as error:
        return Twin(twin, work, None, str(error))


def _peers(place: EntrantSetup, net: IntegerNet, questions: Requests, twin: Twin) -> LineUp:
    never = ExitRule.never()
    return line_up(
        *(
            Questions(one, questions, reference_answers(one, questions, never), place.device)
            for one in (net, twin.net)
        )
    )
