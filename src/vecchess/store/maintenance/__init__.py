"""The life cycle of recorded games: ``vecchess games``.

games_folder   the folders of games of a run, what they hold, and its newest events
rewrite        replaces the shards that a manifest lists; a kill at any point loses nothing
compact_games  small shards become large ones
prune_games    the oldest games are deleted, their numbers stay recorded
verify_games   every shard against the manifest
"""
