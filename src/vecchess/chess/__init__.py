"""The rules of chess, in kernels: positions, moves, histories, and the network's input planes.

- ``position`` a position: eight ``uint64``, always seen by the side to move; its keys and balance
- ``movegen`` all legal moves
- ``make`` making a move
- ``rules`` when a game is over; histories of keys, for repetitions
- ``history`` the last positions of a game, for networks with history planes
- ``planes`` input words of the network; ``unpack_planes`` planes as numbers
- ``move_inputs`` what a network may read of each legal move: what it takes, what hangs afterwards
- ``action`` AlphaZero's action code, to moves and back
- ``game_arrays`` games as arrays, one a row, and the step of one by a move
- ``game_cursor`` recorded games, played through ply by ply
- ``fen``, ``pgn``, ``uci_moves`` notations, through python-chess
- ``chess960`` start positions
- ``sample`` random games and positions
- ``perft`` counts of the leaves of the tree of moves
- ``bitboards`` loads, stores, bit instructions, lookup tables and attacks
"""
