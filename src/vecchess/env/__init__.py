"""Games as arrays, for loops of the user's own.

- ``chess_env`` ``ChessEnv``: thousands of games, stepped by actions
- ``functional`` ``FunctionalEnv``: the same as pgx has it, a state in and a state out
- ``gymnasium_adapter`` one game or many against a player, for Gymnasium
- ``pettingzoo_adapter`` one game with an agent on each side, for PettingZoo
- ``versus`` games against a player of the arena
- ``row_kernels`` the kernels, and their runs on threads
"""

from vecchess.chess.game_arrays import Games
from vecchess.env.chess_env import STAY, ChessEnv, EnvStep
from vecchess.env.functional import EnvState, FunctionalEnv

__all__ = ["STAY", "ChessEnv", "EnvState", "EnvStep", "FunctionalEnv", "Games"]
