"""The command line of vecchess: parses, calls the library, prints. Nothing imports it."""
