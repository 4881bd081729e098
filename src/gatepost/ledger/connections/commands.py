"""The verbs of `gatepost ledger` about connections with agents outside."""

from functools import partial
from typing import Annotated, Any, Final

import msgspec
from msgspec.structs import replace

from gatepost.cli import output
from gatepost.cli.command import TableRow
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.core import ids
from gatepost.core.quoting import quote
from gatepost.ledger.connections import api
from gatepost.ledger.topic import LedgerId
from gatepost.ledger.topic_commands import ledger
from gatepost.operations.operation import Request
from gatepost.settings import Configuration

_REQUEST: Final = argument("ID", "the id of a request", parse=partial(ids.check, "con"))
_CONNECTION: Final = argument("ID", "the id of a connection", parse=partial(ids.check, "con"))
_UAID: Final = "uaid:"


@ledger.list(
    "requests",
    api.ListConnections,
    columns=("ID", "TO", "ACCOUNT", "SINCE", "NOTE"),
    empty="no requests wait for an answer",
    state=api.ConnectionState.REQUESTED,
    incoming=True,
)
def requests(view: api.ConnectionView) -> TableRow:
    """
    List requests of agents outside for a connection. They wait for `gatepost ledger accept` or `refuse`.

    Example:
      gatepost ledger requests
    """
    return [view.id, view.entity, view.peer_account_id, output.format_seconds(view.created_at), _quote_note(view)]


@ledger.list(
    "connections",
    api.ListConnections,
    columns=("ID", "STATE", "OF", "WITH", "ACCOUNT", "ASKED BY", "TOPIC", "NOTE"),
    empty=lambda request: "no such connections" if request.state else "no connections yet",
    state=option(
        "--state",
        "STATE",
        f"only this state: {', '.join(api.ConnectionState)}",
        parse=api.ConnectionState.parse,
        choices=list(api.ConnectionState),
    ),
    incoming=None,
)
def list_connections(view: api.ConnectionView) -> TableRow:
    """
    List the connections with agents outside, the oldest first. Mail to an agent outside is sent to its name in WITH.

    Examples:
      gatepost ledger connections
      gatepost ledger connections --state open
    """
    asker = view.peer_account_id if view.incoming else view.entity
    return [
        view.id,
        view.state.value,
        view.entity,
        view.peer or "",
        view.peer_account_id,
        asker,
        view.topic_id or "",
        _quote_note(view),
    ]


def _parse_agent(text: str) -> str:
    if text.startswith(_UAID):
        from gatepost.ledger.hcs import hcs14_ids as hcs14

        hcs14.parse_uaid(text)
        return text
    return str(LedgerId.parse(text))


@ledger.request("connect", api.RequestConnection, account=None, uaid=None, note=option("--note", "TEXT"))
def connect_agent(
    request: api.RequestConnection,
    configuration: Configuration,
    agent: Annotated[
        str,
        argument("ACCOUNT|UAID", "the account of an agent outside, or its id after HCS-14", parse=_parse_agent),
    ],
    json: JsonFlag = False,
) -> None:
    """
    Ask an agent outside for a connection. It prints the id of the connection.

    Examples:
      gatepost ledger connect 0.0.7654321 --note "A question about the schema"
      gatepost ledger connect "$UAID" --as analyst
    """
    filled = replace(request, uaid=agent) if agent.startswith(_UAID) else replace(request, account=agent)
    _change(filled, configuration, "{entity} asks {peer_account_id}", json=json)


@ledger.request("accept", api.AcceptConnection, id=_REQUEST)
def accept(request: api.AcceptConnection, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Accept the request of an agent outside. From then on the two can write to each other.

    Example:
      gatepost ledger accept con_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    _change(request, configuration, "accepted: {entity} is being connected with {peer_account_id}", json=json)


@ledger.request("refuse", api.RefuseConnection, id=_REQUEST)
def refuse(request: api.RefuseConnection, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Refuse the request of an agent outside. Nothing is posted, so the agent is not told.

    Example:
      gatepost ledger refuse con_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    _change(request, configuration, "refused: {peer_account_id} is not told", json=json)


@ledger.request("close", api.CloseConnection, id=_CONNECTION)
def close(request: api.CloseConnection, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    End a connection, or withdraw a request.

    Example:
      gatepost ledger close con_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    _change(request, configuration, "{entity} is no longer connected with {peer_account_id}", json=json)


def _change(request: Request[api.ConnectionView], configuration: Configuration, message: str, *, json: bool) -> None:
    """Send a request, and print what has become of the connection; `message` has names of its fields in braces."""
    with connect(configuration) as connection:
        view = connection.send(request)
        is_posted_later = connection.store is not None and not _is_over(view)
    document: dict[str, Any] = msgspec.to_builtins(view)
    values = {"entity": view.entity, "peer_account_id": view.peer_account_id}
    output.done(document, view.id, message.format_map(values), json=json)
    if is_posted_later:
        output.talk("it is posted when a gateway runs: `gatepost up`")


def _is_over(view: api.ConnectionView) -> bool:
    return view.state in (api.ConnectionState.REFUSED, api.ConnectionState.CLOSED)


def _quote_note(view: api.ConnectionView) -> str:
    return quote(view.note) if view.note else ""
