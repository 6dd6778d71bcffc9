"""A file that TensorBoard shows, each point written at once.

TensorBoard's own writer has a thread that holds points back, and on a full disk it dies with a
traceback. Nobody waits for these few points, so they need no thread.
"""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from vecchess.runtime.atomic_write import path_write_error

FILE_VERSION = "brain.Event:2"


class TensorboardFile:
    """One file of events in a folder; every start of a run adds another."""

    def __init__(self, folder: Path, purge_step: int | None) -> None:
        """TensorBoard shows nothing older from ``purge_step`` on; None: it keeps all.

        Raises ImportError where TensorBoard is not installed, DataError where the disk refuses.
        """
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = Event, Summary
        seconds, rest = divmod(time.time_ns(), 10**9)
        name = f"events.out.tfevents.{seconds:010d}.{socket.gethostname()}.{os.getpid()}.{rest:09d}"
        self.path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb")
        except OSError as error:
            raise path_write_error(self.path, error) from None
        self._records = RecordWriter(self._file)
        self._write(file_version=FILE_VERSION)
        if purge_step is not None:
            self._write(step=purge_step, session_log=SessionLog(status=SessionLog.START))

    def add(self, points: dict[str, float], step: int) -> None:
        """A point for each tag. Raises DataError where the disk refuses."""
        values = [self._summary.Value(tag=tag, simple_value=y) for tag, y in points.items()]
        if values:
            self._write(step=step, summary=self._summary(value=values))

    def close(self) -> None:
        """Nothing is held back, but for what the disk refused."""
        with suppress(OSError):
            self._file.close()

    def _write(self, **fields: object) -> None:
        event = self._event(wall_time=time.time(), **fields)
        try:
            self._records.write(event.SerializeToString())
            self._file.flush()
        except OSError as error:
            raise path_write_error(self.path, error) from None
