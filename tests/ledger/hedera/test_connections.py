"""Agents outside ask, are asked, write and leave; nobody else can do it in their name."""

import json

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, Invalid, Refused
from gatepost.inbox.event import EventType, ItemState, Priority, Trust
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.connections.actions import MAX_REQUESTS
from gatepost.ledger.connections.api import ConnectionState
from gatepost.ledger.topic import LedgerId, TopicKind
from gatepost.mail.sent_record import AckRequest, PostState
from tests.ledger.hedera.connection_calls import find, find_inbound, list_notices, open_connection
from tests.ledger.hedera.ledger_setup import LedgerSetup
from tests.ledger.hedera.network.state import Refusal
from tests.ledger.hedera.posters import create_poster

POSTGRES_BY_NIGHT = True


async def test_a_request_is_listed_and_its_owner_is_told(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer = create_poster(setup.network)
    peer.ask(find_inbound(setup), "let us talk")
    await setup.settle()
    connection = find(setup)
    assert (connection.entity, connection.peer_account, connection.peer_inbound, connection.note) == (
        "ann",
        peer.account,
        peer.inbound,
        "let us talk",
    )
    assert (connection.state, connection.is_incoming, connection.request) == (ConnectionState.REQUESTED, True, 1)
    assert setup.list_alerts() == [
        f"account {peer.account} asks ann for a connection: `gatepost ledger accept {connection.id}`"
    ]
    assert setup.list_refusals(setup.find_topic(TopicKind.INBOUND, "ann")) == [None]
    assert setup.list_inbox("ann") == []


async def test_a_request_that_is_repeated_forged_or_one_too_many_is_refused(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    inbound = find_inbound(setup)
    peers = [create_poster(setup.network, balance=10_000_000) for _ in range(MAX_REQUESTS + 1)]
    forger = create_poster(setup.network)
    forger.submit(inbound, json.dumps({"p": "hcs-10", "op": "connection_request", "operator_id": peers[0].operator_id}))
    peers[0].ask(inbound)
    peers[0].ask(inbound)
    setup.create_poster("bob").ask(inbound)
    for peer in peers[1:]:
        peer.ask(inbound)
    await setup.settle()
    refusals = setup.list_refusals(setup.find_topic(TopicKind.INBOUND, "ann"))
    assert refusals == [
        f"it names account {peers[0].account}, and {forger.account} has paid for it",
        None,
        f"there is a request of {peers[0].account} already",
        "it is from an entity of this Gatepost, which needs no connection",
        *[None] * (MAX_REQUESTS - 1),
        f"{MAX_REQUESTS} requests wait for an answer",
    ]
    assert len(setup.list_connections()) == len(setup.list_alerts()) == MAX_REQUESTS
    peers[-1].ask(find_inbound(setup, "bob"))  # who has no requests
    await setup.settle()
    assert setup.list_connections()[-1].entity == "bob"


async def test_an_accepted_connection_has_a_topic_for_both(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer, stranger = create_poster(setup.network), create_poster(setup.network)
    peer.publish_profile("Quinn of Acme")
    connection = await open_connection(setup, peer)
    assert (connection.state, connection.peer) == (ConnectionState.OPEN, f"quinn-of-acme-{peer.account}")
    entity = setup.store.read_sync(directory.find, peer.account)
    assert (entity.name, entity.kind) == (f"quinn-of-acme-{peer.account}", EntityKind.SERVICE)
    assert entity.display == f"Quinn of Acme ({peer.account})"
    assert connection.topic is not None
    made = setup.network.topics[connection.topic]
    assert (made.memo, made.admin_key) == (f"hcs-10:1:3600:2:{find_inbound(setup)}:1", None)
    with pytest.raises(Refusal, match="INVALID_SIGNATURE"):
        stranger.send(connection.topic, "let me in")
    peer.send(connection.topic, "hello")
    _, created = setup.read_ledger(TopicKind.INBOUND, "ann")
    assert created == {
        "p": "hcs-10",
        "op": "connection_created",
        "connection_topic_id": connection.topic,
        "connected_account_id": peer.account,
        "operator_id": setup.find_operator_id("ann"),
        "connection_id": 1,
    }
    [record] = setup.read_ledger(TopicKind.OUTBOUND, "ann")
    assert (record["op"], record["connection_topic_id"], record["connection_request_id"]) == (
        "connection_created",
        connection.topic,
        1,
    )
    assert record["confirmed_request_id"] == 2
    assert record["requestor_outbound_topic_id"] in setup.network.topics
    memos = [message.memo for message in setup.network.messages(find_inbound(setup))]
    assert memos == ["", "hcs-10:op:4:1"]
    [outbound] = setup.network.messages(setup.find_topic(TopicKind.OUTBOUND, "ann").id)
    assert outbound.memo == "hcs-10:op:4:2"


async def test_a_peer_without_a_profile_is_named_by_its_account(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    connection = await open_connection(ledger, peer)
    assert connection.peer == f"peer-{peer.account}"
    assert connection.state is ConnectionState.OPEN


async def test_peers_of_the_same_name_are_two(ledger: LedgerSetup) -> None:
    names = []
    for _ in range(2):
        peer = create_poster(ledger.network)
        peer.publish_profile("Ann")
        names.append((await open_connection(ledger, peer)).peer)
    assert names == [f"ann-{connection.peer_account}" for connection in ledger.list_connections()]


async def test_who_accepts_and_refuses_is_told_what_is_done_already(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    peer.ask(find_inbound(ledger))
    await ledger.settle()
    connection = find(ledger)
    ledger.store.run_sync(connections.refuse, connection.id)
    await ledger.settle()
    assert find(ledger).state is ConnectionState.REFUSED
    assert len(ledger.network.messages(find_inbound(ledger))) == 1, "the standard has no message for a refusal"
    for verb in (connections.accept, connections.refuse, connections.close):
        with pytest.raises(Conflict, match="is refused"):
            ledger.store.run_sync(verb, connection.id)
    peer.ask(find_inbound(ledger))
    await ledger.settle()
    assert len(ledger.list_connections()) == 1, "it is not heard again for a day"
    ledger.kit.clock.advance("1 day")
    peer.ask(find_inbound(ledger))
    await ledger.settle()
    assert [entry.state for entry in ledger.list_connections()] == [ConnectionState.REFUSED, ConnectionState.REQUESTED]


async def test_what_a_peer_says_is_foreign_and_never_urgent(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer = create_poster(setup.network)
    connection = await open_connection(setup, peer)
    assert connection.topic is not None
    peer.send(connection.topic, "plain text")
    data = {"subject": "S", "payload": {"text": "fire", "a": 1}, "priority": 1, "uid": "u1", "ref_type": "task"}
    for _ in range(2):
        peer.send(connection.topic, json.dumps(data))
    peer.send(connection.topic, {"payload": {"text": "later"}, "priority": 5})
    await setup.settle()
    events = setup.read_inbox("ann")
    assert [(event.content, event.priority, event.trust) for event in events] == [
        ("plain text", Priority.NORMAL, Trust.EXTERNAL),
        ("fire", Priority.NORMAL, Trust.EXTERNAL),
        ("later", Priority.FYI, Trust.EXTERNAL),
    ]
    assert {event.sender.name for event in events if event.sender is not None} == {connection.peer}
    assert {event.type for event in events} == {EventType.MAIL}
    assert setup.list_inbox("bob") == []
    assert setup.is_balanced()


async def test_a_peer_has_a_limit_for_each_hour(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    setup.set_policy(ledger_hourly=3)
    peer = create_poster(setup.network)
    connection = await open_connection(setup, peer)
    assert connection.topic is not None
    for number in range(5):
        peer.send(connection.topic, f"message {number}")
    await setup.settle()
    topic = setup.find_topic(TopicKind.CONNECTION, "ann")
    refusal = "3 messages in an hour are the limit for an agent outside"
    assert setup.list_refusals(topic) == [None, None, None, refusal, refusal]
    assert setup.list_inbox("ann") == ["message 0", "message 1", "message 2"]
    setup.kit.clock.advance("1 hour")
    peer.send(connection.topic, "message 5")
    await setup.settle()
    assert setup.list_inbox("ann")[3:] == ["message 5"]


async def test_mail_to_a_peer_goes_to_the_topic_of_both(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer = create_poster(setup.network)
    connection = await open_connection(setup, peer)
    assert connection.peer is not None
    assert connection.topic is not None
    texts = ["short", "long " * 2_000]
    mails = [setup.send(address, text) for address, text in zip((connection.peer, peer.account), texts, strict=True)]
    assert [setup.show(mail).states for mail in mails] == [{ItemState.PENDING: 1}] * 2
    setup.kit.clock.advance("1 hour")
    assert setup.deliver_overdue() == 0
    await setup.settle()
    for mail in mails:
        shown = setup.show(mail)
        assert (shown.post, shown.states, shown.event) == (PostState.POSTED, {ItemState.DELIVERED: 1}, None)
    messages = setup.network.messages(connection.topic)
    assert [(message.payer, message.memo) for message in messages] == [
        (str(setup.find_account("ann")), "hcs-10:op:6:3")
    ] * 2
    first, second = setup.read_ledger(TopicKind.CONNECTION, "ann")
    assert json.loads(first["data"])["payload"] == {"text": "short"}
    assert second["data"].startswith("hcs://1/")
    assert setup.list_inbox(connection.peer) == []
    assert setup.list_inbox("ann") == []
    assert setup.list_refusals(setup.find_topic(TopicKind.CONNECTION, "ann")) == [None, None]
    assert setup.is_balanced()


async def test_only_who_has_the_connection_can_write_to_a_peer(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    connection = await open_connection(ledger, peer)
    assert connection.peer is not None
    with pytest.raises(Refused, match="'bob' has no open connection with"):
        ledger.send(connection.peer, sender="bob")
    with pytest.raises(Refused, match="'bob' has no open connection with"):
        ledger.send(peer.account, sender="bob", priority=Priority.CRITICAL)
    with pytest.raises(Invalid, match="cannot be acknowledged"):
        ledger.send(connection.peer, ack=AckRequest.REQUIRED)
    await open_connection(ledger, peer, "bob")
    ledger.send(connection.peer, "from bob", sender="bob")
    await ledger.settle()
    assert ledger.list_posted_texts(TopicKind.CONNECTION, "bob") == ["from bob"]
    assert ledger.network.messages(str(connection.topic)) == []


async def test_a_reply_to_a_peer_goes_to_the_topic_of_both(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    connection = await open_connection(ledger, peer)
    peer.send(str(connection.topic), json.dumps({"subject": "S", "payload": "hello"}))
    await ledger.settle()
    [event] = ledger.read_inbox("ann")
    ledger.send(None, "hello back", reply_to=event.id)
    await ledger.settle()
    _, reply = ledger.read_ledger(TopicKind.CONNECTION, "ann")
    assert json.loads(reply["data"])["subject"] == "S"


async def test_we_close_a_connection(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer = create_poster(setup.network)
    connection = await open_connection(setup, peer)
    assert connection.peer is not None
    assert connection.topic is not None
    setup.store.run_sync(connections.close, connection.id)
    await setup.settle()
    assert find(setup).state is ConnectionState.CLOSED
    assert list_notices(setup) == [f"the connection with {connection.peer} has ended"]
    [message] = setup.read_ledger(TopicKind.CONNECTION, "ann")
    assert (message["op"], message["operator_id"]) == ("close_connection", setup.find_operator_id("ann"))
    _, record = setup.read_ledger(TopicKind.OUTBOUND, "ann")
    assert (record["op"], record["close_method"]) == ("connection_closed", "explicit")
    with pytest.raises(Refused, match="has no open connection"):
        setup.send(connection.peer)
    peer.send(connection.topic, "are you there?")
    await setup.settle()
    assert setup.list_refusals(setup.find_topic(TopicKind.CONNECTION, "ann")) == [None, "the connection is closed"]
    assert setup.list_inbox("ann") == [f"the connection with {connection.peer} has ended"]


async def test_a_peer_closes_a_connection_and_opens_it_again(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer = create_poster(setup.network)
    connection = await open_connection(setup, peer)
    assert connection.peer is not None
    operation = {"p": "hcs-10", "op": "close_connection", "operator_id": peer.operator_id, "reason": "bye"}
    peer.submit(str(connection.topic), json.dumps(operation))
    peer.send(str(connection.topic), "one more thing")
    await setup.settle()
    assert find(setup).state is ConnectionState.CLOSED
    [notice] = setup.read_inbox("ann")
    assert (notice.content, notice.trust) == (f"the connection with {connection.peer} has ended: bye", Trust.EXTERNAL)
    with pytest.raises(Refused, match="has no open connection"):
        setup.send(connection.peer)
    again = await open_connection(setup, peer)
    assert (again.peer, again.state) == (connection.peer, ConnectionState.OPEN)
    assert again.topic != connection.topic
    setup.send(connection.peer, "welcome back")
    peer.send(str(again.topic), "hello again")
    await setup.settle()
    assert len(setup.network.messages(str(again.topic))) == 2
    assert setup.list_inbox("ann") == ["hello again"]


async def test_mail_that_waits_when_the_connection_ends_is_not_posted_elsewhere(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    connection = await open_connection(ledger, peer)
    ledger.network.answer_busy(10_000)
    sent = ledger.send(connection.peer, "too late")
    later = ledger.send("bob", "later")
    await ledger.run_jobs()
    peer.submit(
        str(connection.topic),
        json.dumps({"p": "hcs-10", "op": "close_connection", "operator_id": peer.operator_id}),
    )
    await ledger.listen()
    ledger.network.answer_busy(0)
    await ledger.settle()
    assert ledger.show(sent).post is PostState.FAILED
    assert ledger.show(later).post is PostState.POSTED
    assert {topic.entity for topic in ledger.list_topics(TopicKind.INBOUND)} == {"ann", "bob", "husam"}
    assert len(ledger.network.messages(str(connection.topic))) == 1
    [alert] = [alert for alert in ledger.list_alerts() if "never will be" in alert]
    assert alert == (
        f"mail {sent.id} of ann is not on the ledger, and never will be: "
        f"the connection with {connection.peer} has ended"
    )


async def test_garbage_on_a_connection_is_refused_and_ends_nothing(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer = create_poster(setup.network)
    connection = await open_connection(setup, peer)
    topic = str(connection.topic)
    created = {"p": "hcs-10", "op": "connection_request", "operator_id": peer.operator_id}
    for content in (b"\x00\xff", b"hello", b"{" * 500, json.dumps(created).encode()):
        peer.submit(topic, content)
    peer.send(topic, "")
    peer.send(topic, json.dumps({"uid": "x", "sha384": "0" * 96}))
    peer.send(topic, "hcs://1/0.0.999999")
    peer.send(topic, "still here")
    await setup.settle()
    setup.run_out_of_patience()
    await setup.settle()
    refusals = setup.list_refusals(setup.find_topic(TopicKind.CONNECTION, "ann"))
    assert [refusal is None for refusal in refusals] == [False] * 7 + [True]
    assert setup.list_inbox("ann") == ["still here"]
    assert find(setup).state is ConnectionState.OPEN


async def test_a_retired_entity_has_no_connections(ledger: LedgerSetup) -> None:
    peer, other = create_poster(ledger.network), create_poster(ledger.network)
    connection = await open_connection(ledger, peer)
    ledger.store.run_sync(directory.retire, "ann")
    peer.send(str(connection.topic), "hello")
    other.ask(find_inbound(ledger))
    await ledger.settle()
    assert ledger.list_refusals(ledger.find_topic(TopicKind.CONNECTION, "ann")) == ["ann is retired"]
    assert ledger.list_refusals(ledger.find_topic(TopicKind.INBOUND, "ann"))[-1] == "ann is retired"


async def test_the_local_ledger_has_no_agents_outside(local: LedgerSetup) -> None:
    with pytest.raises(Refused, match="only a public ledger has agents outside"):
        local.store.run_sync(connections.connect, LedgerId(0, 0, 7), None, by="ann")


@pytest.mark.parametrize("kind", ["drop", "busy", "lost"])
async def test_a_connection_is_made_once_whatever_the_nodes_do(ledger: LedgerSetup, kind: str) -> None:
    peer = create_poster(ledger.network)
    peer.ask(find_inbound(ledger))
    await ledger.settle()
    ledger.store.run_sync(connections.accept, find(ledger).id)
    match kind:
        case "drop":
            ledger.network.drop_replies(9)
        case "busy":
            ledger.network.answer_busy(9)
        case _:
            ledger.network.lose_transactions(3)
    await ledger.settle()
    assert find(ledger).state is ConnectionState.OPEN
    assert len(ledger.read_ledger(TopicKind.INBOUND, "ann")) == 2
    assert len(ledger.read_ledger(TopicKind.OUTBOUND, "ann")) == 1
    assert ledger.count_orphans() == (0, 0)


async def test_a_peer_cannot_take_the_name_or_the_account_of_another(ledger: LedgerSetup) -> None:
    """The names of peers come from their profiles, in which everybody can write everything."""
    honest, liar = create_poster(ledger.network), create_poster(ledger.network)
    liar.publish_profile(honest.account)
    honest.publish_profile("honest bob")
    first, second = await open_connection(ledger, liar), await open_connection(ledger, honest)
    assert first.peer != second.peer
    for poster, connection in ((liar, first), (honest, second)):
        poster.send(str(connection.topic), {"uid": "u1", "payload": f"from {poster.account}"})
    await ledger.settle()
    texts = {event.sender.name: event.content for event in ledger.read_inbox("ann") if event.sender}
    assert texts == {first.peer: f"from {liar.account}", second.peer: f"from {honest.account}"}
    sent = ledger.send(honest.account, "for the honest one")
    await ledger.settle()
    assert [recipient.name for recipient in ledger.show(sent).recipients] == [second.peer]
