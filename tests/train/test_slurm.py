"""The Slurm templates: shell, environment, cores, flags, seeds, and the end of a job."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from vecchess.monitor.bottleneck import LABELS
from vecchess_cli.root import load_command

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = sorted((ROOT / "configs" / "slurm").glob("*.sbatch"))
JOB = {
    "SLURM_JOB_NAME": "vecchess",
    "SLURM_JOB_ID": "7",
    "SLURM_ARRAY_JOB_ID": "7",
    "SLURM_ARRAY_TASK_ID": "3",
    "SLURM_CPUS_PER_TASK": "12",
}


def run(template: Path, folder: Path, code: int, **others: str) -> list[str]:
    """The commands that a template runs in ``folder``; vecchess ends with ``code``."""
    log, is_player = folder / "log", template.stem == "contribute"
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "activate").write_text(f"PATH={programs}:$PATH\n")
    ends = f'case "$*" in *"train "*) exit {code};; *) exit {code if is_player else 0};; esac'
    for name, body in (("srun", ends), ("scontrol", "exit 0"), ("vecchess", "exit 0")):
        program = programs / name
        line = f"{name} $SRUN_CPUS_PER_TASK" if name == "srun" else name
        program.write_text(f'#!/bin/sh\necho {line} "$@" >> {log}\n{body}\n')
        program.chmod(0o755)
    runs = {"RUN_DIR": str(folder / "run"), "RUN": "s3://bucket/run"}
    submitted = {"SLURM_SUBMIT_DIR": str(folder)}
    environ = os.environ | JOB | submitted | runs | others
    done = subprocess.run(["bash", str(template)], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
    return sorted(log.read_text().splitlines(), key=lambda line: line.split()[0] == "scontrol")


def test_there_are_templates() -> None:
    names = [path.stem for path in TEMPLATES]
    assert names == ["contribute", "many-nodes", "one-node"]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_they_are_shell(template: Path) -> None:
    subprocess.run(["bash", "-n", str(template)], check=True)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_their_flags_exist(template: Path, tmp_path: Path) -> None:
    for line in run(template, tmp_path, 0):
        match = re.fullmatch(r"srun 12 (?:--overlap )?(?:--wait=60 )?vecchess (\w+) (.*)", line)
        assert match, line
        known = {name for option in load_command(match[1]).params for name in option.opts}
        assert set(re.findall(r"(?<!\S)--[\w-]+", match[2])) <= known


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_what_their_comments_point_at_exists(template: Path, tmp_path: Path) -> None:
    """Words to look for are those of ``vecchess``, and so are commands and their options."""
    text = " ".join(
        line.strip("# ") for line in template.read_text().splitlines() if line[:1] == "#"
    )
    labels = set(re.findall(r'"(Limited[^"]*|\w+-bound)"', text))
    is_player = template.stem == "contribute"
    assert labels == (set() if is_player else set(LABELS.values()) - {"Starved"})
    for command, flags in re.findall(r"`vecchess (\w+)([^`]*)`", text):
        known = {name for option in load_command(command).params for name in option.opts}
        assert set(re.findall(r"(?<!\S)--[\w-]+", flags)) <= known


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_only_a_run_that_saved_is_queued_again(template: Path, tmp_path: Path) -> None:
    for code, requeued in ((0, False), (1, False), (75, True)):
        folder = tmp_path / str(code)
        folder.mkdir()
        lines = run(template, folder, code)
        job = "7_3" if template.stem == "contribute" else "7"
        told = [line for line in lines if line.startswith("scontrol")]
        assert told == ([f"scontrol requeue {job}"] if requeued else [])


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_without_an_environment_they_end_with_a_line(template: Path, tmp_path: Path) -> None:
    environ = JOB | {"PATH": "/usr/bin:/bin", "RUN": "r", "SLURM_SUBMIT_DIR": str(tmp_path)}
    done = subprocess.run(["bash", str(template)], env=environ, capture_output=True, text=True)
    assert done.returncode == 2
    line = f"no vecchess here, and no {tmp_path}/.venv/bin/activate: set VENV to its environment\n"
    assert done.stderr == line


def test_venv_names_another_environment(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    programs = tmp_path / ".venv" / "bin"
    (other / "bin" / "activate").write_text(
        f"PATH={programs}:$PATH\necho other >> {tmp_path}/log\n"
    )
    assert run(TEMPLATES[0], tmp_path, 0, VENV=str(other))[0] == "other"
