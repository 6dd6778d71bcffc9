"""What the tests run smaller than the pages say it: the one list of such liberties.

Page, what stands there, what is run instead. Every line must apply somewhere in its page
(``test_pages.py`` sees to that), so that nothing here outlives what it was for.
"""

from pathlib import Path

SCALE = [
    ("docs/tutorial.md", "--games 600 --random-move-share", "--games 3 --random-move-share"),
]


def scaled(page: Path, command: str) -> str:
    """``command`` of ``page`` as the tests run it."""
    for place, said, done in SCALE:
        if page.as_posix().endswith(place):
            command = command.replace(said, done)
    return command
