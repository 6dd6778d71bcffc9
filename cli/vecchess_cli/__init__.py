"""The command line: parses, calls the library, prints. The library does not import it.

- ``main`` the program; errors become one line and an exit code
- ``root`` the root command, and the table of all commands, loaded when asked for
- ``commands/`` a module for each command, those about runs in ``runs/``
- ``tables/`` texts and tables of some of them
- ``rate_players`` what ``vecchess eval`` does
- ``option_panels``, ``settings_options`` help in panels; options made from settings
- ``shared_options``, ``output`` options of several commands; results on stdout, notes on stderr
- ``dash_beside`` the dashboard beside a command
"""
