"""``vecchess report``: runs as one HTML file.

- ``write_report`` the file as a whole, by the template ``report.html`` and the style ``report.css``
- ``run_section`` what it shows of one run
- ``compare_runs`` facts and charts of several runs side by side
- ``facts`` facts about a run as text
- ``examples`` example games with diagrams
- ``svg`` figures of the charts, which the macros in ``charts.html`` draw
"""
