"""The plugs: what fits the sockets. Only `app` and `testing` know them by name."""
