"""The ports that the program opens for HTTP, and the rules that hold on each of them.

- ``address`` the listening socket, its URL and token
- ``access_control`` refuses requests by host, method, origin and token
- ``client_limits`` closes connections that stop sending or reading, and those above a number
- ``port_server`` serves an application with these limits; ``/healthz``
- ``prometheus`` the status of a run as metrics
"""
