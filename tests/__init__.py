import gc
import os
import sys

if "pytest" in sys.modules:  # not in processes that tests start, nor in ``python -m tests.fuzz``
    # Files are compiled once, not in each of some hundred processes, where a container forbids it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Nearly all that imports make stays. ``conftest.py`` enables it once all tests are collected.
    gc.disable()
