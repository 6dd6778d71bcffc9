"""``vecchess dash``: runs in the browser.

- ``serve`` the server, from run folders to its end
- ``answers`` JSON answers, and the status of errors
- ``web`` the application: address, access control, API, events, files of the pages
- ``views`` the values that pages show
- ``play`` the play page: games, engines, spikes
"""
