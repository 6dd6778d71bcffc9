"""Settings of the pages, for Sphinx: ``make docs``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src"), str(HERE.parent / "cli")]

from vecchess import __version__  # noqa: E402

project = "vecchess"
author = copyright = "The vecchess developers"
version = release = __version__

extensions = ["myst_parser", "sphinx_copybutton", "vecchess_help"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext"]

html_theme = "furo"
html_title = f"vecchess {__version__}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
copybutton_selector = "div.highlight-console pre, div.highlight-python pre, div.highlight-toml pre"
