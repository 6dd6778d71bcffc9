"""``vecchess watch``: a run in the terminal.

- ``app`` the full screen: keys, refresh, the terminal's modes
- ``screen`` its pages: overview, charts, games, notes
- ``curves`` one chart, in dots
- ``plain_lines`` plain lines where there is no terminal
- ``follow`` the run to watch: the named or the newest one
"""
