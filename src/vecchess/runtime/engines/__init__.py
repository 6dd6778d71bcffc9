"""UCI engines as child processes.

uci_client    an engine: found, started, asked for a move, ended
engine_pipe   its process, what is written to it, and its lines
uci_info      what it says of a position
"""
