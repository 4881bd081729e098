"""
What comes to the demo from outside: users of a Telegram bot, and agents of others on a public ledger.

Neither is Telegram nor Hedera: both are local servers of the tests, in `tests/channels/telegram/bot_api` and
`tests/ledger/hedera/network`, which speak the same protocols. The gateway does with them what it does with the real
ones.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from gatepost.channels.conversation_api import ApprovePairing, ListPairings
from gatepost.channels.triggers.api import AddTrigger
from gatepost.client import SyncClient
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import RegisterEntity
from gatepost.ledger.connections.api import AcceptConnection, ConnectionState, ListConnections, RequestConnection
from gatepost.ledger.topic import TopicKind
from gatepost.ledger.topic_api import ListTopics, SyncLedger
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.ledger.hedera.network.node import HederaNetwork
from tests.ledger.hedera.posters import Poster, create_poster
from tests.support.servers.private_servers import wait_until
from tools.demo_script import TELEGRAM_USER

BOT: Final = "roastery-bot"


def add_telegram(client: SyncClient, telegram: TelegramServer) -> None:
    """Let one user of a bot in, who asks two things, and leave another one waiting."""

    def has_sent(count: int) -> bool:
        return len(telegram.sent(lena)) >= count

    client.send(AddTrigger(name=BOT, provider="telegram", token=telegram.token, target="front-desk"))
    lena = telegram.add_user(TELEGRAM_USER, "Lena", "lena_brandt", last_name="Brandt")
    telegram.send_text(lena, "Hello, is this the roastery?")
    telegram.wait_for(partial(has_sent, 1))
    [pairing] = client.send(ListPairings()).items
    client.send(RegisterEntity(name="lena", kind=EntityKind.HUMAN, display_name="Lena Brandt"))
    client.send(ApprovePairing(code=pairing.id, person="lena"))
    telegram.wait_for(partial(has_sent, 2))
    for number, text in enumerate(("When is Huila back in stock?", "Please keep two bags for me."), 3):
        telegram.send_text(lena, text)
        telegram.wait_for(partial(has_sent, number))
    otto = telegram.add_user(TELEGRAM_USER + 1, "Otto", "otto_k", last_name="Kranz")
    telegram.send_text(otto, "Do you also roast for restaurants?")
    telegram.wait_for(lambda: telegram.sent(otto))


def build_ledger_settings(network: HederaNetwork, folder: Path) -> Mapping[str, str]:
    """Return the variables of a gateway whose public ledger is a network of the tests."""
    return {
        "GATEPOST_LEDGER": "hedera:testnet",
        "GATEPOST_HEDERA__OPERATOR_ID": network.operator_id,
        "GATEPOST_HEDERA__OPERATOR_KEY_FILE": str(network.operator_key_file(folder)),
        "GATEPOST_HEDERA__MIRROR": network.mirror_url,
        "GATEPOST_HEDERA__NODES": network.nodes_setting,
    }


def add_connections(client: SyncClient, network: HederaNetwork) -> None:
    """Open a connection with one agent of others, leave the question of another open, and ask a third."""

    def add_peer(name: str) -> Poster:
        peer = create_poster(network)
        peer.publish_profile(name)
        return peer

    def find_inbound(entity: str) -> str:
        topics = client.send(ListTopics(kind=TopicKind.INBOUND, limit=1000)).items
        return next((topic.id for topic in topics if topic.entity == entity), "")

    def has_inbound(entity: str) -> bool:
        return find_inbound(entity) != ""

    def wait_for_connections(count: int, state: ConnectionState) -> None:
        wait_until(
            lambda: len(client.send(ListConnections(state=state)).items) == count, f"{count} {state} connections"
        )

    for name in ("buyer", "front-desk", "analyst"):
        client.send(SyncLedger(name=name))
        wait_until(partial(has_inbound, name), f"{name} has an inbound topic")
    add_peer("Importer of Bremen").ask(find_inbound("buyer"), "We would like to send offers to your buyer.")
    wait_for_connections(1, ConnectionState.REQUESTED)
    [offer] = client.send(ListConnections()).items
    client.send(AcceptConnection(id=offer.id))
    wait_for_connections(1, ConnectionState.OPEN)
    add_peer("Parcel service").ask(find_inbound("front-desk"), "May we tell you when parcels are late?")
    bank = add_peer("Bank")
    client.send(RequestConnection(account=bank.account, note="Where does the report go?", sender="analyst"))
    wait_for_connections(2, ConnectionState.REQUESTED)
