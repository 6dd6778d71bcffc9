"""Games as arrays, for loops of the user's own.

- ``chess_env`` ``ChessEnv``: thousands of games, stepped by actions
- ``functional`` ``FunctionalEnv``: the same as pgx has it, a state in and a state out
- ``gymnasium_faces`` one game or many against a player, for Gymnasium
- ``pettingzoo_faces`` one game with an agent on each side, for PettingZoo
- ``versus`` games against a player of the arena
- ``env_starts`` where games begin
- ``game_rows`` the arrays, and the record through which kernels reach them
- ``row_kernels`` the kernels; ``row_runner`` runs them on threads
"""

from vecchess.env.chess_env import STAY, ChessEnv, EnvStep
from vecchess.env.functional import EnvState, FunctionalEnv
from vecchess.env.game_rows import GameRows

__all__ = ["STAY", "ChessEnv", "EnvState", "EnvStep", "FunctionalEnv", "GameRows"]
