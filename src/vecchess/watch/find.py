"""Which run people mean when they name none: the one that was begun last."""

from pathlib import Path

from vecchess.store.run_folder import RunFolder

RUNS = Path("runs")
"""Where runs are written unless somebody says otherwise."""


def newest_run(runs: Path = RUNS) -> Path | None:
    """The run in ``runs`` whose settings were written last; None where there is none."""
    found: list[tuple[float, Path]] = []
    try:
        for folder in runs.iterdir():
            config = RunFolder(folder).config
            if config.is_file():
                found.append((config.stat().st_mtime, folder))
    except OSError:
        pass
    return max(found, default=(0.0, None))[1]
