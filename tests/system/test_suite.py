"""``vecchess suite`` as users meet it."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.system.commands import inside, last_json, start

EPD = """4k3/8/8/8/8/8/8/R3K3 w Q - bm O-O-O; id "a.1";
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - bm e5; c0 "400 500 100"; id "b.1";
"""


def test_players_stand_in_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # for long names
    file = tmp_path / "two.epd"
    file.write_text(EPD)
    players = ["net:material?search=puct&sims=16", "random"]
    done = inside("suite", "moves", *players, "--epd", file, "--gpus", "cpu", "--json")
    facts = last_json(done)
    assert [one["player"] for one in facts["players"]] == players
    assert set(facts["players"][0]["groups"]) == {"a", "b"}
    assert facts["players"][0]["value_error"] is not None
    assert "ratio" in facts["players"][1]
    assert facts == last_json(
        inside("suite", "moves", *players, "--epd", file, "--gpus", "cpu", "--json")
    )
    table = [line.split() for line in done.stderr.splitlines()]
    assert [row[0] for row in table[-6:]] == [players[0], "a", "b", players[1], "a", "b"]
    assert "value error" in done.stderr


@pytest.mark.thorough
def test_endings_and_puzzles_have_suites_of_their_own() -> None:
    facts = last_json(inside("suite", "endings", "minimax:1", "--limit", 2, "--json"))
    assert list(facts["players"][0]["groups"]) == ["KQK", "KRK", "KBBK", "KPK"]
    assert facts["positions"] == 8
    facts = last_json(inside("suite", "puzzles", "greedy", "--limit", 5, "--json"))
    assert (facts["suite"], facts["positions"]) == ("puzzles.epd", 5)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["moves", "gready"], "there is no player 'gready'"),
        (["moves", "greedy", "--epd", "none.epd"], "cannot read none.epd"),
        (["endings", "net:none.safetensors"], "no network file none.safetensors"),
        (["puzzles", "uci:nothing-here?nodes=1"], 'there is no engine "nothing-here"'),
        (["endings", "greedy", "--limit", 0], "--limit"),
        (["moves"], "PLAYER"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_one_line(options: list[object], reason: str) -> None:
    done = inside("suite", *options)
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.thorough
def test_ctrl_c_ends_an_examination() -> None:
    running = start("suite", "moves", "uci:sleep 100?nodes=1")
    children = ["ps", "-o", "pid=", "--ppid", str(running.pid)]
    while not subprocess.run(children, capture_output=True, check=False).stdout:
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "stopped with Ctrl-C before all players were examined"
