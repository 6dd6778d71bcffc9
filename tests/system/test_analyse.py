"""``vecchess analyse`` as a user runs it."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from tests.system.commands import PROGRAM, inside, last_json
from vecchess.snn.integer.net_file import load_net

SCHOLAR = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
MATED = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"


def test_lines_and_move_are_on_stdout_and_notes_on_stderr() -> None:
    done = inside("analyse", SCHOLAR, "--net", "material")
    assert done.returncode == 0
    assert done.stdout.endswith("\nbestmove h5f7\n")
    assert "counting material only" in done.stderr
    assert "mate in 1" in done.stdout
    assert "4. Qxf7#" in done.stdout
    assert "the outcome is proven" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_json_has_everything() -> None:
    options = ["--net", "material", "--sims", 300, "--multipv", 2]
    done = inside("analyse", "--moves", "e2e4 e7e5", *options, "--json")
    facts = last_json(done)
    keys = "schema fen best wdl visits lines simulations simulations_per_s seconds net stopped_by"
    assert set(keys.split()) <= set(facts)
    assert (facts["schema"], facts["net"]) == (1, "material")
    assert (facts["simulations"], facts["visits"], facts["stopped_by"]) == (300, 300, "simulations")
    assert facts["fen"].startswith("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w")
    assert sum(facts["wdl"]) == pytest.approx(1.0, abs=1e-5)
    assert len(facts["lines"]) == 2
    for line in facts["lines"]:
        names = "moves san visits win draw loss value prior mate"
        assert set(names.split()) <= set(line)
        assert len(line["moves"]) == len(line["san"]) == line["depth"]
    best = facts["lines"][0]
    assert facts["best"] == {"uci": best["moves"][0], "san": best["san"][0]}
    assert len(done.stdout.splitlines()) == 1


def test_a_fen_needs_no_quotes_and_settings_have_variables() -> None:
    env = {"VECCHESS_MULTIPV": "1", "VECCHESS_SIMS": "50", "VECCHESS_NET": "constant"}
    facts = last_json(inside("analyse", *SCHOLAR.split(), "--json", "--no-exits", env=env))
    assert facts["fen"] == SCHOLAR
    assert facts["net"] == "constant"
    assert len(facts["lines"]) == 1


def test_the_network_of_vecchess_evaluates_where_none_is_named() -> None:
    done = inside("analyse", SCHOLAR, "--gpus", "cpu", "--sims", 30, "--json")
    facts = last_json(done)
    assert (facts["net"], facts["sha256"]) == ("default", load_net("default").sha256)
    assert facts["best"]["uci"] == "h5f7"
    assert "evaluating with default on cpu" in done.stderr


def test_a_new_network_is_said_to_be_new() -> None:
    done = inside("analyse", "--net", "tiny", "--gpus", "cpu", "--sims", 30, "--search", "gumbel")
    assert done.returncode == 0, done.stderr
    assert "untrained" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("bestmove ")


def test_help() -> None:
    done = inside("analyse", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage:")


def test_a_terminal_sees_the_lines_until_ctrl_c_ends_the_search() -> None:
    command = ["analyse", "--net", "material"]
    assert inside(*command, "--sims", 10).returncode == 0  # compiled from here on
    ours, theirs = pty.openpty()
    command = [*PROGRAM, *command, "--sims", "2000000", "--tree-mb", "2000", "--lanes", "1"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    program = subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment
    )
    os.close(theirs)
    seen = b""
    while seen.count(b"White to move") < 3:
        seen += os.read(ours, 65536)
    assert b"\x1b[" in seen
    program.send_signal(signal.SIGINT)
    shown = " ".join(_read_all(ours).split())
    stdout, _ = program.communicate(timeout=60)
    facts = json.loads(stdout.splitlines()[-1])
    assert (program.returncode, facts["stopped_by"]) == (0, "SIGINT")
    assert 0 < facts["simulations"] < 2_000_000
    assert "stopped with Ctrl-C" in shown
    assert "Traceback" not in shown


def _read_all(terminal: int) -> str:
    """What appears on a terminal until its program ends."""
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            part = b""
        if not part:
            os.close(terminal)
            return b"".join(parts).decode()
        parts.append(part)


BAD = [
    (["8/8/8 w"], "bad FEN '8/8/8 w'"),
    ([MATED], "over: checkmate"),
    ([STALEMATE], "over: stalemate"),
    (["7k/8/6K1/8/8/8/8/8", "b", "-", "-", "0", "1"], "over: insufficient material"),
    (["--moves", "e2e5"], "'e2e5' is not a legal move"),
    (["--moves", "e2e4, e7e5"], "'e2e4,' is not a legal move"),
    (["--sims", "0"], "sims"),
    (["--sims", "-5"], "sims"),
    (["--sims", "16000000", "--tree-mb", "10"], "tree_mb"),
    (["--search", "abacus"], "abacus"),
    (["--search", "none"], "search"),
    (["--multipv", "0"], "multipv"),
    (["--lanes", "-1"], "lanes"),
    (["--seconds", "-1"], "seconds"),
    (["--seconds", "soon"], "--seconds"),
    (["--draw-score", "2"], "--draw-score must be at most 1, got 2"),
    (["--cache-mb", "4000000"], "4,000,000 MB"),
    (["--syzygy", "nowhere"], "nowhere"),
    (["--syzygy", "EMPTY"], "no tables"),
    (["--net", "nowhere"], "nowhere"),
    (["--net", "BROKEN"], "BROKEN"),
    (["--net", "tiny", "--gpus", "99"], "--gpus 99"),
    (["--gpus", "99"], "--gpus 99"),
    (["--backend", "abacus"], "abacus"),
    (["--config", "no.toml"], "no.toml"),
    (["--config", "SETTINGS"], "did you mean"),
]


@pytest.mark.parametrize(("arguments", "part"), BAD, ids=lambda value: str(value)[:60])
def test_bad_input_gets_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("BROKEN").write_bytes(b"not a network")
    Path("EMPTY").mkdir()
    Path("SETTINGS").write_text("multpv = 3\n")
    done = inside("analyse", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
