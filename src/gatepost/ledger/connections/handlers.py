"""Connections with agents outside."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.errors import Invalid
from gatepost.ledger.connections import actions as connections, api
from gatepost.ledger.topic import LedgerId
from gatepost.mail import ledger_delivery
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.ListConnections.handler
def list_connections(tx: Reader, request: api.ListConnections, caller: Caller) -> Page[api.ConnectionView]:
    return read_page(
        tx,
        request,
        connections.list_page,
        state=request.state,
        viewer=caller.entity,
        is_incoming=request.incoming,
        after=request.after,
    )


@api.RequestConnection.handler
def request_connection(tx: Transaction, request: api.RequestConnection, caller: Caller) -> api.ConnectionView:
    if request.account is not None and request.uaid is None:
        account, inbound = parse_field("account", request.account, LedgerId.parse), None
    elif request.uaid is not None and request.account is None:
        account, inbound = _parse_uaid(request.uaid, ledger_delivery.find_public_network(tx))
    else:
        raise Invalid("give one of `account` and `uaid`")
    assert request.sender is not None
    return api.ConnectionView.of(connections.connect(tx, account, inbound, by=request.sender, note=request.note))


def _parse_uaid(text: str, network: str | None) -> tuple[LedgerId, LedgerId | None]:
    """Return the account of an agent outside, and its inbound topic, if its id says it."""
    from gatepost.ledger.hcs import hcs14_ids as hcs14  # few requests have such an id

    uaid = parse_field("uaid", text, hcs14.parse_uaid)
    if uaid.account is None:
        raise Invalid("uaid: it names no account of Hedera", hint="it must have nativeId=hedera:NETWORK:0.0.4")
    if network is not None and uaid.network != network:
        raise Invalid(f"uaid: the agent is on {uaid.network!r}, and the ledger is {network!r}")
    operator_id = uaid.operator_id
    if operator_id is not None and operator_id.account != uaid.account:
        raise Invalid(f"uaid: it names two accounts, {uaid.account} and {operator_id.account}")
    return uaid.account, operator_id.inbound if operator_id is not None else None


@api.AcceptConnection.handler
def accept_connection(tx: Transaction, request: api.AcceptConnection, caller: Caller) -> api.ConnectionView:
    return api.ConnectionView.of(connections.accept(tx, request.id))


@api.RefuseConnection.handler
def refuse_connection(tx: Transaction, request: api.RefuseConnection, caller: Caller) -> api.ConnectionView:
    return api.ConnectionView.of(connections.refuse(tx, request.id))


@api.CloseConnection.handler
def close_connection(tx: Transaction, request: api.CloseConnection, caller: Caller) -> api.ConnectionView:
    return api.ConnectionView.of(connections.close(tx, request.id))
