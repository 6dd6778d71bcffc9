"""Makes the wheels that a bare GPU machine without internet lacks, and says how to use them there.

    python bench/gpu/carry.py FOLDER [--out-dir PLACE]

Such a machine has Python 3.12, torch, Triton, numba and the rest of ``THERE``; ``CARRIED`` is what
else the GPU report imports, in the versions of constraints.txt: 4 MB. Prints the command to be
run in the root of these sources over there, with FOLDER as it is called here.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from sources import ROOT, commit

PYTHON = "3.12"
CARRIED = (
    "annotated-doc",
    "annotated-types",
    "chess",
    "pydantic",
    "pydantic-core",
    "rich",
    "shellingham",
    "snntorch",
    "tomli-w",
    "typer",
    "typing-extensions",
    "typing-inspection",
)
SOURCE_ONLY = ("chess",)
"""Without a wheel on the index: it is made here, for any Python 3."""
THERE = (
    "markdown-it-py",
    "numba",
    "numpy",
    "nvidia-ml-py",
    "prometheus-client",
    "pygments",
    "safetensors",
    "threadpoolctl",
    "torch",
    "triton",
)
"""Packages that are expected on the machine, with those that they need themselves."""
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
SECONDS = 580
"""For a machine that kills a command after ten minutes."""


def main() -> None:
    """Fill the folder, print the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="is made, for wheels alone")
    parser.add_argument("--out-dir", default="bench/results", help="of the report, over there")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if any(options.folder.glob("*.whl")):  # two versions of one package stop an installation
        parser.error(f"{options.folder} has wheels already")
    pins = pinned()
    for name in CARRIED:
        _pip(name in SOURCE_ONLY, options.folder, f"{name}=={pins[name]}")
    print(command_there(options.folder, options.out_dir, commit()))


def pinned() -> dict[str, str]:
    """Package -> version, of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {name.strip(): version.split()[0].rstrip(";") for name, version, *_ in pairs}


def command_there(folder: Path, out_dir: str, commit_name: str) -> str:
    """Installs the wheels beside what is there, and starts the report."""
    return (
        f"python3 -m pip install -q --no-index --no-deps --upgrade --target /tmp/carried "
        f"{folder}/*.whl && PYTHONPATH=/tmp/carried python3 -u bench/gpu_report.py "
        f"--seconds {SECONDS} --out-dir {out_dir} --commit {commit_name}"
    )


def _pip(from_source: bool, folder: Path, requirement: str) -> None:
    """Put the wheel of ``requirement`` into ``folder``; ends the program where pip fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if from_source:
        command += ["wheel", "--wheel-dir", str(folder)]
    else:
        command += ["download", "--dest", str(folder), "--only-binary", ":all:"]
        command += ["--python-version", PYTHON, "--implementation", "cp"]
        command += [part for name in PLATFORMS for part in ("--platform", name)]
    done = subprocess.run([*command, "--quiet", "--no-deps", requirement], check=False)
    if done.returncode:
        sys.exit(f"carry: error: no wheel of {requirement}; see pip's lines")


if __name__ == "__main__":
    main()
