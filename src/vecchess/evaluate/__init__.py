"""How strong networks are: matches against a ladder of opponents, rated together in Elo.

run_eval             an evaluation: participants, all their pairings, the report
participant          a player that takes part: name, spelling, identity
pairing              two participants, all that decides their games, and the result
result_cache         results on disk, so that no pairing is played twice
evaluation           the report: results, ratings, warnings; written and read as JSON
ladder               the opponents, from random up to Stockfish
checkpoints          the networks of a run, in order, and what they cost
checkpoint_ratings   a run's networks rated on one scale: a curve
compare_evaluations  several reports joined into one rating
report_file          the JSON file of a report
eval_progress        the display while an evaluation runs
calibrate_exits      ``vecchess calibrate``: finds a network's exit rule on recorded games
"""
