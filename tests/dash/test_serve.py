"""``vecchess dash`` as a program: what it says, how it ends."""

import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.dash.serving import dashboard
from tests.dash.site import small_run
from tests.system.commands import PROGRAM
from vecchess.dash import serve as run
from vecchess.dash.web import assets
from vecchess.errors import ConfigError
from vecchess_cli.dash_beside import dashboard_of

WEB = Path(__file__).parents[2] / "web"

needs_pages = pytest.mark.skipif(
    not (assets.FOLDER / "index.html").is_file(), reason="the pages are not built: make pages"
)


@needs_pages
def test_ctrl_c_ends_it_though_pages_listen(tmp_path: Path) -> None:
    small_run(tmp_path / "one")
    with dashboard(tmp_path) as (url, process):
        with urllib.request.urlopen(f"{url}/api/events?t=run/one") as stream:
            assert stream.readline() == b"event: hello\n"
            process.send_signal(signal.SIGINT)
            assert stream.read().endswith(b"\n")
        assert process.wait(20) == 130
        assert process.stderr.read() == ""


@needs_pages
def test_beside_a_run_it_waits_for_the_run_and_ends_with_it(tmp_path: Path) -> None:
    command = [*PROGRAM, "dash", str(tmp_path / "later"), "--port", "0", "--until-eof"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        url, _, page = process.stderr.readline().split()[-1].partition("#")
        assert page == "/run/later/boards", "the run's page, not the list of runs"
        with urllib.request.urlopen(f"{url}api/runs") as answer:
            assert answer.read() == b"[]"
        small_run(tmp_path / "later")
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with urllib.request.urlopen(f"{url}api/runs") as answer:
                if b'"id":"later"' in answer.read():
                    break
        else:
            raise AssertionError("the run did not appear")
        process.stdin.close()
        assert process.wait(20) == 0


def test_where_there_is_no_run_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PageFiles", dict)
    with pytest.raises(ConfigError, match="there is no run in"):
        run.serve([tmp_path, tmp_path / "nothing"], "127.0.0.1", 0, "", print)


def test_only_the_first_rank_shows_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dashboard_of(False, 0, None, "train")[0] is None
    monkeypatch.setenv("RANK", "3")
    folder, beside = dashboard_of(True, 0, tmp_path, "train")
    assert folder == tmp_path
    with beside as child:
        assert child is None
    monkeypatch.setenv("RANK", "0")
    named, _ = dashboard_of(True, 0, None, "train")
    assert named is not None
    assert named.parts[0] == "runs"
    assert named.name.startswith("train-")


def test_types_of_the_pages_are_sound() -> None:
    compiler, node = WEB / "node_modules" / "typescript" / "bin" / "tsc", shutil.which("node")
    if not compiler.is_file() or node is None:
        pytest.skip("TypeScript is not installed: make pages")
    done = subprocess.run([node, compiler, "--noEmit"], cwd=WEB, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
