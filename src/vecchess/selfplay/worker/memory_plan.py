"""The memory that self-play may need, and a share of slots and games that fits into what there is.

Decision 219.
"""

from dataclasses import dataclass, replace

from vecchess.config import SelfplayConfig, TreeConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import MEGABYTE, machine_limits, memory_text
from vecchess.runtime.devices import CPU, Device, Share, share_out
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree_memory import TreeLimits

PARENT_BYTES = 200 * MEGABYTE
"""The parent process, with the code that all processes of a run share."""
CPU_WORKER_BYTES, GPU_WORKER_BYTES = 128 * MEGABYTE, 1024 * MEGABYTE
"""A worker without games, measured with a small network; on a GPU at the very least, for CUDA."""


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that the processes of a run may take together."""

    processes: int
    caches: int
    trees: int

    @classmethod
    def of(cls, tree: TreeConfig, share: Share, devices: list[Device]) -> "MemoryNeed":
        """The need of one worker with ``share`` for each of ``devices``."""
        count = len(devices)
        worker = CPU_WORKER_BYTES if devices[0] == CPU else GPU_WORKER_BYTES
        processes = PARENT_BYTES + count * worker
        if tree.search == "none":
            return cls(processes, 0, 0)
        trees = TreeLimits.of(tree).forests_nbytes(share.games, -(-share.games // share.movers))
        return cls(processes, count * tree.cache_mb * MEGABYTE, count * trees)

    @property
    def total(self) -> int:
        """Bytes in all."""
        return self.processes + self.caches + self.trees

    @property
    def fits(self) -> bool:
        """Whether this process may use as much."""
        return self.total <= machine_limits().memory.amount


def fitting_share(config: SelfplayConfig, devices: list[Device], num_games: int) -> Share:
    """``share_out``, with fewer slots and games where memory is short and the settings leave both
    open. No game depends on that."""
    share = share_out(config, devices, num_games)
    is_open = not (config.slots or config.concurrent_games)
    while is_open and share.games > 1 and not MemoryNeed.of(config.tree, share, devices).fits:
        share = halved(share)
    return share


def halved(share: Share) -> Share:
    """Half of the games and of the slots, at least one."""
    games = max(1, share.games // 2)
    slots = min(max(1, share.slots // 2), games)
    return replace(share, games=games, slots=slots, movers=min(share.movers, games))


def check_search(tree: TreeConfig, share: Share, devices: list[Device]) -> None:
    """Raise ConfigError where ``check_memory`` does, or there are no tablebases."""
    check_memory(tree, share, devices)
    if tree.search != "none" and tree.syzygy:
        Tablebase(tree.syzygy)


def keeps_to_memory(tree: TreeConfig, share: Share, devices: list[Device]) -> bool:
    """Whether ``check_memory`` lets workers of ``devices`` have such a share."""
    try:
        check_memory(tree, share, devices)
    except ConfigError:
        return False
    return True


def check_memory(tree: TreeConfig, share: Share, devices: list[Device]) -> None:
    """Raise ConfigError where trees may exceed ``tree_mb`` or what can be numbered, or trees and
    caches of all workers the memory."""
    need = MemoryNeed.of(tree, share, devices)
    if tree.search != "none":
        games_a_mover = -(-share.games // share.movers)
        TreeLimits.of(tree).check(tree, share.games, games_a_mover)
    if not need.fits:
        raise ConfigError(
            f"{len(devices)} worker{'s' if len(devices) > 1 else ''} (games at a time: "
            f"{share.games:,}) may need {_mb(need.total)}: processes {_mb(need.processes)}, caches "
            f"{_mb(need.caches)}, trees {_mb(need.trees)}; the memory is {memory_text()}: "
            "give more, or take fewer workers, games at a time or simulations"
        )


def _mb(nbytes: int) -> str:
    return f"{-(-nbytes // MEGABYTE):,} MB"
