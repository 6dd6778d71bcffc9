"""Answers the same questions again and again with one network: for programs that watch the GPU.

    python -m bench.gpu.steady_load --device cuda:0 --net FILE --slots 4096 --seconds 2

Prints a JSON line with the speed and a digest of the answers. With ``--waits`` it prints "ready"
first, and starts when a line comes on stdin; with ``--every-tile`` all tiles take turns.
"""

import argparse
import json
import sys
from pathlib import Path

from bench.gpu.equality import digest
from bench.gpu.setting import Setting, TileTooLargeError, answers, feed, warmed

from vecchess.inference.cuda.tiles import Tile
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.integer.net_file import load_net


def main() -> None:
    """Open, warm up, work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", required=True)
    parser.add_argument("--net", type=Path, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True, help="a tile")
    parser.add_argument("--waits", action="store_true")
    parser.add_argument("--every-tile", action="store_true")
    options = parser.parse_args()
    setting = Setting(options.device, False, (), options.net.parent, options.net)
    net = load_net(options.net)
    tiles: list[Tile | None] = [*setting.tiles(net)] if options.every_tile else [None]
    questions = setting.questions(2 * options.slots, net.config.num_planes)
    for tile in tiles:
        try:
            backend = setting.open(net, ExitRule.from_metadata(net.exit_rule), options.slots, tile)
        except TileTooLargeError:
            continue
        facts = {"digest": digest(answers(backend, questions))}
        engine = warmed(backend, questions)
        if options.waits:
            print("ready", flush=True)
            sys.stdin.readline()
        fed = feed(engine, options.seconds)
        print(json.dumps(facts | {"positions_per_s": fed.positions / fed.seconds}), flush=True)
        del engine, backend


if __name__ == "__main__":
    main()
