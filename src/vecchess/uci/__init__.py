"""The UCI engine.

- ``run_uci`` a conversation over two file descriptors, from settings to its end
- ``session`` the commands of a GUI, and the state of a conversation
- ``parse_command`` the lines of a GUI as values
- ``engine_options`` the options of a GUI
- ``searcher`` the thread that owns network and trees, and its tasks
- ``go_command``, ``time_manager`` one search from ``go`` to ``bestmove``, and its time
- ``tasks`` what the others write: leaves, the evaluation of a position, bench
- ``spikes`` what the neurons do at a position, for the play page
- ``engine_state`` network, cache, tablebases and tree, opened as the options say
- ``search_snapshot`` the present state of a search, and its lines
- ``uci_board`` the game of ``position``, and moves between both notations
"""
