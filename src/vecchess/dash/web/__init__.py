"""The web application.

- ``asgi_app`` routes and middleware, and the JSON that pages read
- ``topics`` topics that pages subscribe to
- ``event_hub`` publishes changes of topics as server-sent events
- ``assets`` the built pages
"""
