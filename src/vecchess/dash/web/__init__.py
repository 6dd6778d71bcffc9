"""The web application.

- ``asgi_app`` routes and middleware, and the JSON that pages read
- ``address`` the listening socket, its URL and token
- ``access_control`` refuses requests by host, method, origin and token
- ``topics`` topics that pages subscribe to
- ``event_hub`` publishes changes of topics as server-sent events
- ``slow_client_timeout`` closes connections that stop sending or reading
- ``assets`` the built pages
"""
