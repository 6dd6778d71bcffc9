"""Limits of containers and Slurm: trees of files as systems lay them out, and a real cgroup."""

from pathlib import Path

import pytest

from vecchess.machine_limits import MEGABYTE, MachineLimits, oom_kills

GB = 1 << 30
V2 = "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw"
V1 = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"""
TREES = {
    "version 2, nested": (
        {
            "proc/self/cgroup": "0::/user.slice/job.scope",
            "proc/self/mountinfo": V2,
            "sys/fs/cgroup/user.slice/memory.max": "734003200",
            "sys/fs/cgroup/user.slice/cpu.max": "max 100000",
            "sys/fs/cgroup/user.slice/job.scope/memory.max": "max",
            "sys/fs/cgroup/user.slice/job.scope/memory.high": "max",
            "sys/fs/cgroup/user.slice/job.scope/cpu.max": "50000 100000",
        },
        (700, "memory.max of /sys/fs/cgroup/user.slice"),
        (0.5, "cpu.max of /sys/fs/cgroup/user.slice/job.scope"),
    ),
    "version 2, the root is the container's": (
        {
            "proc/self/cgroup": "0::/",
            "proc/self/mountinfo": V2,
            "sys/fs/cgroup/memory.max": "4294967296",
            "sys/fs/cgroup/memory.high": "1073741824",
            "sys/fs/cgroup/cpu.max": "250000 100000",
        },
        (1024, "memory.high of /sys/fs/cgroup"),
        (2.5, "cpu.max of /sys/fs/cgroup"),
    ),
    "version 2, outside of the namespace": (
        {
            "proc/self/cgroup": "0::/../../other",
            "proc/self/mountinfo": V2,
            "sys/fs/cgroup/memory.max": "1073741824",
        },
        (1024, "memory.max of /sys/fs/cgroup"),
        (16, "cores of this machine"),
    ),
    "version 1, the container's part is mounted": (
        {
            "proc/self/cgroup": "5:memory:/docker/ab\n4:cpuacct,cpu:/docker/ab\n0::/docker/ab",
            "proc/self/mountinfo": V1.replace("0:29 /", "0:29 /docker/ab").replace(
                "0:32 /", "0:32 /docker/ab"
            ),
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "734003200",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
        (700, "memory.limit_in_bytes of /sys/fs/cgroup/memory"),
        (1.5, "cpu.cfs_quota_us of /sys/fs/cgroup/cpu,cpuacct"),
    ),
    "version 1, no limits": (
        {
            "proc/self/cgroup": "5:memory:/a\n4:cpuacct,cpu:/",
            "proc/self/mountinfo": V1,
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
        (65536, "this machine"),
        (16, "cores of this machine"),
    ),
    "nothing is known": ({}, (65536, "this machine"), (16, "cores of this machine")),
}  # fmt: skip


def lay_out(files: dict[str, str], root: Path) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


@pytest.mark.parametrize("name", TREES)
def test_limits_of_a_cgroup_and_those_above_it(name: str, tmp_path: Path) -> None:
    files, memory, cores = TREES[name]
    found = MachineLimits.find(64 * GB, 16, lay_out(files, tmp_path), {})
    assert (found.memory.amount / MEGABYTE, found.memory.source) == memory
    assert (found.cores.amount, found.cores.source) == cores


@pytest.mark.parametrize(
    ("environ", "memory_mb", "cores"),
    [
        ("CPUS_PER_TASK=12 CPUS_ON_NODE=14 MEM_PER_NODE=8192", 8192, 12),
        ("CPUS_ON_NODE=8 MEM_PER_CPU=1000", 8000, 8),
        ("CPUS_PER_TASK=4 CPUS_ON_NODE=8 MEM_PER_CPU=1000 STEP_NUM_TASKS=2", 4000, 4),
        ("CPUS_ON_NODE=8 MEM_PER_NODE=8192 STEP_NUM_TASKS=8 STEP_NUM_NODES=2", 2048, 2),
        ("MEM_PER_GPU=2000 GPUS_ON_NODE=4", 8000, 16),
        ("MEM_PER_NODE=0 CPUS_ON_NODE=x", 65536, 16),
    ],
)
def test_limits_of_slurm(environ: str, memory_mb: int, cores: int, tmp_path: Path) -> None:
    named = dict(f"SLURM_{pair}".split("=") for pair in environ.split())
    found = MachineLimits.find(64 * GB, 16, tmp_path, named)
    assert found.memory.amount == memory_mb * MEGABYTE
    assert found.cores.amount == cores


def test_kills_for_want_of_memory_are_counted(tmp_path: Path) -> None:
    assert oom_kills(tmp_path) == 0
    lay_out({"proc/vmstat": "nr_free_pages 9\noom_kill 3"}, tmp_path)
    assert oom_kills(tmp_path) == 3
    version_1 = {
        "proc/self/cgroup": "5:memory:/a",
        "proc/self/mountinfo": V1,
        "sys/fs/cgroup/memory/a/memory.oom_control": "under_oom 0\noom_kill 2",
    }
    assert oom_kills(lay_out(version_1, tmp_path)) == 2
    version_2 = {
        "proc/self/cgroup": "0::/a",
        "proc/self/mountinfo": V2,
        "sys/fs/cgroup/a/memory.events": "low 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0",
    }
    assert oom_kills(lay_out(version_2, tmp_path / "other")) == 1
