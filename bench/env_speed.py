"""Random legal steps/s of ``vecchess.env``, and of other environments where they are installed.

    python bench/env_speed.py                           4,096 games, one thread
    python bench/env_speed.py --games 1024 --threads 2 --peers open_spiel

A step is a random legal action and the move it makes in every game, with auto-reset. Without
observations, with packed planes, with 25 planes unpacked into memory of numpy, and with masks.
Peers play random legal moves too, with observations where their name says so. Kinds take turns;
the fastest round of each counts, by wall clock and by processor time of the calling thread, which
a busy machine changes less. Prints one JSON object.
"""

import argparse
import json
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from vecchess.chess.planes import NUM_PLANES
from vecchess.env import ChessEnv

SCHEMA = 1
Kind = Callable[[], int]
"""Plays for a moment; returns the steps made."""


def main() -> None:
    """Parse the command line, measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=4096, help="games at a time")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50, help="of all games, a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", nargs="*", default=["open_spiel", "pgx"])
    given = parser.parse_args()
    kinds = own_kinds(given.games, given.threads, given.steps)
    kinds |= peer_kinds(given.peers, given.games)
    print(json.dumps(measure(kinds, given.rounds) | {"games": given.games}))


def measure(kinds: dict[str, Kind], rounds: int) -> dict[str, Any]:
    """Steps/s of each kind in its fastest round, after one that compiles."""
    wall = dict.fromkeys(kinds, 0.0)
    processor = dict.fromkeys(kinds, 0.0)
    for number in range(rounds + 1):
        for name, play in kinds.items():
            began, busy = perf_counter(), thread_time()
            steps = play()
            elapsed, used = perf_counter() - began, thread_time() - busy
            if number:
                wall[name] = max(wall[name], steps / elapsed)
                processor[name] = max(processor[name], steps / used)
    return {
        "schema": SCHEMA,
        "steps_per_s": {name: round(rate) for name, rate in wall.items()},
        "steps_per_processor_s": {name: round(rate) for name, rate in processor.items()},
    }


def own_kinds(games: int, threads: int, steps: int) -> dict[str, Kind]:
    """``ChessEnv`` with what may be observed."""
    numbers = {
        f"planes {kind.__name__}": {"observations": np.zeros((games, NUM_PLANES, 8, 8), kind)}
        for kind in (np.uint8, np.float32)
    }
    settings: dict[str, dict[str, Any]] = {
        "no observations": {},
        "bitboards": {"observations": "bitboards"},
        **numbers,
        "masks": {"masks": True},
    }
    return {
        name: _stepper(ChessEnv(games, threads=threads, **given), steps)
        for name, given in settings.items()
    }


def _stepper(env: ChessEnv, steps: int) -> Kind:
    def play() -> int:
        for _ in range(steps):
            env.step(env.random_actions())
        return steps * env.num_games

    return play


def peer_kinds(names: list[str], games: int) -> dict[str, Kind]:
    """The peers of ``names`` that are installed."""
    makers = {"open_spiel": ("pyspiel", _open_spiel), "pgx": ("pgx", lambda: _pgx(games))}
    found: dict[str, Kind] = {}
    for name in names:
        module, make = makers[name]
        if find_spec(module) is not None:
            found |= make()
    return found


def _open_spiel() -> dict[str, Kind]:
    """One game at a time, as open_spiel has it."""
    import pyspiel

    game, random = pyspiel.load_game("chess"), np.random.default_rng(0)

    def play(has_tensor: bool) -> int:
        state, steps = game.new_initial_state(), 2000
        for _ in range(steps):
            legal = state.legal_actions()
            state.apply_action(legal[random.integers(len(legal))])
            if state.is_terminal():
                state = game.new_initial_state()
            if has_tensor:
                state.observation_tensor()
        return steps

    return {
        "open_spiel": lambda: play(False),
        "open_spiel with tensor": lambda: play(True),
    }


def _pgx(games: int) -> dict[str, Kind]:
    """All games in one compiled step, as pgx has it; its observation is part of the state."""
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env, steps = pgx.make("chess"), 2
    init = jax.jit(jax.vmap(env.init))
    step = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def step_randomly(state: Any, key: Any) -> Any:
        draw, reset = jax.random.split(key)
        logits = jax.numpy.log(state.legal_action_mask.astype(jax.numpy.float32))
        return step(state, jax.random.categorical(draw, logits), jax.random.split(reset, games))

    held = [init(jax.random.split(jax.random.PRNGKey(0), games))]

    def play() -> int:
        for number in range(steps):
            held[0] = step_randomly(held[0], jax.random.PRNGKey(number))
        jax.block_until_ready(held[0].rewards)
        return steps * games

    return {"pgx with observation": play}


if __name__ == "__main__":
    main()
