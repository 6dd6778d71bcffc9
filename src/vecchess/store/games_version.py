"""The number of what decides a game besides its settings, network, seed and number."""

GAMES_VERSION = 1
"""Raise it when a change of rules, random numbers, search or inference changes a bit of any game:
a run that began under another number is not resumed, and a replay says why its games differ.
``tests/selfplay/test_games_version.py`` plays some games, and fails until ``GAMES_DIGEST`` is what
it prints. A faster way to the same bits keeps both. Decision 218."""
GAMES_DIGEST = "40a9ce3799a8ec81f711076191febe9599a0a1bf7caefe3f96c27d02f4d58cf5"
"""SHA-256 of these games' records under ``GAMES_VERSION``."""
