"""The values that pages show.

- ``run_reader`` finds, names and reads runs in a thread of its own
- ``run_values`` runs and measurements as plain values
- ``run_facts`` facts about a run in words, and settings that are not the defaults
- ``example_games`` a few recorded games worth a look
- ``game_values`` one game, and the list of recorded games
- ``board_grid`` the boards of games in progress
"""
