"""``vecchess match``: two players, paired games, and the difference of their strength."""

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import MatchConfig
from vecchess.runtime.signals import OnSignal, StopSignals, exit_code, stopped_text
from vecchess_cli.options import command_app, settings_options
from vecchess_cli.output import note, notes, print_result

if TYPE_CHECKING:
    from vecchess.arena.match.play_match import MatchProgress, MatchResult

EXAMPLES = """Play two players against each other, in pairs of games with the same opening.

Players: random, greedy, minimax:2, net:FILE, net:FILE?search=gumbel&sims=64&T=4&exits=off,
net:FILE?search=puct&sims=800&c_puct=2, lc0:FILE.pb.gz?temperature=1, uci:stockfish?nodes=1000,
uci:/path/engine?tc=1+0.01, uci:stockfish?elo=1400&movetime=50&Hash=64. FILE of "net:" is a network
file, "default" or nothing for the trained network of vecchess, a preset, "material" or "constant",
that of "lc0:" a weight file of lc0.

Examples:

  vecchess match greedy random

  vecchess match "net:?search=gumbel&sims=64" uci:stockfish?nodes=1

  vecchess match "net:new?search=gumbel&sims=32" "net:old?search=gumbel&sims=32" --games 400

  vecchess match net:new.safetensors net:old.safetensors --sprt 0,20,0.05,0.05 --games 4000

  vecchess match net:my.safetensors "uci:stockfish?nodes=1" --pgn games.pgn --json

The exit code is 3 where --sprt does not accept its second hypothesis, or --least is not reached.
Settings have a variable (VECCHESS_GAMES, ...) and a key in a --config file.
Ctrl-C ends the match: complete pairs are counted.
"""
NEGATIVE = 3
PANELS = {
    "Used first": "games sprt openings seed pgn concurrency gpus config quiet json",
    "Games": "chess960 random_plies max_plies",
    "Resignation and draws": "resign_below resign_turns adjudicate_draw_within "
    "adjudicate_draw_plies syzygy",
    "Networks": "backend threads",
    "Output and help": "least",
}


@settings_options(MatchConfig, PANELS)
def match(
    flags: dict[str, Any],
    first: Annotated[str, typer.Argument(help="Player whose view the result is.")],
    second: Annotated[str, typer.Argument(help="Its opponent.")],
    least: Annotated[
        float | None,
        typer.Option(
            min=-3000, max=3000, help="Exit with 3 unless the Elo difference reaches this."
        ),
    ] = None,
    pgn: Annotated[Path | None, typer.Option(help="File that the games are added to.")] = None,
) -> int:
    """Play and print the result; the help is EXAMPLES."""
    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        result = _play(flags, stop)
        if result is None:
            note(f"{stopped_text(stop.reason)} before a pair of games was finished")
        else:
            print_result(result.to_dict(), flags["json"])
        return _exit_code(result, least, stop.reason)


app = command_app(match, EXAMPLES)


def _play(flags: dict[str, Any], stop: "StopSignals") -> "MatchResult | None":
    """None where a signal came before the first pair was finished."""
    from vecchess.arena.match.match_pgn import PgnFile
    from vecchess.arena.match.play_match import NoPairFinished
    from vecchess.arena.match.run_match import run_match
    from vecchess.config import load_config
    from vecchess.runtime.progress import ProgressDisplay

    settings = load_config(MatchConfig, flags, flags["config"])
    first, second, pgn = (flags[name] for name in ("first", "second", "pgn"))
    stop.set_action(OnSignal.RAISE)
    with ExitStack() as stack:
        file = PgnFile(pgn, (first, second)) if pgn else None
        display = stack.enter_context(ProgressDisplay(notes(), flags["quiet"]))

        def note(line: str) -> None:
            if not flags["quiet"]:
                display.print(line)

        def begin() -> None:  # before it players are opened
            if file is not None:
                stack.enter_context(file)
            stop.set_action(OnSignal.SET_FLAG)

        def on_progress(progress: "MatchProgress") -> bool:
            if file is not None:
                file.add(progress.ended)
            display.update(lambda: _line(progress))
            return bool(stop.reason)

        with suppress(NoPairFinished):
            return run_match(first, second, settings, note, on_progress, begin)
    return None


def _exit_code(result: "MatchResult | None", least: float | None, stopped_by: str) -> int:
    if result is None or stopped_by:
        return exit_code(stopped_by)
    if result.counter.sprt is not None and result.counter.sprt.state != "accepted":
        return NEGATIVE
    if least is not None:
        from vecchess.arena.ratings.score import expected_score

        return 0 if result.score.score >= expected_score(least) else NEGATIVE
    return 0


def _line(progress: "MatchProgress") -> str:
    tally = progress.counter
    parts = [f"{tally.num_ended:,} of {progress.num_games:,} games"]
    if (score := tally.score) is not None:
        parts.append(f"+{score.wins} ={score.draws} -{score.losses}")
        low, high = score.interval
        parts.append(f"{score.score:.1%} [{low:.1%}, {high:.1%}]")
    if tally.sprt is not None:
        low, high = tally.sprt.bounds
        parts.append(f"LLR {tally.sprt.llr:.2f} ({low:.2f}, {high:.2f})")
    parts.append(f"{progress.plies / max(progress.seconds, 1e-9):,.0f} plies/s")
    return " | ".join(parts)
