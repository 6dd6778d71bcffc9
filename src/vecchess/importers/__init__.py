"""Games that other programs played or labelled, as shards: PGN files, and an engine's own.

pgn_import        the games of PGN files, written to a folder of shards
opening_file      start positions from EPD, FEN and PGN files
engine_games      games of an engine against itself
label_games       positions of recorded games, labelled by an engine
network_label     the same by a network, many positions at a time
recorded_places   the games of runs, folders, shards and PGN files, one at a time
engine_pool       several engines at work on games, a process each, resumable
engine_label      what an engine says of a position: policy target and value
import_folder     the folder that finished games are written to, and the writer
text_lines        lines of text files, compressed or not, of any encoding
imported_game     a game move by move, its labels, and its conversion to ``GameRecords``
"""
