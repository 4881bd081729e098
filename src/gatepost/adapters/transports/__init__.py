"""
The transports. What they have in common is written once: `codec` says how signals look on a wire, `outbox` takes them
from any thread without making it wait, `lifeline` keeps a connection up, and `remote` puts these together for those who
talk to a server.
"""
