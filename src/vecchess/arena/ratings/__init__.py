"""Scores and ratings.

score            the score of a match, with its interval
sprt             a sequential probability ratio test on pairs of games
pair_results     results of pairs of players
ratings          Elo ratings of all players at once
bradley_terry    the model behind the ratings
draw_model       the share of draws by difference in strength
"""
