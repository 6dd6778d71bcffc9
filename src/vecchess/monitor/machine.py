"""One machine of a run: the files it writes. The first one's are those of the run itself."""

from pathlib import Path

from vecchess.monitor.boards_file import Boards
from vecchess.monitor.manifest_tail import ManifestTail
from vecchess.monitor.recorded_games import Shelf
from vecchess.monitor.status_reader import StatusFile


class Machine:
    """What machine ``number`` says, plays and has recorded."""

    def __init__(self, folder: Path, number: int) -> None:
        """Nothing is read before ``refresh``."""
        self.folder = folder
        self.status = StatusFile(folder / "status.json")
        self.manifest = ManifestTail(folder / "games")
        self.boards = Boards(folder / "live", number)
        self.shelf = Shelf(self.manifest, number)

    def refresh(self) -> bool:
        """Read what is new; returns whether there was anything."""
        return any([self.status.refresh(), self.manifest.refresh()])


def find_machines(path: Path, known: list[Machine]) -> list[Machine]:
    """The machines of the run at ``path``: those ``known``, then those that came since."""
    machines = known or [Machine(path, 0)]
    while (folder := path / "machines" / str(len(machines))).is_dir():
        machines = [*machines, Machine(folder, len(machines))]
    return machines
