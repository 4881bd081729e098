"""
The transports. Their common parts are written once: `codec` defines the messages on the wire, `reconnect` keeps a
connection open, and `base` combines both with a send queue, for transports that talk to a server.
"""
