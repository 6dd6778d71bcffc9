"""Lists the networks of the runs."""

from contextlib import suppress
from pathlib import Path

from vecchess.dash.views.run_reader import RunReader


def networks(reader: RunReader) -> dict[str, Path]:
    """Network files by run and name, the newest first; asked in the reader's thread."""
    found = []
    for run, view in reader.registry.views().items():
        for place, path in enumerate(view.networks()):
            with suppress(OSError):  # deleted meanwhile
                found.append((path.stat().st_mtime, place, f"{run}/{path.stem}", path))
    return {name: path for _, _, name, path in sorted(found, reverse=True)}
