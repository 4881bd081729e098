"""The ledger: a topic is verified with a visible result, and one that somebody has tampered with fails."""

import sqlite3
from contextlib import closing

from tests.page.chromium import LAST_RESORT
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_a_topic_is_proved_until_somebody_changes_a_message(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    for number in range(1, 4):
        gateway.post("/mail", to=tag, sender="admin", text=f"Letter {number}")
    gateway.post("/ledger/sync")
    topics = gateway.get("/ledger/topics", kind="inbound", limit=1000)["items"]
    [topic] = [topic for topic in topics if topic["entity"] == tag]
    page = open_page(f"/ledger/{topic['id']}")
    page.wait_for(".proof:has-text('not checked yet')")
    page.press("v")
    page.wait_for(f".proof.is-proved .proof-result:has-text('{topic['messages']} of {topic['messages']}')")
    assert page.count(".link-mark.is-wrong") == 0

    with closing(sqlite3.connect(gateway.gateway.home / "gatepost.db", timeout=LAST_RESORT)) as database, database:
        changed = database.execute(
            "UPDATE topic_messages SET payer = '0.0.9'"
            " WHERE sequence = 2 AND topic = (SELECT number FROM topics WHERE id = ?)",
            [topic["id"]],
        )
        assert changed.rowcount == 1
    page.press("v")
    page.wait_for(".proof.is-wrong [role=alert]:has-text('Message 2 is wrong: its running hash does not match')")
    page.press("x")
    page.wait_for_path(f"/ledger/{topic['id']}/2")
    page.wait_for(".badge.danger:has-text('wrong')")


@by_night
def test_the_topic_that_was_written_to_last_is_the_first(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    older, newer = f"a-{tag}", f"b-{tag}"
    for name in (older, newer):
        gateway.create_person(name)
        gateway.post("/mail", to=name, sender="admin", text="Hello")
    with closing(sqlite3.connect(gateway.gateway.home / "gatepost.db", timeout=LAST_RESORT)) as database, database:
        database.execute(
            "UPDATE topics SET created_at = created_at - 5400000000"
            " WHERE entity IN (SELECT number FROM entities WHERE name IN (?, ?))",
            [older, newer],
        )
    gateway.post("/mail", to=older, sender="admin", text="Again")
    topics = gateway.get("/ledger/topics", kind="inbound", limit=1000)["items"]
    [topic] = [topic for topic in topics if topic["entity"] == older]
    assert topic["createdAt"] < topic["lastMessageAt"]
    page = open_page("/ledger")
    page.wait_for(f".topic-row:has-text('{older}') time:has-text('now')")
    rows = page.evaluate("() => [...document.querySelectorAll('.topic-row')].map((row) => row.innerText)")
    places = [next(place for place, row in enumerate(rows) if name in row) for name in (older, newer)]
    assert places == sorted(places)


def test_connections_are_opened_by_keys(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    """The gateway of the tests has no public ledger, so the connections are written into its store."""
    names = [f"a-{tag}", f"b-{tag}"]
    for name in names:
        gateway.create_person(name)
    gateway.post("/ledger/sync")
    with closing(sqlite3.connect(gateway.gateway.home / "gatepost.db", timeout=LAST_RESORT)) as database, database:
        for second, name in enumerate(names):
            database.execute(
                "INSERT INTO connections (id, network, entity, peer_account, is_incoming, state, created_at)"
                " SELECT 'con_' || lower(hex(randomblob(16))), 'testnet', number, '0.0.7', 0, 'requested',"
                " 4000000000000000 + ? FROM entities WHERE name = ?",
                [second * 1_000_000, name],
            )
    page = open_page("/ledger/connections")
    page.wait_for(f".row-list li:has-text('a-{tag}')")
    page.press("j", "j", "k")
    page.wait_for(f".row-list li.is-selected:has-text('b-{tag}')")
    page.press("j", "Enter")
    page.wait_for_path(f"/ledger/profiles/a-{tag}")
