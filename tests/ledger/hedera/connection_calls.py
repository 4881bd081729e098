"""Short ways to connect with agents outside, for tests."""

from gatepost.inbox.event import EventType
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.connections.api import Connection
from gatepost.ledger.topic import LedgerId, TopicKind
from tests.ledger.hedera.ledger_setup import LedgerSetup
from tests.ledger.hedera.posters import Poster


def find_inbound(setup: LedgerSetup, name: str = "ann") -> str:
    return setup.find_topic(TopicKind.INBOUND, name).id


def find(setup: LedgerSetup) -> Connection:
    [connection] = setup.list_connections()
    return connection


async def open_connection(setup: LedgerSetup, peer: Poster, name: str = "ann") -> Connection:
    """Let an agent outside ask for a connection, and accept it."""
    peer.ask(find_inbound(setup, name))
    await setup.settle()
    connection = setup.list_connections()[-1]
    setup.store.run_sync(connections.accept, connection.id)
    await setup.settle()
    setup.read_everything(name)
    return setup.store.read_sync(connections.find, connection.id)


def connect(setup: LedgerSetup, peer: Poster, *, inbound: bool = True, note: str | None = None) -> Connection:
    """Let ann ask an agent outside, by its inbound topic or by its account alone."""
    topic = LedgerId.parse(peer.inbound) if inbound else None
    return setup.store.run_sync(connections.connect, LedgerId.parse(peer.account), topic, by="ann", note=note)


def list_notices(setup: LedgerSetup, name: str = "ann") -> list[str]:
    return [event.content for event in setup.read_inbox(name) if event.type is EventType.SYSTEM]
