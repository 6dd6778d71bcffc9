"""Print the fingerprints that a refactor must keep, as one JSON object.

    python bench/fingerprints.py                   the checkout that is installed
    PYTHONPATH=OLD/src:OLD/cli python bench/fingerprints.py

The program is driven through its command line alone, so that the same script fingerprints an older
commit. Every value is a count or the first 16 hexadecimal digits of a SHA-256:

    perft        leaves below the six known positions
    search       the signature of ``vecchess uci bench``: nodes searched
    selfplay     all arrays of a seeded run's games, in the order of their ids, by search
    training     of two short trainings: the learning log, the last network, the games

Schema numbers and the order of games in a shard are left out: neither belongs to a game.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SELFPLAY = {
    "sampled": "--net tiny --games 48",
    "gumbel": "--net tiny --games 12 --search gumbel --sims 16 --max-plies 120",
    "puct": "--net tiny --games 8 --search puct --sims 40 --max-plies 80 --chess960",
}
SHORT = "--iterations 2 --positions-per-iter 840 --seats 12 --max-plies 60 --batch-size 64"
TRAINING = {
    "gumbel": f"{SHORT} --sims 8",
    "ppo": f"{SHORT} --objective ppo",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        found: dict[str, object] = {"perft": perft(), "search": search()}
        found["selfplay"] = {k: selfplay(v, root / k) for k, v in SELFPLAY.items()}
        found["training"] = {k: training(v, root / f"train-{k}") for k, v in TRAINING.items()}
    print(json.dumps(found, indent=1))


def vecchess(line: str) -> str:
    command = [sys.executable, "-m", "vecchess_cli.main", *line.split()]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def perft() -> object:
    report = json.loads(vecchess("bench perft --depth 4 --json").splitlines()[-1])
    return [row["nodes"] for row in report["positions"]]


def search() -> int:
    engine = [sys.executable, "-m", "vecchess_cli.main", "uci", "--net", "material"]
    command = [*engine, "--threads", "1", "bench"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"Nodes searched\s*:\s*(\d+)", done.stdout + done.stderr)
    assert found, "no signature was printed"
    return int(found[1])


def selfplay(options: str, folder: Path) -> str:
    vecchess(f"selfplay --gpus cpu --seed 7 --quiet --run-dir {folder} {options}")
    return digest_of_games(folder)


def digest_of_games(folder: Path) -> str:
    games = {}
    for shard in sorted(folder.glob("games/*.npz")):
        with np.load(shard) as arrays:
            games |= games_of({name: arrays[name] for name in arrays.files})
    digest = hashlib.sha256()
    for number in sorted(games):
        digest.update(games[number])
    return digest.hexdigest()[:16]


def games_of(arrays: dict[str, np.ndarray]) -> dict[int, bytes]:
    """The bytes of each game of a shard, by its id."""
    ids = arrays["numbers"] if "numbers" in arrays else arrays["ids"]
    return {int(number): one_game(arrays, row) for row, number in enumerate(ids)}


def one_game(arrays: dict[str, np.ndarray], row: int) -> bytes:
    offsets = arrays["offsets"]
    plies = slice(offsets[row], offsets[row + 1])
    targets = slice(*arrays["target_offsets"][[plies.start, plies.stop]])
    spans = slice(*arrays["span_offsets"][[row, row + 1]])
    parts = []
    for name in ("start", "result", "termination", "resign", "fingerprint"):
        parts.append(arrays[name][row : row + 1])
    for name in ("action", "steps", "win", "draw", "prob", "tag", "visits", "full", "thought"):
        parts.append(arrays[name][plies])
    parts.append(np.diff(arrays["target_offsets"][plies.start : plies.stop + 1]))
    parts += [arrays["target_action"][targets], arrays["target_prob"][targets]]
    parts += [arrays["span_ply"][spans], arrays["nets"][arrays["span_net"][spans]]]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def training(options: str, folder: Path) -> dict[str, object]:
    vecchess(
        f"train --gpus cpu --net tiny --seed 7 --quiet --eval-every 0 --run-dir {folder} {options}"
    )
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    learnt = [line | {"time_unix": 0} for line in lines if line["kind"] == "learn"]
    assert learnt, "no iteration was learnt from"
    return {
        "steps": learnt[-1]["step"],
        "loss": hashlib.sha256(json.dumps(learnt, sort_keys=True).encode()).hexdigest()[:16],
        "network": newest_network(folder),
        "games": digest_of_games(folder),
    }


def newest_network(folder: Path) -> str:
    newest = json.loads((folder / "nets" / "latest.json").read_text())
    return str(newest["sha256"])[:16]


if __name__ == "__main__":
    main()
