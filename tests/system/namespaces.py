"""Two machines on one: network namespaces with a cable between them that can be pulled out.

    with two_hosts() as (first, second):
        leader = first.start(["python", "-m", ...])       # a process that sees only its own network
        other = second.start([...])
        second.pull_out()                                 # from now on packets are lost

``one_host`` has no cable: what listens there is reached from there alone.

Each has a host name of its own ("host-a", "host-b"), an address on the cable's interface, and its
own loopback. Needs root and ``ip`` (iproute2); ``skip_unless_permitted`` skips a test elsewhere.
Programs whose ranks meet over the cable get ``--master-addr`` ``first.address``.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

INTERFACE = "cable0"
"""The name of the cable's end in each namespace; GLOO_SOCKET_IFNAME there."""
SUBNET = "10.213.57"
SETTINGS = {"GLOO_SOCKET_IFNAME": INTERFACE, "TORCH_CPP_LOG_LEVEL": "ERROR"}
"""The second because torch warns of addresses that have no host name, as here."""
NAMED = 'hostname "$1" && mount --bind "$0" /etc/hosts && shift && exec "$@"'
"""Run by sh in the namespaces: $0 is a file of host names, $1 the host's own, the rest a command.
The host names are bound over /etc/hosts for this process and its children alone."""


@dataclass
class Host:
    """One end of the cable, and what runs there."""

    name: str
    namespace: str
    address: str
    names: Path
    """What /etc/hosts is there: both hosts and the loopback."""
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self,
        command: Sequence[object],
        env: dict[str, str] | None = None,
        has_stdin: bool = False,
    ) -> subprocess.Popen[str]:
        """Run ``command`` on this host, in a process group of its own; output goes to pipes."""
        inside = ["ip", "netns", "exec", self.namespace, "unshare", "--uts", "--mount"]
        process = subprocess.Popen(
            [*inside, "sh", "-c", NAMED, str(self.names), self.name, *map(str, command)],
            stdin=subprocess.PIPE if has_stdin else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | SETTINGS | (env or {}),
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def pull_out(self) -> None:
        """Take this end of the cable out: packets are lost, and no connection is closed."""
        _ip("-n", self.namespace, "link", "set", INTERFACE, "down")

    def plug_in(self) -> None:
        """Put it back in."""
        _ip("-n", self.namespace, "link", "set", INTERFACE, "up")

    def end_all(self) -> None:
        """Kill what still runs here."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@contextmanager
def one_host() -> Iterator[Host]:
    """A host that has its loopback alone, for a block; raises CalledProcessError where refused."""
    folder = Path(tempfile.mkdtemp(prefix="vecchess-hosts-"))
    host = Host("host-a", f"vecchess-one-{os.getpid()}", "127.0.0.1", folder / "hosts")
    host.names.write_text(f"127.0.0.1 localhost {host.name}\n")
    try:
        _ip("netns", "add", host.namespace)
        _ip("-n", host.namespace, "link", "set", "lo", "up")
        yield host
    finally:
        host.end_all()
        subprocess.run(["ip", "netns", "delete", host.namespace], capture_output=True)
        shutil.rmtree(folder)


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts with a cable between them, for a block; raises CalledProcessError where refused."""
    folder = Path(tempfile.mkdtemp(prefix="vecchess-hosts-"))
    names = folder / "hosts"
    hosts = [
        Host(f"host-{letter}", f"vecchess-{letter}-{os.getpid()}", f"{SUBNET}.{number}", names)
        for number, letter in ((1, "a"), (2, "b"))
    ]
    lines = ["127.0.0.1 localhost", *(f"{host.address} {host.name}" for host in hosts)]
    names.write_text("\n".join(lines) + "\n")
    try:
        for host in hosts:
            _ip("netns", "add", host.namespace)
        ends = [["name", INTERFACE, "netns", host.namespace] for host in hosts]
        _ip("link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        for host in hosts:
            _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", INTERFACE)
            _ip("-n", host.namespace, "link", "set", INTERFACE, "up")
            _ip("-n", host.namespace, "link", "set", "lo", "up")
        yield hosts[0], hosts[1]
    finally:
        for host in hosts:
            host.end_all()
            subprocess.run(["ip", "netns", "delete", host.namespace], capture_output=True)
        shutil.rmtree(folder)


def skip_unless_permitted() -> None:
    """Skip the test where there can be no two hosts."""
    reason = "" if shutil.which("ip") and shutil.which("unshare") else "needs ip and unshare"
    if not reason and os.geteuid() != 0:
        reason = "needs root"
    if not reason:
        try:
            with two_hosts():
                return
        except subprocess.CalledProcessError as error:
            reason = f"network namespaces are not permitted here: {error.stderr.strip()}"
    pytest.skip(reason)


def ends_after_cut(hosts: tuple[Host, Host]) -> list[list[tuple[int, str]]]:
    """Pull the cable out; exit code and stderr of all processes of each host, within a minute.

    Nothing runs on the hosts then, and the cable is back.
    """
    hosts[1].pull_out()
    deadline = time.monotonic() + 60
    ends = []
    for host in hosts:
        ends.append([])
        for process in host.processes:
            err = process.communicate(timeout=max(deadline - time.monotonic(), 0.1))[1]
            ends[-1].append((process.returncode, err))
        assert not pids_in(host)
    hosts[1].plug_in()
    return ends


def assert_names_the_other(ends: list[list[tuple[int, str]]]) -> None:
    """Each host's processes ended with one line about the rank on the other host."""
    for host_ends, lost in zip(ends, ("rank 1 on host-b", "rank 0 on host-a"), strict=True):
        for code, err in host_ends:
            last = err.strip().splitlines()[-1]
            assert code == 1, err
            assert last.removeprefix("vecchess: ").startswith(f"error: {lost} "), err
            assert "start all machines again with --resume" in last


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def pids_in(host: Host) -> list[int]:
    """Process ids of all that runs on a host."""
    listed = subprocess.run(
        ["ip", "netns", "pids", host.namespace], capture_output=True, text=True, check=True
    )
    return [int(pid) for pid in listed.stdout.split() if Path(f"/proc/{pid}").exists()]
