"""The Slurm templates: valid shell, flags that exist, and what they do when a job is stopped."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import typer

from vecchess_cli.root import app

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = sorted((ROOT / "configs" / "slurm").glob("*.sbatch"))
JOB = {
    "SLURM_JOB_NAME": "vecchess",
    "SLURM_JOB_ID": "7",
    "SLURM_ARRAY_JOB_ID": "7",
    "SLURM_ARRAY_TASK_ID": "3",
}


def run(template: Path, folder: Path, code: int, *, resumes: bool = False) -> list[str]:
    """The commands that a template runs; vecchess ends with ``code``."""
    log = folder / "log"
    for name, body in (("srun", f"exit {code}"), ("scontrol", "exit 0")):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho {name} "$@" >> {log}\n{body}\n')
        program.chmod(0o755)
    runs = {"RUN_DIR": str(folder / "run"), "FLEET_DIR": str(folder), "NET": "a.safetensors"}
    if resumes:
        for name in ("run", "3"):
            (folder / name).mkdir()
            (folder / name / "config.toml").touch()
    environ = os.environ | JOB | runs | {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", str(template)], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
    return log.read_text().splitlines()


def test_there_are_templates() -> None:
    names = [path.stem for path in TEMPLATES]
    assert names == ["many-nodes", "one-node", "selfplay-fleet"]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_they_are_shell(template: Path) -> None:
    subprocess.run(["bash", "-n", str(template)], check=True)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_their_flags_exist(template: Path, tmp_path: Path) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for resumes in (False, True):
        folder = tmp_path / str(resumes)
        folder.mkdir()
        [line] = run(template, folder, 0, resumes=resumes)
        match = re.fullmatch(r"srun (?:--wait=60 )?vecchess (\w+) (.*)", line)
        assert match, line
        assert ("--resume" in match[2].split()) == resumes
        if match[1] in commands:
            known = {name for option in commands[match[1]].params for name in option.opts}
            assert set(re.findall(r"(?<!\S)--[\w-]+", match[2])) <= known


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_only_a_run_that_saved_is_queued_again(template: Path, tmp_path: Path) -> None:
    for code, requeued in ((0, False), (1, False), (75, True)):
        folder = tmp_path / str(code)
        folder.mkdir()
        lines = run(template, folder, code)
        job = "7_3" if template.stem == "selfplay-fleet" else "7"
        assert lines[1:] == ([f"scontrol requeue {job}"] if requeued else [])
