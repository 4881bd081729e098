"""
A connection between an entity and an agent outside, after HCS-10.

One of the two asks on the inbound topic of the other, which accepts by making a topic for both. Until then, and after
the end, neither hears the other.
"""

from typing import Final

from msgspec import Struct

from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant

#: characters of the note of a request
MAX_NOTE_LENGTH: Final = 500


class ConnectionState(ParsedEnum, description="a state of a connection"):
    #: one has asked, and the other has not answered
    REQUESTED = "requested"
    #: the answer is on its way to the ledger
    ACCEPTING = "accepting"
    OPEN = "open"
    REFUSED = "refused"
    #: the end is on its way to the ledger
    CLOSING = "closing"
    CLOSED = "closed"


class Connection(Struct, frozen=True, kw_only=True):
    number: int
    id: str
    network: str
    #: ours
    entity: str
    #: the entity of the agent outside; None until the connection is open
    peer: str | None
    peer_account: str
    #: None until it was looked up
    peer_inbound: str | None
    #: whether the agent outside has asked
    is_incoming: bool
    state: ConnectionState
    #: the number of the request in the inbound topic of who was asked; None until it is there
    request: int | None
    #: the id of the topic for both
    topic: str | None
    #: what the request says
    note: str | None
    created_at: Instant
    ended_at: Instant | None
