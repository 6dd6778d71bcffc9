"""NIR files, written from networks and read back: HDF5, by the package ``nir``."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vecchess.errors import NetworkError, require_library
from vecchess.runtime.atomic_output import binary_file
from vecchess.safe_parse import clip_line
from vecchess.snn.integer.integer_net import IntegerNet

if TYPE_CHECKING:
    from vecchess.export.nir_graph import Neurons

MOST_BYTES = 1 << 30
"""Limit of all arrays of a file that is read; those of the largest preset have 0.2 GB."""


class NirExport(NamedTuple):
    """The result of an export; ``nodes`` counts those inside other nodes too."""

    num_bytes: int
    nodes: int
    edges: int


def export_nir(net: IntegerNet, out: Path, neurons: "Neurons" = "exact") -> NirExport:
    """Write ``net`` to ``out`` ("-": stdout).

    Raises ConfigError where the library is missing or for a place that cannot be used, NetworkError
    for a network that is not exact, DataError where writing fails.
    """
    require_library("nir", "nir")
    import nir

    from vecchess.export.nir_graph import to_nir

    graph, data = to_nir(net, neurons), io.BytesIO()
    nir.write(data, graph)
    with binary_file(out) as file:
        file.write(data.getvalue())
    inner = [node for node in graph.nodes.values() if isinstance(node, nir.NIRGraph)]
    return NirExport(
        len(data.getvalue()),
        len(graph.nodes) + sum(len(node.nodes) for node in inner),
        len(graph.edges) + sum(len(node.edges) for node in inner),
    )


def read_nir(path: Path) -> IntegerNet:
    """The network of a NIR file. Raises ConfigError where the library is missing, NetworkError for
    a file that cannot be read, or that ``export_nir`` did not write."""
    require_library("nir", "nir")
    from vecchess.export.nir_graph import from_nir

    if not path.is_file():
        raise NetworkError(f"there is no NIR file {path}")
    try:
        import nir

        _require_small(path)
        return from_nir(nir.read(path))
    except NetworkError as error:
        raise NetworkError(f"{path} {error}") from None
    except Exception as error:  # of HDF5, of numpy, assertions of nir
        reason = str(error) or type(error).__name__
        raise NetworkError(clip_line(f"{path} is no NIR file that nir reads: {reason}")) from None


def _require_small(path: Path) -> None:
    """Raise NetworkError for a file whose arrays would not fit: a few bytes may stand for many, and
    nir reads an array once for each of its names."""
    import h5py

    def place(item: Any) -> int:
        return int(h5py.h5o.get_info(item.id).addr)

    total = 0
    with h5py.File(path, "r") as file:
        groups = [file["/"]]
        seen = {place(groups[0])}
        while groups:
            group = groups.pop()
            for name in group:
                is_link = not isinstance(group.get(name, getlink=True), h5py.HardLink)
                if is_link or place(group[name]) in seen:
                    raise NetworkError("has a second name for an array or a group")
                seen.add(place(group[name]))
                if isinstance(group[name], h5py.Group):
                    groups.append(group[name])
                total += int(getattr(group[name], "nbytes", 0))
                if total > MOST_BYTES:
                    raise NetworkError(f"holds {total:,} bytes, more than {MOST_BYTES:,}")
