"""A post and the process that keeps its command, on this machine and without Ray."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vecchess.ray_launcher.node_process import News, Post
from vecchess.ray_launcher.wait import watch
from vecchess.runtime.signals import StopSignals

STOPPABLE = """
import os, signal, sys, time

def save(*_):
    open("saved", "w").close()
    sys.exit(75)

signal.signal(signal.SIGTERM, save)
print("at work", flush=True)
print(f"pid {os.getpid()}", file=sys.stderr, flush=True)
time.sleep(60)
"""


def posted(program: str, folder: Path, *arguments: str, **variables: str) -> Post:
    post = Post("here/0", ("-c", program))
    post.start(list(arguments), str(folder), variables)
    return post


def heard(post: Post, kind: str) -> News:
    """All news up to the first of a kind."""
    news: News = []
    while not any(one == kind for one, _ in news):
        more = post.news(30.0)
        assert more, news
        news += more
    return news


def is_gone(pid: int) -> bool:
    for _ in range(300):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_what_a_command_says_and_how_it_ends(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; print(sys.argv[1:], os.getcwd(), os.environ['VECCHESS_X']); "
        "print('x' * 9000); print(signal.pthread_sigmask(signal.SIG_BLOCK, []), file=sys.stderr); "
        "sys.exit(3)"
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as in Ray's workers
    try:
        post = posted(program, tmp_path, "a", "b c", VECCHESS_X="y")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    news = heard(post, "ended")
    assert [what for kind, what in news if kind == "out"] == [
        f"['a', 'b c'] {tmp_path} y",
        "x" * 9000,
    ]
    assert [what for kind, what in news if kind == "err"] == ["set()"]
    assert news[-1] == ("ended", 3)


def test_stopping_is_a_sigterm(tmp_path: Path) -> None:
    post = posted(STOPPABLE, tmp_path)
    heard(post, "out")
    post.stop()
    post.stop()
    assert heard(post, "ended")[-1] == ("ended", 75)


def test_a_command_that_is_killed(tmp_path: Path) -> None:
    post = posted("import os; os.kill(os.getpid(), 9)", tmp_path)
    assert heard(post, "ended") == [("ended", -9)]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        posted(STOPPABLE, tmp_path / "nowhere")


def test_a_command_is_stopped_where_its_post_is_killed(tmp_path: Path) -> None:
    holder = (
        "import sys\nfrom vecchess.ray_launcher.node_process import Post\n"
        f"post = Post('x', ('-c', {STOPPABLE!r}))\n"
        f"post.start([], {str(tmp_path)!r}, {{}})\n"
        "while True:\n    for kind, what in post.news(1.0):\n        print(what, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = ""
    while not line.startswith("pid "):
        line = process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert is_gone(int(line.split()[1]))
    assert (tmp_path / "saved").exists()


def test_one_of_two_is_killed_and_the_other_saves(tmp_path: Path) -> None:
    posts = [Post("here/0", ("-c", STOPPABLE)), Post("here/1", ("-c", STOPPABLE))]
    for post in posts:
        post.start([], str(tmp_path), {})
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("here/1 | pid "):
            os.kill(int(line.rsplit(None, 1)[1]), signal.SIGKILL)

    endings = watch(posts, StopSignals(), say)
    assert [ending.name for ending in endings] == ["here/1", "here/0"]
    assert endings[0].exit_code == 1
    assert endings[1].exit_code == 75
    assert said[-2:] == ["here/1 was killed by SIGKILL", "stopping here/0"]
