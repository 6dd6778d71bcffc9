"""Players of matches.

player_registry  players by name and settings, ``net:FILE?search=gumbel``
simple           players without a network: random, greedy, minimax
network_player   players with a network, ours or lc0's, with and without a search
uci_player       a player that is a UCI engine, its limits and options
"""
