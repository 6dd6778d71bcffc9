"""``vecchess dash``: runs in the browser.

- ``serve`` the server, from run folders to its end
- ``json_response`` JSON answers
- ``web`` the application: address, access control, API, events, files of the pages
- ``views`` the values that pages show
- ``play`` the play page: games, engines, spikes
"""
