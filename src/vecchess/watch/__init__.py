"""``vecchess watch``: a run in the terminal.

- ``app`` the full screen: pages, keys, refresh
- ``chart_box`` one chart, drawn by plotext
- ``panels`` headline, progress, bottleneck, notes, settings
- ``game_panels`` results, ends and lengths of games
- ``worker_table`` the table of workers
- ``palette`` colours
- ``plain_lines`` plain lines where there is no terminal
- ``follow`` the run to watch: the named or the newest one
"""
