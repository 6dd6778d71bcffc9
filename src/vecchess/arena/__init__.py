"""Matches between players, and ratings of their results.

player_protocol  the interface of players, move requests and replies
match_game       one finished game of a match, and why it ended
players/         random, greedy, minimax, networks, networks of lc0, UCI engines, plug-ins
match/           openings, scheduling, adjudication and counting of games
ratings/         scores, sequential tests and Elo ratings
"""
