"""A slow runner of NIR graphs, step by step: what their nodes are defined as, in float64.

Time goes in steps of ``dt``: leaks and integrators by forward Euler, edges within the step, a Delay
gives its input of the step before. Nodes are called "outer.inner".
"""

from graphlib import TopologicalSorter

import nir
import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def flattened(graph: nir.NIRGraph) -> tuple[dict[str, nir.NIRNode], list[tuple[str, str]]]:
    """Nodes and edges of a graph with those of the graphs inside it."""
    nodes: dict[str, nir.NIRNode] = {}
    edges: list[tuple[str, str]] = []
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for name, node in graph.nodes.items():
        if isinstance(node, nir.NIRGraph):
            inner_nodes, inner_edges = flattened(node)
            nodes |= {f"{name}.{inner}": of for inner, of in inner_nodes.items()}
            edges += [(f"{name}.{a}", f"{name}.{b}") for a, b in inner_edges]
            first[name], last[name] = f"{name}.input", f"{name}.output"
        else:
            nodes[name] = node
    return nodes, edges + [(last.get(a, a), first.get(b, b)) for a, b in graph.edges]


class NirRunner:
    """Runs a graph on a batch; ``values`` are the outputs of all nodes at the last step."""

    def __init__(self, graph: nir.NIRGraph, dt: float) -> None:
        self._nodes, edges = flattened(graph)
        self._dt = dt
        self._sources: dict[str, list[str]] = {name: [] for name in self._nodes}
        for source, target in edges:
            self._sources[target].append(source)
        instant = {
            name: [] if isinstance(self._nodes[name], nir.Delay) else sources
            for name, sources in self._sources.items()
        }
        self._order = list(TopologicalSorter(instant).static_order())
        self._state: dict[str, Values] = {}
        self.values: dict[str, Values] = {}

    def step(self, inputs: dict[str, Values]) -> None:
        """One time step. inputs: [B, ...] of each Input node of the outer graph."""
        self.values = {}
        for name in self._order:
            if name in inputs:
                self.values[name] = inputs[name].astype(np.float64)
            elif isinstance(self._nodes[name], nir.Delay):
                self.values[name] = self._state.get(name, np.zeros(()))
            else:
                self.values[name] = self._computed(name, self._sum(name))
        for name, node in self._nodes.items():
            if isinstance(node, nir.Delay):
                assert np.all(node.delay == self._dt)
                self._state[name] = self._sum(name)

    def _sum(self, name: str) -> Values:
        total = np.zeros(())
        for source in self._sources[name]:
            total = total + self.values[source]
        return total

    def _computed(self, name: str, value: Values) -> Values:
        match self._nodes[name]:
            case nir.Input() | nir.Output():
                return value
            case nir.Scale(scale=scale):
                return value * scale
            case nir.Threshold(threshold=limit):
                return (value > limit).astype(np.float64)
            case nir.LI(tau=tau, r=r, v_leak=rest):
                return self._integrate(name, value, r, tau, rest)
            case nir.LIF() as lif:
                charged = self._integrate(name, value, lif.r, lif.tau, lif.v_leak)
                spikes = charged > lif.v_threshold
                self._state[name] = np.where(spikes, lif.v_reset, charged)
                return spikes.astype(np.float64)
            case nir.I(r=r):
                self._state[name] = self._state.get(name, 0.0) + self._dt * r * value
                return self._state[name]
            case nir.Flatten():
                return value.reshape(len(value), -1)
            case nir.AvgPool2d():
                return value.mean(axis=(2, 3), keepdims=True)
            case nir.Affine(weight=weight, bias=bias):
                return value @ weight.astype(np.float64).T + bias
            case nir.Conv2d() as layer:
                return convolved(value, layer)
        raise AssertionError(f"no rule for {name}")

    def _integrate(
        self, name: str, current: Values, r: Values, tau: Values, rest: Values
    ) -> Values:
        before = self._state.get(name, np.zeros(()))
        after = before + self._dt / tau * ((rest - before) + r * current)
        self._state[name] = after
        return after


def convolved(values: Values, layer: nir.Conv2d) -> Values:
    """Shifted boards and one product for each tap: sums of products alone, so exact."""
    weight = layer.weight.astype(np.float64)
    pad = layer.padding[0]
    padded = np.pad(values, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    total = np.zeros((len(values), len(weight), 8, 8))
    for rank in range(weight.shape[2]):
        for file in range(weight.shape[3]):
            boards = padded[:, :, rank : rank + 8, file : file + 8]
            total += np.einsum("bcrf,oc->borf", boards, weight[:, :, rank, file], optimize=True)
    return total + layer.bias[:, None, None]
