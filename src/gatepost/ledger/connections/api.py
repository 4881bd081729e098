"""Connections of entities with agents outside, on a public ledger."""

from typing import Annotated

from msgspec import Meta

from gatepost.errors import Conflict, NotFound
from gatepost.ledger.connections.connection import MAX_NOTE_LENGTH, Connection, ConnectionState
from gatepost.operations.access import ActAs, Administrator, Anybody
from gatepost.operations.fields import Actor, After, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write

ConnectionId = Annotated[str, Meta(examples=["con_01a1e0dff6957124bd721ac983205d33"])]


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


class ConnectionPage(Page[ConnectionView]):
    pass


@read("GET /api/ledger/connections", access=Anybody(), errors=(NotFound,))
class ListConnections(Request[ConnectionPage]):
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


@write("POST /api/ledger/connections/{id}/accept", access=Administrator(), lane="{id}", errors=(NotFound, Conflict))
class AcceptConnection(Request[ConnectionView]):
    """Accept what an agent outside has asked for. The connection is open when its topic is on the ledger."""

    id: ConnectionId


@write("POST /api/ledger/connections/{id}/refuse", access=Administrator(), lane="{id}", errors=(NotFound, Conflict))
class RefuseConnection(Request[ConnectionView]):
    """Refuse what an agent outside has asked for. Nothing is posted."""

    id: ConnectionId


@write("POST /api/ledger/connections/{id}/close", access=Administrator(), lane="{id}", errors=(NotFound, Conflict))
class CloseConnection(Request[ConnectionView]):
    """End a connection, or withdraw a request that was not answered."""

    id: ConnectionId
