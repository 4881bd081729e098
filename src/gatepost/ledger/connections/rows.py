"""Connections with agents outside."""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.ledger.connections.api import Connection, ConnectionState
from gatepost.stores.row_mapping import Mapper, fetch_number

CONNECTION: Final = Mapper(Connection)


def find(tx: Reader, id: str) -> Connection | None:
    return CONNECTION.fetch_one(tx, "ledger/connections/find", id=id)


def find_by_topic(tx: Reader, topic: int) -> Connection | None:
    return CONNECTION.fetch_one(tx, "ledger/connections/find_by_topic", topic=topic)


def find_open(tx: Reader, network: str, entity: int, peer: int) -> Connection | None:
    return CONNECTION.fetch_one(tx, "ledger/connections/find_open", network=network, entity=entity, peer=peer)


def find_pending(tx: Reader, network: str, entity: int, peer_account: str) -> Connection | None:
    """Return a connection of the two that is asked for or open."""
    return CONNECTION.fetch_one(
        tx, "ledger/connections/find_pending", network=network, entity=entity, peer_account=peer_account
    )


def find_peer(tx: Reader, network: str, account: str) -> str | None:
    """Return the name of the agent outside with this account; None if there was no connection with it."""
    row = tx.fetch_one("ledger/connections/find_peer", network=network, account=account)
    return row.name if row else None


def has_refused(tx: Reader, network: str, entity: int, peer_account: str, since: Instant) -> bool:
    """Return True if an entity has refused a request of this account since then."""
    row = tx.fetch_one(
        "ledger/connections/has_refused", network=network, entity=entity, peer_account=peer_account, since=since
    )
    return row is not None


def is_peer(tx: Reader, entity: int) -> bool:
    """Return True if an entity is an agent outside."""
    return tx.fetch_one("ledger/connections/is_peer", peer=entity) is not None


def list_requested(tx: Reader, network: str, inbound: str) -> list[Connection]:
    """Return the requests that were posted to the inbound topic of an agent outside, and were not answered."""
    return CONNECTION.fetch_all(tx, "ledger/connections/list_requested", network=network, inbound=inbound)


def count_requested(tx: Reader, network: str, entity: int) -> int:
    """Count the requests to an entity that were not answered."""
    return fetch_number(tx, "ledger/connections/count_requested", network=network, entity=entity)


def set_state(tx: Transaction, number: int, state: ConnectionState, *, before: Sequence[ConnectionState]) -> bool:
    """Return False if the connection had none of the states in `before`."""
    return tx.execute("ledger/connections/set_state", number=number, state=state, before=list(before), now=tx.now) == 1


def open(tx: Transaction, number: int, *, peer: int, topic: int) -> None:
    tx.execute_later("ledger/connections/open", number=number, peer=peer, topic=topic)


def read_message_count(tx: Reader, number: int, hour: int) -> int:
    """Return how many messages of the other end there were in this hour."""
    row = tx.fetch_one("ledger/connections/read_message_count", number=number, hour=hour)
    return row.hour_count if row else 0
