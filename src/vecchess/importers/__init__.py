"""Games that other programs played, recorded as shards: PGN files, and an engine against itself.

pgn_import        the games of PGN files, written to a folder of shards
pgn_main_line     the next game of a PGN file: its main line, or what is wrong with it
engine_games      many games of an engine, several processes at a time, resumable
engine_selfplay   one game of an engine against itself, with random moves
import_folder     the folder they are written to: shards, manifest, how they were made
imported_game     a game move by move, and its conversion to ``store.records.GameRecords``
"""
