"""What the tests run smaller than the pages say it: the one list of such liberties.

Page, what stands there, what is run instead. Every line must apply somewhere in its page
(``test_pages.py`` sees to that), so that nothing here outlives what it was for.
"""

from pathlib import Path

SCALE = [
    # minutes of learning
    (
        "docs/tutorial.md",
        "--eval-every 5",
        "--eval-every 2 --eval-games 4 --iterations 2 --positions-per-iter 640 --seats 16 --sims 4 "
        "--max-plies 60",
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
