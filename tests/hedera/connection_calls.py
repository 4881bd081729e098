"""Short ways to connect with agents outside, for tests."""

from gatepost.inbox.event import EventType
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.connections.api import Connection
from gatepost.ledger.topic import LedgerId, TopicKind
from tests.hedera.office import LedgerOffice
from tests.hedera.posters import Poster


def find_inbound(office: LedgerOffice, name: str = "ann") -> str:
    return office.find_topic(TopicKind.INBOUND, name).id


def find(office: LedgerOffice) -> Connection:
    [connection] = office.list_connections()
    return connection


async def open_connection(office: LedgerOffice, peer: Poster, name: str = "ann") -> Connection:
    """Let an agent outside ask for a connection, and accept it."""
    peer.ask(find_inbound(office, name))
    await office.settle()
    connection = office.list_connections()[-1]
    office.store.run_sync(connections.accept, connection.id)
    await office.settle()
    office.read_everything(name)
    return office.store.read_sync(connections.find, connection.id)


def connect(office: LedgerOffice, peer: Poster, *, inbound: bool = True, note: str | None = None) -> Connection:
    """Let ann ask an agent outside, by its inbound topic or by its account alone."""
    topic = LedgerId.parse(peer.inbound) if inbound else None
    return office.store.run_sync(connections.connect, LedgerId.parse(peer.account), topic, by="ann", note=note)


def list_notices(office: LedgerOffice, name: str = "ann") -> list[str]:
    return [event.content for event in office.read_inbox(name) if event.type is EventType.SYSTEM]
