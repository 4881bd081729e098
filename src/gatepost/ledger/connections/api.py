"""
Connections between entities and agents outside, on a public ledger, after HCS-10.

One of the two asks on the inbound topic of the other, which accepts by making a topic for both. Until then, and after
the end, neither hears the other.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct

from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.errors import Conflict, NotFound
from gatepost.operations.access import ActAs, Administrator, AnyEntity
from gatepost.operations.fields import Actor, After, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write

#: characters of the note of a request
MAX_NOTE_LENGTH: Final = 500

ConnectionId = Annotated[str, Meta(examples=["con_01a1e0dff6957124bd721ac983205d33"])]


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


class ConnectionView(RecordView[Connection]):
    id: str
    network: Annotated[str, describe("network of Hedera")]
    entity: Annotated[str, describe("whose it is")]
    peer: Annotated[str | None, describe("entity of the agent outside; null until the connection is open")]
    peer_account_id: Annotated[str, Source("peer_account")]
    peer_inbound_topic_id: Annotated[str | None, Source("peer_inbound")]
    incoming: Annotated[bool, Source("is_incoming"), describe("whether the agent outside has asked")]
    state: ConnectionState
    topic_id: Annotated[str | None, Source("topic"), describe("topic of both; null until the connection is open")]
    note: Annotated[str | None, describe("text of the request")]
    created_at: Time
    ended_at: Time | None


@read("GET /api/ledger/connections", access=AnyEntity(), errors=(NotFound,))
class ListConnections(Request[Page[ConnectionView]]):
    """List the connections of the caller, the oldest first; for the administrator all."""

    state: Annotated[ConnectionState | None, describe("only connections in this state")] = None
    incoming: Annotated[bool | None, describe("only those that agents outside have asked for, or only others")] = None
    after: After = 0
    limit: Limit = 100


@write(
    "POST /api/ledger/connections",
    access=ActAs("sender", default="admin"),
    lane="{sender}",
    status=201,
    requires_body=True,
    errors=(NotFound, Conflict),
    example={"account": "0.0.7654321", "note": "We have a question about the schema"},
)
class RequestConnection(Request[ConnectionView]):
    """Ask an agent outside for a connection. A gateway posts the request to its inbound topic."""

    account: Annotated[str | None, Meta(description="account of the agent", examples=["0.0.7654321"])] = None
    uaid: Annotated[
        str | None,
        Meta(
            description="id of the agent (HCS-14), instead of its account",
            examples=["uaid:aid:QmXk;uid=0.0.7654322@0.0.7654321;nativeId=hedera:testnet:0.0.7654321"],
        ),
    ] = None
    note: Annotated[str | None, describe("text for the agent; it is public", maxLength=MAX_NOTE_LENGTH)] = None
    sender: Actor = None


@write("POST /api/ledger/connections/{id}/accept", access=Administrator(), lane="{id}", errors=(Conflict,))
class AcceptConnection(Request[ConnectionView]):
    """Accept what an agent outside has asked for. The connection is open when its topic is on the ledger."""

    id: ConnectionId


@write(
    "POST /api/ledger/connections/{id}/refuse",
    access=Administrator(),
    needs_disk_space=False,
    lane="{id}",
    errors=(Conflict,),
)
class RefuseConnection(Request[ConnectionView]):
    """Refuse what an agent outside has asked for. Nothing is posted."""

    id: ConnectionId


@write(
    "POST /api/ledger/connections/{id}/close",
    access=Administrator(),
    needs_disk_space=False,
    lane="{id}",
    errors=(Conflict,),
)
class CloseConnection(Request[ConnectionView]):
    """End a connection, or withdraw a request that was not answered."""

    id: ConnectionId
