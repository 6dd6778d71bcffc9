"""Templates for Kubernetes and SkyPilot: they can be read, and their commands are vecchess's."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from vecchess_cli.root import load_command

CONFIGS = Path(__file__).parent.parent.parent / "configs"
TEMPLATES = [*sorted(CONFIGS.glob("kubernetes/*.yaml")), CONFIGS / "skypilot.yaml"]


def commands(value: Any) -> Iterator[list[str]]:
    """The vecchess commands of a template: the arguments of containers, and lines of scripts."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "args":
                yield inner
            elif key == "run":
                lines = (shlex.split(line) for line in inner.splitlines())
                yield from (line[1:] for line in lines if line[:1] == ["vecchess"])
            else:
                yield from commands(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from commands(inner)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_commands_are_understood(template: Path) -> None:
    found = [each for part in yaml.safe_load_all(template.read_text()) for each in commands(part)]
    assert found
    for name, *arguments in found:
        command = load_command(name)
        with command.make_context(name, arguments) as context:
            assert context.params


def test_players_have_the_time_to_finish() -> None:
    for template in TEMPLATES[:2]:
        pod = yaml.safe_load(template.read_text())["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] >= 30


def test_what_is_over_is_not_started_again() -> None:
    """A Job starts what failed, however often, and ends with the run; a Deployment, whose pods are
    always started again, would keep its nodes."""
    for template in TEMPLATES[:2]:
        job = yaml.safe_load(template.read_text())
        assert job["kind"] == "Job"
        assert "completions" not in job["spec"], "one success is the end"
        assert job["spec"]["backoffLimit"] >= 1000
        assert job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
