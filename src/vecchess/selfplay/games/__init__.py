"""Games of one process: movers play moves, the server asks the network.

server          the central loop around one backend, and the movers in their threads
mover           plays the games of a range of rows, moves drawn from the policy
search_mover    the same with a search for each move
search_kernel   kernel of the search mover: from decisions to the next searches
game_kernel     kernel of the mover, from answers to the next requests; parts both kernels share
resume          sets saved games up again
game_table      arrays of games in progress, and the rules they are played by
finished_games  finished games as logged, and their conversion to records
game_log        plies and results of searches, packed, in pages chained for each game
fingerprint     hash of every answer that a game's moves came from
game_ids        ids of games to start, and saved games to resume
"""
