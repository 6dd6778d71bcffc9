"""The command line with a fault in it: ``python -m vecchess_cli.tortured selfplay ...``.

Workers are spawned, and a spawned process imports what its parent was started with: so they heed
the fault as well.
"""

from vecchess.torture.injector import install_from_environment

install_from_environment()

if __name__ == "__main__":
    from vecchess_cli.main import main

    main()
