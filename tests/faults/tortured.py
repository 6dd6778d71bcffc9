"""The command line with a fault in it: ``python -m tests.faults.tortured selfplay ...``.

Workers are spawned, and a spawned process imports the main module of its parent: so the fault is
installed in workers as well.
"""

from tests.faults.injector import install_from_environment

install_from_environment()

if __name__ == "__main__":
    from vecchess_cli.main import main

    main()
