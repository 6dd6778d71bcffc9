"""Layers of neurons as graphs of NIR's primitives.

NIR's LIF node resets to a value and its graphs have no rounding, so a layer of ours is a graph of
its own, of nodes that NIR defines: leaky integrator (LI), Threshold, Scale and Delay. Edges into a
node add up. Values are those of ``snn.modules.neuron``, in units of 1:

    membrane   u[t] = u[t-1] / 2 + x[t] - s[t-1] / 2       LI, tau = 2 dt, r = 2, forward Euler
    spike      s[t] = u[t] - w[t-1] > 1                    Threshold
    above      w[t] = u[t] - s[t] > 1                      Threshold: what is left is above it

A number is rounded down by successive approximation: a Threshold for each binary digit, from the
highest, of what the digits before it leave. The graded readout is 7 such digits, its neurons'
clipping included.

Decision 261.
"""

from collections.abc import Iterable

import nir
import numpy as np

from vecchess.snn.presets import ACTIVATION_BITS

DT = 1e-4
"""Seconds of a time step: what snntorch takes a step for in NIR."""
INPUT, OUTPUT = "input", "output"
Shape = tuple[int, ...]


class NodeGraph:
    """A graph that grows by one node a call; nodes have names."""

    def __init__(self) -> None:
        self._nodes: dict[str, nir.NIRNode] = {}
        self._edges: list[tuple[str, str]] = []

    def add(self, name: str, node: nir.NIRNode, *inputs: str) -> str:
        """``node`` as ``name``, which gets the sum of ``inputs``."""
        self._nodes[name] = node
        self.connect(inputs, name)
        return name

    def connect(self, sources: Iterable[str], target: str) -> None:
        """Edges from all ``sources`` to ``target``."""
        self._edges += [(source, target) for source in sources]

    def done(self, **metadata: object) -> nir.NIRGraph:
        """The graph as NIR has it, its types checked."""
        return nir.NIRGraph(self._nodes, self._edges, metadata=metadata)


class NeuronGraph(NodeGraph):
    """A layer of neurons of one shape, from the node ``input`` on."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self._shape = shape
        self.add(INPUT, nir.Input(np.array(shape)))

    def scale(self, name: str, factor: float, *inputs: str) -> str:
        """``factor`` times the sum of ``inputs``."""
        return self.add(name, nir.Scale(np.full(self._shape, factor, np.float32)), *inputs)

    def threshold(self, name: str, limit: float, *inputs: str) -> str:
        """1 where the sum of ``inputs`` is above ``limit``, else 0."""
        return self.add(name, nir.Threshold(np.full(self._shape, limit, np.float32)), *inputs)

    def delay(self, name: str, *inputs: str) -> str:
        """The sum of ``inputs`` one time step before; 0 at the first."""
        return self.add(name, nir.Delay(np.full(self._shape, DT)), *inputs)

    def integrator(self, name: str, *inputs: str) -> str:
        """A membrane that halves each step and adds the sum of ``inputs``."""
        tau, r, rest = (np.full(self._shape, value) for value in (2 * DT, 2.0, 0.0))
        return self.add(name, nir.LI(tau, r, rest), *inputs)

    def digits(self, top: int, low: int, *inputs: str) -> list[str]:
        """Binary digits, times 2^e for e from ``top`` down to ``low``, of the sum of ``inputs``.

        All are 0 of a negative sum, and 1 where it is 2^(top + 1) or more.
        """
        rest, places = list(inputs), []
        for exponent in range(top, low - 1, -1):
            below = np.nextafter(np.float32(2.0**exponent), np.float32(0))
            digit = self.threshold(f"digit_{top - exponent}", float(below), *rest)
            places.append(self.scale(f"place_{top - exponent}", 2.0**exponent, digit))
            if exponent > low:
                rest.append(self.scale(f"less_{top - exponent}", -(2.0**exponent), digit))
        return places

    def floor(self, top: int, low: int, *inputs: str) -> list[str]:
        """Nodes that add up to the sum of ``inputs``, from -2^top to below 2^top, rounded down to
        multiples of 2^low."""
        turned = self.scale("turned", -1.0, *inputs)
        negative = self.threshold("negative", 0.0, turned)
        lift = self.scale("lift", 2.0**top, negative)
        lower = self.scale("lower", -(2.0**top), negative)
        return [lower, *self.digits(top - 1, low, *inputs, lift)]

    def output(self, *inputs: str) -> nir.NIRGraph:
        """The graph, whose output is the sum of ``inputs``."""
        self.add(OUTPUT, nir.Output(np.array(self._shape)), *inputs)
        return self.done()


def lif_graph(shape: Shape, floor: tuple[int, int] | None) -> nir.NIRGraph:
    """Neurons whose spike subtracts the threshold, from the primitives above.

    floor: (M, F) where the halved membrane, below 2^M, is rounded down to 2^-F; None where it never
    leaves the grid.
    """
    graph = NeuronGraph(shape)
    membrane = graph.integrator("membrane", INPUT)
    spike = graph.threshold("spike", 1.0, membrane)
    before = graph.delay("spike_before", spike)
    graph.connect([graph.scale("leaked_reset", -0.5, before)], membrane)
    reset = graph.scale("reset", -1.0, spike)
    above = graph.threshold("above", 1.0, membrane, reset)
    raised = graph.delay("above_before", above)
    graph.connect([graph.scale("raise", -1.0, raised)], spike)
    if floor is not None:
        half = graph.scale("half", 0.5, membrane, reset)
        whole = graph.floor(floor[0], -floor[1], half)
        graph.connect(
            [graph.delay("rounding", *whole, graph.scale("unround", -1.0, half))], membrane
        )
    return graph.output(spike)


def lif_node(shape: Shape) -> nir.LIF:
    """Neurons with our leak and threshold as NIR's LIF node, which resets to 0."""
    tau, r, rest, limit = (np.full(shape, value) for value in (2 * DT, 2.0, 0.0, 1.0))
    return nir.LIF(tau, r, rest, limit, metadata={"vecchess_reset": "subtract"})


def activation_graph(shape: Shape) -> nir.NIRGraph:
    """Clipped ReLUs of ``ACTIVATION_BITS`` bits behind the point and one before it."""
    graph = NeuronGraph(shape)
    return graph.output(*graph.digits(0, -ACTIVATION_BITS, INPUT))


def floor_graph(shape: Shape, top: int, bits: int) -> nir.NIRGraph:
    """Currents below 2^top, rounded down to multiples of 2^-bits."""
    graph = NeuronGraph(shape)
    return graph.output(*graph.floor(top, -bits, INPUT))
