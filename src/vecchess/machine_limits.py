"""The memory and the cores that this process may use: the machine's, less the limits of control
groups (cgroups, version 2 and 1), of the processor affinity and of Slurm.

What a cpuset forbids is not in the affinity, so it needs no reading. Decision 219.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1 << 20
UNLIMITED = 1 << 60
"""Version 1 writes "no limit" as a number of bytes as large as this."""


@dataclass(frozen=True)
class Limit:
    """An amount, and the name of what sets it."""

    amount: float
    source: str


@dataclass(frozen=True)
class MachineLimits:
    """The lowest limits."""

    memory: Limit
    """Bytes; infinite where the system does not tell it."""
    cores: Limit
    """Cores, also parts of one."""

    @classmethod
    def find(
        cls,
        memory: float | None = None,
        cores: float | None = None,
        root: Path = Path("/"),
        environ: Mapping[str, str] = os.environ,
    ) -> "MachineLimits":
        """The limits of a machine with ``memory`` bytes and ``cores``, by default those of this.

        root: where ``proc`` and the mounted cgroups are.
        """
        machine = Limit(memory or _machine_bytes(), "this machine")
        found = [machine, *_memory_limits(root), *_slurm_memory(environ)]
        usable = Limit(cores or _usable_cores(), "cores of this machine")
        quotas = [usable, *_core_limits(root), *_slurm_cores(environ)]
        return cls(min(found, key=_amount), min(quotas, key=_amount))


def machine_limits() -> MachineLimits:
    """The limits of this process as they are now."""
    return MachineLimits.find()


def num_cores() -> int:
    """Whole cores this process may use, at least 1."""
    return max(1, int(machine_limits().cores.amount))


def memory_text() -> str:
    """The memory this process may use, and what limits it: "700 MB (memory.max of /sys/...)"."""
    memory = machine_limits().memory
    return f"{memory.amount / MEGABYTE:,.0f} MB ({memory.source})"


def oom_kills(root: Path = Path("/")) -> int:
    """Processes of this cgroup that the system killed for want of memory so far; of the whole
    machine where no cgroup counts them, 0 where nothing does."""
    for name in ("memory.events", "memory.oom_control"):
        for folder in own_folders(root, "memory"):
            if (count := _entry(folder / name, "oom_kill")) is not None:
                return count
    return _entry(root / "proc/vmstat", "oom_kill") or 0


def own_folders(root: Path, controller: str) -> list[Path]:
    """Folders of this process's cgroups that have files of ``controller``."""
    folders = [folder for folder, _ in _cgroups(root, controller)]
    return [folder for folder in folders if any(folder.glob(f"{controller}.*"))]


def _amount(limit: Limit) -> float:
    return limit.amount


def _machine_bytes() -> float:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return float("inf")
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_limits(root: Path) -> Iterator[Limit]:
    for folder in _folders(root, "memory"):
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            value = _words(folder / name)[:1]
            if value and value[0].isdecimal() and int(value[0]) < UNLIMITED:
                yield Limit(int(value[0]), _source(root, folder / name))


def _core_limits(root: Path) -> Iterator[Limit]:
    for folder in _folders(root, "cpu"):
        quota = folder / "cpu.cfs_quota_us"
        version_1 = [*_words(quota), *_words(folder / "cpu.cfs_period_us")]
        for file, words in ((folder / "cpu.max", _words(folder / "cpu.max")), (quota, version_1)):
            if len(words) == 2 and words[0].isdecimal() and int(words[1]):
                yield Limit(int(words[0]) / int(words[1]), _source(root, file))


def _slurm_memory(environ: Mapping[str, str]) -> Iterator[Limit]:
    """Slurm counts in MB, 0 stands for all of the machine's; tasks of a step share a machine."""
    tasks = _tasks_here(environ)
    cores = _number(environ, "SLURM_CPUS_ON_NODE") / tasks
    gpus = (_number(environ, "SLURM_GPUS_ON_NODE") or 1) / tasks
    for name, times in (
        ("SLURM_MEM_PER_NODE", 1 / tasks),
        ("SLURM_MEM_PER_CPU", _number(environ, "SLURM_CPUS_PER_TASK") or cores),
        ("SLURM_MEM_PER_GPU", gpus),
    ):
        if nbytes := _number(environ, name) * times * MEGABYTE:
            yield Limit(nbytes, name)


def _slurm_cores(environ: Mapping[str, str]) -> Iterator[Limit]:
    if cores := _number(environ, "SLURM_CPUS_PER_TASK"):
        yield Limit(cores, "SLURM_CPUS_PER_TASK")
    elif cores := _number(environ, "SLURM_CPUS_ON_NODE"):
        yield Limit(cores / _tasks_here(environ), "SLURM_CPUS_ON_NODE")


def _tasks_here(environ: Mapping[str, str]) -> int:
    """Tasks of this step of a Slurm job on this machine. A script without srun is alone."""
    nodes = _number(environ, "SLURM_STEP_NUM_NODES") or 1
    return max(1, -(-_number(environ, "SLURM_STEP_NUM_TASKS") // nodes))


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "")
    return int(text) if text.isdecimal() else 0


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Folders of this process's cgroups and of all above them, as far as they are mounted."""
    for folder, mounted in _cgroups(root, controller):
        yield folder
        while folder != mounted:
            folder = folder.parent
            yield folder


def _cgroups(root: Path, controller: str) -> Iterator[tuple[Path, Path]]:
    """This process's cgroup by version 2 and by version 1's ``controller``: its folder, and the
    folder where the hierarchy is mounted, which holds a part of it in a container."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        for part, mounted in _mounts(root, controller if controllers else ""):
            inner = Path(path)
            is_inside = inner.is_relative_to(part) and ".." not in inner.parts
            yield (mounted / inner.relative_to(part) if is_inside else mounted), mounted


def _mounts(root: Path, controller: str) -> Iterator[tuple[str, Path]]:
    """Mounted hierarchies of version 1's ``controller``, or of version 2 for "": the path of the
    cgroup that is mounted, and where."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        is_wanted = controller in options.split(",") if controller else True
        if kind == ("cgroup" if controller else "cgroup2") and is_wanted:
            part, point = before.split()[3:5]
            yield part, root / point.lstrip("/")


def _source(root: Path, file: Path) -> str:
    return f"{file.name} of /{file.parent.relative_to(root)}"


def _entry(file: Path, name: str) -> int | None:
    """The number after ``name`` in a file of such lines; None where there is none."""
    pairs = dict(line.split(" ", 1) for line in _lines(file) if " " in line)
    text = pairs.get(name, "")
    return int(text) if text.isdecimal() else None


def _words(file: Path) -> list[str]:
    return " ".join(_lines(file)).split()


def _lines(file: Path) -> list[str]:
    with suppress(OSError, ValueError):
        return file.read_text().splitlines()
    return []
