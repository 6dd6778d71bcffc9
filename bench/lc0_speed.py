"""Positions a second that a network of lc0 answers on one core, questions and answers included.

    python bench/lc0_speed.py maia-1100.pb.gz --batches 1 8 32 256

In processor time, the median of several turns. Prints one JSON object.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

from vecchess.chess.planes import POSITION_INPUTS
from vecchess.inference.lc0_backend import Lc0Backend
from vecchess.lc0.weights_file import load_weights
from vecchess.selfplay.worker.random_requests import random_requests

TURNS, SECONDS = 5, 0.5


def main() -> None:
    """Time every batch in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("net", type=Path, help="a weight file of lc0")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32, 256])
    options = parser.parse_args()
    requests = random_requests(max(options.batches), 0, POSITION_INPUTS)
    backend = Lc0Backend(load_weights(options.net), requests.num_rows)
    found: dict[int, list[float]] = {batch: [] for batch in options.batches}
    for turn in range(TURNS + 1):
        for batch, speeds in found.items():
            rows, asked, start = np.arange(batch, dtype=np.int32), 0, process_time()
            while process_time() - start < SECONDS:
                backend.answer(requests, rows)
                asked += batch
            if turn:  # the first one warms up
                speeds.append(asked / (process_time() - start))
    speed = {str(batch): round(median(speeds)) for batch, speeds in found.items()}
    print(json.dumps({"schema": 1, "net": options.net.name, "positions_per_s": speed}))


if __name__ == "__main__":
    main()
