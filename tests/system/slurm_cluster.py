"""A Slurm cluster of two nodes on this machine: slurmctld and two slurmd, for the time of a block.

    with slurm_cluster(folder) as slurm:
        job = slurm.submit("one-node", {"RUN_DIR": "..."}, "--nodes=1", arguments=["--net", "tiny"])
        slurm.wait_for(job, "RUNNING")

The nodes have a core or two and eight GPUs that are mere numbers, so that templates' requests fit.
Needs root and Debian's packages slurmctld, slurmd and slurm-client; ``skip_unless_installed`` skips
a test elsewhere.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol")
WAIT_S = 240.0
"""Less than a test may take, so that what the job printed is shown."""
NODES = ("node1", "node2")
CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
GresTypes=gpu
SlurmdTimeout=10
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cores} Gres=gpu:8
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cores} Gres=gpu:8
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass
class Slurm:
    """A cluster that runs; its commands see this one alone."""

    folder: Path
    daemons: dict[str, "subprocess.Popen[bytes]"]

    def run(self, *command: object, env: Mapping[str, str] | None = None) -> str:
        """The output of a command of Slurm, which has to succeed."""
        done = subprocess.run(
            list(map(str, command)),
            env=self.environ | (env or {}),
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def environ(self) -> dict[str, str]:
        inherited = {name: v for name, v in os.environ.items() if not name.startswith("SLURM_")}
        return inherited | {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def submit(
        self,
        template: str,
        variables: Mapping[str, str],
        *flags: object,
        arguments: Sequence[object] = (),
    ) -> int:
        """Submit a template of ``configs/slurm`` as users do; returns the job's number."""
        script = ROOT / "configs" / "slurm" / f"{template}.sbatch"
        out = self.run("sbatch", *flags, script, *arguments, env=variables)
        return int(out.split()[-1])

    def facts(self, job: object) -> dict[str, str]:
        """What scontrol knows of a job, or of an element "7_1" of an array."""
        shown = self.run("scontrol", "show", "job", job, "--oneliner")
        return dict(re.findall(r"(\S+?)=(\S*)", shown))

    def wait_until(self, condition: Callable[[], object], job: object) -> None:
        """Wait for a condition; a job that fails meanwhile ends the test with what it printed."""
        deadline = time.monotonic() + WAIT_S
        while not condition():
            facts = self.facts(job)
            has_failed = facts["JobState"] == "FAILED" or time.monotonic() > deadline
            assert not has_failed, f"{facts}\n{self.output()}"
            time.sleep(0.2)

    def wait_for(self, job: object, *states: str) -> dict[str, str]:
        """Wait until a job is in one of ``states``; returns what scontrol knows then."""
        self.wait_until(lambda: self.facts(job)["JobState"] in states, job)
        return self.facts(job)

    def let_time_run_out(self, job: object) -> None:
        """Shorten the job's time limit, so that Slurm sends the signal of the template soon."""
        minutes, seconds = self.facts(job)["RunTime"].split(":")[-2:]
        limit = int(minutes) + (int(seconds) > 50) + 2
        self.run("scontrol", "update", f"JobId={job}", f"TimeLimit={limit}")

    def begin_again(self, job: object) -> None:
        """Begin a job that was queued again in three seconds; Slurm would wait two minutes.

        In the second in which its first start was revoked a slurmd starts it no more.
        """
        self.wait_for(job, "PENDING")
        start = "StartTime=now+3seconds"
        self.run("scontrol", "update", f"JobId={job}", "TimeLimit=60", start)

    def output(self) -> str:
        """What all jobs have printed."""
        return "".join(
            f"{log.name}: {log.read_text()}" for log in sorted(self.folder.glob("*.out"))
        )


@contextmanager
def slurm_cluster(folder: Path) -> Iterator[Slurm]:
    """A cluster for a block, with its files in ``folder``; what still runs is killed."""
    servers = [socket.create_server(("", 0)) for _ in range(3)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    (folder / "state").mkdir()
    cores = len(os.sched_getaffinity(0))
    places = {"host": socket.gethostname().split(".")[0], "folder": folder, "cores": cores}
    (folder / "slurm.conf").write_text(CONFIG.format(ports=ports, **places))
    (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-7]\n")
    for number in range(8):
        (folder / f"gpu{number}").touch()
    slurm = Slurm(folder, {})
    commands = {
        "ctld": ["slurmctld", "-D"],
        **{node: ["slurmd", "-D", "-N", node] for node in NODES},
    }
    try:
        for name, command in commands.items():
            with (folder / f"{name}.err").open("wb") as log:
                slurm.daemons[name] = subprocess.Popen(
                    command, env=slurm.environ, stdout=log, stderr=log, start_new_session=True
                )
        deadline = time.monotonic() + 60
        while not are_idle(slurm):
            errors = "".join(file.read_text() for file in folder.glob("*.err"))
            assert time.monotonic() < deadline, errors
            time.sleep(0.2)
        yield slurm
    finally:
        subprocess.run(["scancel", "--full", "--signal=KILL", "--user=root"], env=slurm.environ)
        time.sleep(1.0)
        for process in reversed(slurm.daemons.values()):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def are_idle(slurm: Slurm) -> bool:
    done = subprocess.run(
        ["sinfo", "--noheader", "--format=%T %D"], env=slurm.environ, capture_output=True, text=True
    )
    return done.stdout.split() == ["idle", "2"]


def skip_unless_installed() -> None:
    """Skip the test where Slurm's daemons cannot run."""
    if os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)):
        pytest.skip("needs root, slurmctld, slurmd and slurm-client")
