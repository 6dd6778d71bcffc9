"""The command line: parses, calls the library, prints. The library does not import it.

- ``main`` the program; errors become one line and an exit code
- ``root`` the root command, and the table of all commands, loaded when asked for
- ``commands/`` a module for each command, those about runs in ``runs/``
- ``options`` options made from settings, those of several commands, panels in the help
- ``output`` facts as lines, tables and JSON: results on stdout, notes on stderr
- ``dash_beside`` the dashboard beside a command
"""
