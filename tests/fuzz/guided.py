"""``python -m tests.fuzz.guided TARGET``: inputs led by the lines of code they reach, by atheris.

atheris (``pip install --group fuzz``) changes the bytecode of what is imported after it; modules
with kernels are left alone, since numba compiles bytecode.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from time import perf_counter

import atheris

ROOT = Path(__file__).parent.parent.parent / "src"
PACKAGES = ["chess", "h11", "starlette", "tomllib", "zipfile", "vecchess"]


def compiled() -> list[str]:
    """Modules of functions that numba or Triton compile."""
    files = [file for file in (ROOT / "vecchess").rglob("*.py") if _has_kernels(file)]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]


def _has_kernels(file: Path) -> bool:
    text = file.read_text()
    return "from vecchess.jit import" in text or "import numba" in text or "triton" in text


with atheris.instrument_imports(include=PACKAGES, exclude=compiled()):
    from tests.fuzz.drive import Drive, corpus_of
    from tests.fuzz.limits import dump_when_stuck, never_mind
    from tests.fuzz.mutate import MOST_BYTES, Mutator
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Never returns: libFuzzer has no end but that of the process."""
    options = parsed()
    target = TARGETS[options.target]
    drive = Drive(target, options.seed, options.save)
    mutator = Mutator(target.shape, target.words, options.seed)
    corpus = corpus_of(target)
    began = perf_counter()

    def mutate(data: bytes, most_bytes: int, seed: int) -> bytes:
        """Of two inputs one as libFuzzer makes them, one as we do."""
        if seed % 2:
            made: bytes = atheris.Mutate(data, most_bytes)
            return made
        mutator.draw.seed(seed)
        return mutator.made_of(data, mutator.draw.choice(corpus))[:most_bytes]

    with drive.reading() as read:

        def take(data: bytes) -> None:
            dump_when_stuck()
            drive.take(read, data)
            if drive.outcome.inputs >= options.inputs or perf_counter() - began > options.seconds:
                never_mind()
                drive.finish()
                print(json.dumps({"schema": 1} | drive.outcome.to_dict()), flush=True)
                os._exit(int(drive.outcome.crashes > 0))

        settings = [f"-seed={options.seed}", f"-max_len={MOST_BYTES}", "-timeout=0", "-verbosity=0"]
        settings += ["-rss_limit_mb=0", str(_written(corpus, options.corpus))]
        atheris.Setup([sys.argv[0], *settings], take, custom_mutator=mutate)
        atheris.Fuzz()


def _written(corpus: list[bytes], folder: Path) -> Path:
    """The corpus as files, for libFuzzer, which adds those that reach new lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, data in enumerate(corpus):
        (folder / f"{place:04}").write_bytes(data)
    return folder


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("target", choices=TARGETS, metavar="TARGET")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="folder for inputs that crash")
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder for inputs to go on from"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
