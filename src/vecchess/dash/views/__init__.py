"""The values that pages show.

- ``run_reader`` finds, names and reads runs in a thread of its own
- ``run_values`` runs and measurements as plain values
- ``game_values`` one game, and the list of recorded games
- ``board_grid`` the boards of games in progress
"""
