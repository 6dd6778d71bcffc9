"""``vecchess dash`` and ``vecchess report``: runs in the browser, live or as a file.

- ``serve`` the server, from run folders to its end
- ``write_report`` ``vecchess report``: the pages and their answers in one file
- ``answers`` JSON answers, and the status of errors
- ``web`` the application: API, events, files of the pages
- ``views`` the values that pages show
- ``play`` the play page: games, engines, spikes
"""
