"""``vecchess report``: runs as one HTML file.

- ``write_report`` the file as a whole
- ``parts`` the sections on one run
- ``compare_runs`` facts and charts of several runs side by side
- ``facts`` facts about a run as text
- ``examples`` example games with diagrams
- ``svg`` line charts, bars and heat maps as SVG
"""
