"""Bitboards: 64 squares in a word, and the instructions and tables that work on them.

- ``bits`` loads and stores at an address, and bit instructions
- ``rays`` eight rays at once, as vectors: checks, pins, attacks of sliders
- ``attacks`` attacked squares, and the legality of en passant
- ``move_lists`` a bitboard of target squares written as a list of moves
- ``hash`` the hash of position keys
- ``directions`` the 73 move planes of the action code
- ``tables`` all lookup tables in one block of memory
"""
