"""The container files, which cannot be built here: the files and commands they name are valid."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.calls import calls, check_call
from tests.ports.test_prometheus import FACTS, free_port
from vecchess.ports.prometheus import metrics_endpoint

CONTAINERFILE = ROOT / "container" / "Containerfile"
DEFINITION = ROOT / "container" / "vecchess.def"
BUILT = {"dist"}
"""What a reader builds first."""


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^\s*#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(words[0], words[2]) for line in lines if (words := line.partition(" "))[2]]


def test_what_is_copied_is_there() -> None:
    copied = [rest.split() for name, rest in instructions() if name == "COPY"]
    here = [source for *sources, _ in copied for source in sources if "--from=wheel" not in sources]
    assert set(here) == {".", "constraints.txt", "configs", "container/healthcheck.py"}
    assert all((ROOT / source).exists() for source in here)
    files = DEFINITION.read_text().partition("%files\n")[2].partition("\n\n")[0]
    sources = {line.split()[0] for line in files.splitlines()}
    assert sources == {"constraints.txt", "configs", *BUILT}
    assert all((ROOT / source).exists() for source in sources - BUILT)


def test_nothing_that_is_copied_is_kept_out_of_the_build() -> None:
    kept_out = (ROOT / ".dockerignore").read_text().split()
    assert not {"src", "cli", "configs", "constraints.txt", "pyproject.toml", "web"} & set(kept_out)
    include = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert not set(include["targets"]["sdist"]["include"]) & set(kept_out)


def test_it_ends_as_an_ordinary_user_with_caches_that_can_be_written() -> None:
    names = [name for name, _ in instructions()]
    rest = dict(instructions())
    assert rest["USER"] not in ("root", "0")
    assert names.index("USER") < names.index("ENTRYPOINT")
    volumes = json.loads(rest["VOLUME"])
    set_to = dict(pair.split("=", 1) for pair in rest["ENV"].split())
    for variable in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "TRITON_CACHE_DIR"):
        assert any(Path(set_to[variable]).is_relative_to(volume) for volume in volumes), variable


def test_the_image_has_what_runs_at_urls_need() -> None:
    """The templates for Kubernetes name buckets."""
    for text in (CONTAINERFILE.read_text(), DEFINITION.read_text()):
        assert re.search(r'pip install [^\n]*\.whl\)\[fleet\]"', text)


def test_every_package_list_is_removed_again() -> None:
    for name, rest in instructions():
        if name == "RUN" and "apt-get install" in rest:
            assert "--no-install-recommends" in rest
            assert "rm -rf /var/lib/apt/lists/*" in rest


def test_its_commands_are_understood() -> None:
    rest = dict(instructions())
    check_call([*json.loads(rest["ENTRYPOINT"])[1:], *json.loads(rest["CMD"])])
    shown = CONTAINERFILE.read_text().partition("FROM")[0].replace("#", "").replace("\\\n", " ")
    lines = [line.strip() for line in (shown + DEFINITION.read_text()).splitlines()]
    starts = ("podman run", "exec vecchess", "vecchess --")
    found = [call for line in lines if line.startswith(starts) for call in calls(line)]
    assert len(found) == 3
    for arguments in found:
        if arguments != ["$@"]:
            check_call(arguments)


@pytest.mark.parametrize("file", [CONTAINERFILE, DEFINITION])
def test_it_is_for_a_python_that_vecchess_supports(file: Path) -> None:
    [version] = set(re.findall(r"python:3\.(\d+)-slim", file.read_text()))
    assert int(version) >= 11


def health(port: int) -> subprocess.CompletedProcess[str]:
    """What the container's check says where the metrics are at ``port``; 0: at none."""
    rest = dict(instructions())["HEALTHCHECK"]
    copied = next(rest for name, rest in instructions() if "healthcheck" in rest and name == "COPY")
    source, place = copied.split()
    assert json.loads(rest.partition(" CMD ")[2]) == ["python", place]
    return subprocess.run(
        [sys.executable, ROOT / source],
        env=os.environ | {"VECCHESS_METRICS_PORT": str(port)},
        capture_output=True,
        text=True,
    )


def test_a_container_is_healthy_until_a_port_says_otherwise() -> None:
    assert health(0).returncode == 0, "a command without a port"
    port, status = free_port(), dict(FACTS)
    assert health(port).returncode == 0, "before the port is there"
    with metrics_endpoint("127.0.0.1", port, lambda: status):
        assert health(port).stdout == "healthy\n"
        status["state"] = "failed"
        done = health(port)
    assert (done.returncode, done.stdout.splitlines()) == (
        1, [f'port {port}: 503 {{"state":"failed"}}'],
    )  # fmt: skip
