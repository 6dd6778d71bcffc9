"""What the tests run smaller than the pages say it: the one list of such liberties.

Page, what stands there, what is run instead. Every line must apply somewhere in its page
(``test_pages.py`` sees to that), so that nothing here outlives what it was for.
"""

from pathlib import Path

SCALE = [
    # 10 minutes of Stockfish, and 43 of learning
    ("docs/tutorial.md", "--games 6000 --nodes 500", "--games 6 --nodes 50"),
    (
        "docs/tutorial.md",
        "--net tiny --gpus cpu --run-dir runs/pupil",
        "--net tiny --gpus cpu --run-dir runs/pupil --iterations 3 --epochs 1 --eval-games 10 "
        "--batch-size 64",
    ),
    (
        "docs/tutorial.md",
        "runs/pupil/nets/pupil-s415744-d565975.safetensors",
        "$(ls -t runs/pupil/nets/pupil-s*.safetensors | head -1)",
    ),
    # what searches
    ("docs/tutorial.md", 'sims=16" greedy --games 100', 'sims=4" greedy --games 10'),
    ("docs/tutorial.md", "--sims 16 --games 32", "--sims 4 --games 12 --max-plies 40"),
    # 64 games to the end
    ("docs/start.md", "selfplay --gpus cpu", "selfplay --games 20 --max-plies 60 --gpus cpu"),
]


def scaled(page: Path, command: str) -> str:
    """``command`` of ``page`` as the tests run it."""
    for place, said, done in SCALE:
        if page.as_posix().endswith(place):
            command = command.replace(said, done)
    return command
