"""Recorded games played again and compared, bit for bit: what ``vecchess replay`` does."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.pgn import RESULTS, start_board
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.errors import ConfigError, DataError
from vecchess.replay.compare_records import GameDifference, first_difference, has_fingerprint
from vecchess.replay.replayer import GameReplayer
from vecchess.runtime.reporting import ReportLine
from vecchess.store.manifest import MANIFEST_NAME, Manifest
from vecchess.store.records import VALUE_UNIT, GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import read_shards

SCHEMA = 1


@dataclass
class ReplayProgress:
    """How far the comparison has come."""

    wanted: int
    done: int = 0
    plies: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)
    """The differences found; by number once all games are done."""


OnReplayProgress = Callable[[ReplayProgress], object]
"""Gets the progress of the comparison after every game."""


def replay_game(
    run_path: Path, number: int, resources: Mapping[str, Any], report_line: ReportLine
) -> dict[str, Any]:
    """Play game ``number`` of a run again; the moves and the verdict, ready for JSON.

    resources: see ``replayer.settings_of``. Raises ConfigError where there is no such run or game,
    DataError where it cannot be read, NetworkError where its network is missing.
    """
    start = perf_counter()
    run = existing_run(run_path)
    recorded = RecordedGames(run, report_line).one(number)
    replayer = GameReplayer(run, recorded, resources, report_line)
    ((_, now),) = replayer.pairs()
    difference = first_difference(recorded, now)
    chess960 = replayer.config.game.chess960
    return {
        "schema": SCHEMA,
        "run": str(run_path),
        "game": number,
        "net": recorded.nets[recorded.span_net[0]],
        "device": replayer.device.label,
        "identical": difference is None,
        "hashes_known": bool(has_fingerprint(recorded)[0]),
        "reasons": replayer.reasons(difference is None),
        "difference": difference and _difference_facts(difference, recorded, now, chess960),
        "result": RESULTS[int(now.result[0])],
        "termination": Termination(now.termination[0]).name.lower().replace("_", " "),
        "plies": _plies(recorded, difference, chess960),
        "seconds": round(perf_counter() - start, 3),
    }


def verify_games(
    run_path: Path,
    count: int,
    seed: int,
    resources: Mapping[str, Any],
    report_line: ReportLine,
    on_progress: OnReplayProgress,
) -> dict[str, Any]:
    """Play ``count`` games of a run again, drawn by ``seed``, all if there are no more; the facts.

    Raises as ``replay_game``.
    """
    start = perf_counter()
    run = existing_run(run_path)
    games = RecordedGames(run, report_line)
    recorded = games.some(count, seed)
    replayer = GameReplayer(run, recorded, resources, report_line)
    progress = ReplayProgress(recorded.num_games)
    on_progress(progress)
    for before, now in replayer.pairs():
        if difference := first_difference(before, now):
            facts = _difference_facts(difference, before, now, replayer.config.game.chess960)
            progress.differences.append(facts)
        progress.done += 1
        progress.plies += len(now.action)
        on_progress(progress)
    progress.differences.sort(key=lambda facts: facts["game"])
    hashed = has_fingerprint(recorded)
    return {
        "schema": SCHEMA,
        "run": str(run_path),
        "recorded": len(games.numbers),
        "games": progress.done,
        "plies": progress.plies,
        "identical": progress.done - len(progress.differences),
        "different": len(progress.differences),
        "reasons": replayer.reasons(not progress.differences),
        "hashes_unknown": int((~hashed).sum()),
        "networks": {net: len(indices) for net, indices in replayer.by_network.items()},
        "device": replayer.device.label,
        "differences": progress.differences,
        "seconds": round(perf_counter() - start, 3),
    }


def _difference_facts(
    difference: GameDifference, recorded: GameRecords, now: GameRecords, chess960: bool
) -> dict[str, Any]:
    """A difference as plain values, with the move recorded there and the one made now."""
    facts = asdict(difference)
    if difference.ply is None:
        return facts
    for name, game in (("recorded", recorded), ("now", now)):
        moves = move_texts(game.start[0], game.action[: difference.ply + 1], chess960)
        facts[f"move_{name}"] = moves[-1].san if len(moves) > difference.ply else None
    return facts


def _plies(
    recorded: GameRecords, difference: GameDifference | None, chess960: bool
) -> list[dict[str, Any]]:
    """The recorded plies, up to the one that differs: move and evaluation.

    ``value`` is the mover's expected score, None without an evaluation.
    """
    end = None if difference is None or difference.ply is None else difference.ply + 1
    plies = []
    for ply, move in enumerate(move_texts(recorded.start[0], recorded.action[:end], chess960)):
        is_evaluated = recorded.steps[ply] > 0 or recorded.visits[ply] > 0
        value = (2 * int(recorded.win[ply]) + int(recorded.draw[ply])) / (2 * VALUE_UNIT)
        plies.append(
            {
                "ply": ply,
                "uci": move.uci,
                "san": move.san,
                "value": round(value, 4) if is_evaluated else None,
                "visits": int(recorded.visits[ply]),
                "time_steps": int(recorded.steps[ply]) or int(recorded.thought[ply]),
                "same": difference is None or ply != difference.ply,
            }
        )
    return plies


class MoveText(NamedTuple):
    """One move."""

    uci: str
    san: str
    """The move with its number: "3. Nf3", "3... Nc6"."""


def move_texts(
    start: NDArray[np.uint64], actions: NDArray[np.uint16], chess960: bool
) -> list[MoveText]:
    """The moves behind ``actions`` (uint16[plies]) from the position ``start`` (uint64[8]) on.

    Castling is Chess960's where ``chess960``, or where the start needs it. The list ends with the
    first illegal move: a damaged record may hold anything.
    """
    board, moves = start_board(start, chess960), list[MoveText]()
    for action in actions.tolist():
        number = f"{board.fullmove_number}{'.' if board.turn else '...'}"
        move = action_to_chess_move(board, action)
        if move is None:
            moves.append(MoveText("", f"{number} (illegal: action {action})"))
            break
        moves.append(MoveText(board.uci(move), f"{number} {board.san(move)}"))
        board.push(move)
    return moves


class RecordedGames:
    """An index of games and shards of a run."""

    def __init__(self, run: RunFolder, report_line: ReportLine) -> None:
        """The games that the manifest lists; no shard is opened.

        Raises DataError where there are none.
        """
        self._run, self._report_line = run, report_line
        self._shards = [(shard, shard.numbers()) for shard in run.manifest().shards]
        if not self._shards:
            raise DataError(f"{run.path} has no recorded games yet")
        self.numbers = np.sort(np.concatenate([numbers for _, numbers in self._shards]))
        """int64[G], ascending: the numbers of all games."""

    def one(self, number: int) -> GameRecords:
        """Game ``number`` alone. Raises ConfigError where there is none, DataError as ``read``."""
        if number not in self.numbers:
            raise ConfigError(
                f"{self._run.path} has no game {number}: there are {len(self.numbers):,}, "
                f"from {self.numbers[0]} to {self.numbers[-1]}"
            )
        return self.read(np.array([number]))

    def some(self, count: int, seed: int) -> GameRecords:
        """``count`` games drawn at random, all of them where there are no more; see ``read``."""
        chosen = self.numbers
        if count < len(chosen):
            chosen = np.random.default_rng(seed).choice(chosen, count, replace=False)
        return self.read(chosen)

    def read(self, numbers: NDArray[np.int64]) -> GameRecords:
        """The games with ``numbers``, ascending. A shard that turns out to be damaged is left out.

        Raises DataError where none of the games can be read.
        """
        holding = [shard for shard, held in self._shards if np.isin(held, numbers).any()]
        parts = [
            records.take(np.flatnonzero(np.isin(records.numbers, numbers)))
            for records in read_shards(holding, self._report_line)
        ]
        if not parts:
            raise DataError(f"{self._run.path}: no shard with these games can be read")
        return concatenate(parts).by_number()


def existing_run(path: Path) -> RunFolder:
    """The run at ``path``. Raises ConfigError where there is none, or imported games."""
    run = RunFolder(path)
    if not run.has_begun and (path / MANIFEST_NAME).is_file() and Manifest(path).entries:
        raise ConfigError(f"{path} holds imported games: there is no network to play them again")
    return RunFolder.existing(path)
