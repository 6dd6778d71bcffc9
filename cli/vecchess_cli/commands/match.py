"""``vecchess match``: two players, paired games, and what the result says of their strength."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess_cli.output import Json, people, print_json
from vecchess_cli.shared_options import Backend, Chess960, Config, Openings, Quiet, Seed, Syzygy

if TYPE_CHECKING:
    from rich.console import Console

    from vecchess.arena.match.play_match import MatchProgress, MatchResult
    from vecchess.runtime.signals import StopSignals

EXAMPLES = """Play two players against each other, in pairs of games with the same opening.

Players: random, greedy, minimax:2, net:FILE, net:FILE?search=gumbel&sims=64&T=4&exits=off,
net:FILE?search=puct&sims=800&c_puct=2, uci:stockfish?nodes=1000, uci:/path/engine?tc=1+0.01,
uci:stockfish?elo=1400&movetime=50&Hash=64. FILE is a network file, a preset, "material" or
"constant".

Examples:

  vecchess match greedy random

  vecchess match "net:new?search=gumbel&sims=32" "net:old?search=gumbel&sims=32" --games 400

  vecchess match net:new.safetensors net:old.safetensors --sprt 0,20,0.05,0.05 --games 4000

  vecchess match net:my.safetensors "uci:stockfish?nodes=1" --pgn games.pgn --json

The exit code is 3 where --sprt does not accept its second hypothesis, or --least is not reached.
Settings have a variable (VECCHESS_GAMES, ...) and a key in a --config file.
Ctrl-C ends the match: the complete pairs are counted.
"""
NEGATIVE = 3
LINE_INTERVAL_S, LIVE_INTERVAL_S = 10.0, 0.2


def match(
    first: Annotated[str, typer.Argument(help="Player whose view the result is.")],
    second: Annotated[str, typer.Argument(help="Its opponent.")],
    games: Annotated[int | None, typer.Option(help="Games at most, an even number. [100]")] = None,
    sprt: Annotated[
        str | None, typer.Option(help='Test "elo0,elo1,alpha,beta", and stop when it decides.')
    ] = None,
    least: Annotated[
        float | None,
        typer.Option(
            min=-3000, max=3000, help="Exit with 3 unless the Elo difference reaches this."
        ),
    ] = None,
    openings: Openings = None,
    chess960: Chess960 = None,
    random_plies: Annotated[
        int | None, typer.Option(help="Random plies after --openings, or instead of the book. [0]")
    ] = None,
    seed: Seed = None,
    pgn: Annotated[Path | None, typer.Option(help="File that the games are added to.")] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(help="Games at a time, and processes of an engine; 0 chooses. [0]"),
    ] = None,
    max_plies: Annotated[int | None, typer.Option(help="Draw a game at this length. [512]")] = None,
    resign_below: Annotated[
        float | None, typer.Option(help="Lost for who expects less than this; 0 never. [0]")
    ] = None,
    resign_turns: Annotated[int | None, typer.Option(help="Own turns in a row. [3]")] = None,
    adjudicate_draw_within: Annotated[
        float | None, typer.Option(help="Drawn while both see |win - loss| within; 0 never. [0]")
    ] = None,
    adjudicate_draw_plies: Annotated[int | None, typer.Option(help="Plies in a row. [40]")] = None,
    syzygy: Syzygy = None,
    gpus: Annotated[
        str | None, typer.Option(help='Device of networks, as for "vecchess selfplay". [auto]')
    ] = None,
    backend: Backend = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the CPU backend, per network; 0 chooses. [0]")
    ] = None,
    config: Config = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """See EXAMPLES."""
    flags: dict[str, Any] = dict(locals())
    from vecchess.runtime.signals import OnSignal, StopSignals, stopped_text

    with StopSignals(interrupts=True, on_signal=OnSignal.EXIT) as stop:
        result = _play(flags, stop)
        if result is None:
            people().print(f"{stopped_text(stop.reason)} before two games of an opening were over")
        else:
            _print_result(result, people())
            if json:
                print_json(result.to_dict())
        return _exit_code(result, least, stop.reason)


match.__doc__ = EXAMPLES


def _play(flags: dict[str, Any], stop: "StopSignals") -> "MatchResult | None":
    """None where somebody asked to stop before there was anything to tell."""
    from vecchess.arena.match.match_pgn import PgnFile
    from vecchess.arena.match.play_match import NoPairFinished
    from vecchess.arena.match.run_match import run_match
    from vecchess.config import MatchConfig, load_config
    from vecchess.runtime.signals import OnSignal

    settings, console = load_config(MatchConfig, flags, flags["config"]), people()
    first, second, quiet, pgn = (flags[name] for name in ("first", "second", "quiet", "pgn"))

    def say(line: str) -> None:
        if not quiet:
            console.print(line, markup=False)

    stop.set_action(OnSignal.RAISE)
    with ExitStack() as stack:
        file = PgnFile(pgn, (first, second)) if pgn else None
        show = stack.enter_context(_shown(console, quiet))

        def begin() -> None:  # before it players are opened
            if file is not None:
                stack.enter_context(file)
            stop.set_action(OnSignal.SET_FLAG)

        def look(standing: "MatchProgress") -> bool:
            if file is not None:
                file.add(standing.ended)
            show(standing)
            return bool(stop.reason)

        with suppress(NoPairFinished):
            return run_match(first, second, settings, say, look, begin)
    return None


def _exit_code(result: "MatchResult | None", least: float | None, stopped_by: str) -> int:
    if result is None or stopped_by:
        from vecchess.runtime.signals import exit_code

        return exit_code(stopped_by)
    if result.counter.sprt is not None and result.counter.sprt.state != "accepted":
        return NEGATIVE
    if least is not None:
        from vecchess.arena.ratings.score import expected_score

        return 0 if result.score.score >= expected_score(least) else NEGATIVE
    return 0


@contextmanager
def _shown(console: "Console", quiet: bool) -> "Iterator[Callable[[MatchProgress], None]]":
    """What shows where the match stands: in place on a terminal, a line now and then elsewhere."""
    from rich.live import Live

    if quiet:
        yield lambda standing: None
        return
    is_live = console.is_terminal and not console.is_dumb_terminal
    due = monotonic() + (0.0 if is_live else LINE_INTERVAL_S)

    def show(standing: "MatchProgress") -> None:
        nonlocal due
        if monotonic() < due:
            return
        due = monotonic() + (LIVE_INTERVAL_S if is_live else LINE_INTERVAL_S)
        if is_live:
            live.update(_line(standing), refresh=True)
        else:
            console.print(_line(standing), markup=False)

    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield show


def _line(standing: "MatchProgress") -> str:
    tally = standing.counter
    parts = [f"{tally.num_ended:,} of {standing.num_games:,} games"]
    if (score := tally.score) is not None:
        parts.append(f"+{score.wins} ={score.draws} -{score.losses}")
        parts.append(f"{score.score:.1%}")
        parts.append(f"Elo {_elo(score.to_dict())}")
    if tally.sprt is not None:
        low, high = tally.sprt.bounds
        parts.append(f"LLR {tally.sprt.llr:.2f} ({low:.2f}, {high:.2f})")
    parts.append(f"{standing.plies / max(standing.seconds, 1e-9):,.0f} plies/s")
    return " | ".join(parts)


def _elo(facts: dict[str, Any]) -> str:
    def text(value: float | None, endless: str) -> str:
        return endless if value is None else f"{value:+.0f}"

    low, high = text(facts["elo_low"], "-inf"), text(facts["elo_high"], "+inf")
    best = text(facts["elo"], "+inf" if facts["score"] > 0.5 else "-inf")
    return f"{best} [{low}, {high}]"


def _print_result(result: "MatchResult", console: "Console") -> None:
    from vecchess_cli.output import print_table

    facts = result.to_dict()
    rows = [
        ("first", facts["players"][0]),
        ("second", facts["players"][1]),
        ("games", f"{facts['games']:,}, {facts['distinct_games']:,} distinct, "
                  f"{facts['mean_plies']:.0f} plies each"),
        ("first won, drew, lost", f"{facts['wins']}, {facts['draws']}, {facts['losses']}"),
        ("score", f"{facts['score']:.1%} [{facts['score_interval'][0]:.1%}, "
                  f"{facts['score_interval'][1]:.1%}]"),
        ("Elo difference", f"{_elo(facts)}, likelihood of superiority {facts['los']:.1%}"),
        ("pairs 0 ½ 1 1½ 2", " ".join(map(str, facts["ptnml"]))),
        ("ended by", ", ".join(f"{count} {name.replace('_', ' ')}"
                               for name, count in facts["terminations"].items())),
        ("played in", f"{facts['seconds']:.1f} s, {facts['plies_per_s']:,.0f} plies/s"),
    ]  # fmt: skip
    for forfeit in facts["forfeits"][:5]:
        why = forfeit["why"].replace("_", " ")
        rows.append(("forfeit", f"game {forfeit['game']}: the {forfeit['loser']}, {why}"))
    if "sprt" in facts:
        test = facts["sprt"]
        rows.append(("test", f"{test['state']}, LLR {test['llr']} within {test['bounds']}"))
    print_table("", rows)
