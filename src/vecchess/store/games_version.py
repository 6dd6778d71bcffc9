"""The number of what decides a game besides its settings, network, seed and number."""

GAMES_VERSION = 2
"""Raise it when a change of rules, random numbers, search or inference changes a bit of any game:
a run that began under another number is not resumed, and a replay says why its games differ.
``tests/selfplay/test_games_version.py`` plays some games, and fails until ``GAMES_DIGEST`` is what
it prints. A faster way to the same bits keeps both. Decision 218."""
GAMES_DIGEST = "b9d0212f8e072046f9f669d2c0129949a1e34b0bf56f9b07544c8acde33f0ff9"
"""SHA-256 of these games' records under ``GAMES_VERSION``."""
