"""We ask agents outside for connections, and only they can answer."""

import json

import pytest

from gatepost.errors import Conflict, Refused
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.connections.api import ConnectionState
from gatepost.ledger.topic import LedgerId, TopicKind
from gatepost.mail.sent_record import PostState
from tests.ledger.hedera.connection_calls import connect, find, find_inbound, list_notices, open_connection
from tests.ledger.hedera.ledger_setup import LedgerSetup
from tests.ledger.hedera.posters import create_poster

POSTGRES_BY_NIGHT = True


@pytest.mark.parametrize("has_profile", [True, False])
async def test_we_ask_and_the_answer_opens_the_connection(public_ledger: LedgerSetup, has_profile: bool) -> None:
    setup = public_ledger
    peer = create_poster(setup.network)
    peer.ask(peer.inbound)  # whatever is in it before
    if has_profile:
        peer.publish_profile("Quinn")
    connection = connect(setup, peer, inbound=not has_profile, note="let us talk")
    await setup.settle()
    asked = find(setup)
    assert (asked.state, asked.is_incoming, asked.request, asked.peer_inbound) == (
        ConnectionState.REQUESTED,
        False,
        2,
        peer.inbound,
    )
    request = setup.network.messages(peer.inbound)[1]
    assert json.loads(request.content) == {
        "p": "hcs-10",
        "op": "connection_request",
        "operator_id": setup.find_operator_id("ann"),
        "m": "let us talk",
    }
    assert request.memo == "hcs-10:op:3:1"
    [record] = setup.read_ledger(TopicKind.OUTBOUND, "ann")
    assert (record["operator_id"], record["connection_request_id"]) == (peer.operator_id, 2)
    with pytest.raises(Conflict, match="already"):
        connect(setup, peer)
    for verb in (connections.accept, connections.refuse):
        with pytest.raises(Refused, match="has asked for this connection itself"):
            setup.store.run_sync(verb, connection.id)
    topic = peer.answer(str(setup.find_account("ann")), 2)
    await setup.settle()
    opened = find(setup)
    assert (opened.state, opened.topic) == (ConnectionState.OPEN, topic)
    assert list_notices(setup) == [f"the connection with {opened.peer} (account {peer.account}) is open"]
    setup.read_everything("ann")
    setup.send(opened.peer, "hello")
    peer.send(topic, "hello back")
    await setup.settle()
    assert setup.list_inbox("ann") == ["hello back"]
    assert [message.payer for message in setup.network.messages(topic)].count(str(setup.find_account("ann"))) == 1
    assert setup.is_balanced()


async def test_a_forged_answer_changes_nothing(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    peer, forger = create_poster(setup.network), create_poster(setup.network)
    connect(setup, peer)
    await setup.settle()
    account = str(setup.find_account("ann"))
    own_topic = forger.create_connection_topic(account)
    forged = {
        "p": "hcs-10",
        "op": "connection_created",
        "connection_topic_id": own_topic,
        "connected_account_id": account,
        "operator_id": peer.operator_id,
        "connection_id": 1,
    }
    forger.submit(peer.inbound, json.dumps(forged))
    forger.submit(peer.inbound, json.dumps({**forged, "operator_id": f"{peer.inbound}@{forger.account}"}))
    forger.submit(find_inbound(setup), json.dumps(forged))
    forger.submit(find_inbound(setup), json.dumps({**forged, "operator_id": forger.operator_id}))
    peer.answer(account, 7)  # the answer to another request
    peer.answer(str(setup.find_account("bob")), 1)  # the answer to another requester
    forger.submit(peer.inbound, b"\x00garbage")
    await setup.settle()
    assert find(setup).state is ConnectionState.REQUESTED
    assert setup.list_inbox("ann") == []
    assert [bool(refusal) for refusal in setup.list_refusals(setup.find_topic(TopicKind.INBOUND, "ann"))] == [True] * 2
    topic = peer.answer(account, 1)
    await setup.settle()
    assert (find(setup).state, find(setup).topic) == (ConnectionState.OPEN, topic)
    forger.submit(peer.inbound, json.dumps(forged))
    peer.answer(account, 1)  # another answer to the same request
    await setup.settle()
    assert find(setup).topic == topic


@pytest.mark.parametrize("target", ["inbound of bob", "inbound of the peer", "task", "broadcast", "another connection"])
async def test_a_peer_cannot_make_another_topic_the_one_of_a_connection(ledger: LedgerSetup, target: str) -> None:
    """Otherwise our mail to the peer would be posted there, in the name of ann."""
    peer = create_poster(ledger.network)
    other = await open_connection(ledger, create_poster(ledger.network), "bob")
    connect(ledger, peer)
    await ledger.settle()
    [task] = ledger.list_topics(TopicKind.WORK)
    topic = {
        "inbound of bob": find_inbound(ledger, "bob"),
        "inbound of the peer": peer.inbound,
        "task": task.id,
        "broadcast": ledger.find_topic(TopicKind.BROADCAST).id,
        "another connection": str(other.topic),
    }[target]
    peer.answer(str(ledger.find_account("ann")), 1, topic=topic)
    await ledger.settle()
    assert ledger.list_connections()[-1].state is ConnectionState.CLOSED
    [notice] = list_notices(ledger)
    assert notice == (
        f"the connection with {peer.account} has ended: "
        f"it has named the topic {topic}, which was not made for this connection"
    )
    assert ledger.find_topic(TopicKind.INBOUND, "bob").kind is TopicKind.INBOUND
    ledger.send("bob", "later")
    await ledger.settle()
    assert "later" in ledger.list_inbox("bob")


async def test_a_peer_whose_topic_we_cannot_write_to_holds_up_nothing(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    connect(ledger, peer)
    await ledger.settle()
    topic = ledger.network.create_topic(f"hcs-10:1:60:2:{peer.inbound}:1", submit_key=peer.key)
    peer.answer(str(ledger.find_account("ann")), 1, topic=topic)
    await ledger.settle()
    sent = ledger.send(find(ledger).peer, "hello")
    later = ledger.send("bob", "later")
    await ledger.settle()
    assert ledger.show(sent).post is PostState.FAILED
    assert ledger.show(later).post is PostState.POSTED
    ledger.store.run_sync(connections.close, find(ledger).id)
    await ledger.settle()
    assert find(ledger).state is ConnectionState.CLOSED


async def test_a_request_that_cannot_be_posted_ends_with_the_reason(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    closed_inbound = ledger.network.create_topic("hcs-10:0:60:0:" + peer.account, submit_key=peer.key)
    ledger.store.run_sync(connections.connect, LedgerId.parse(peer.account), LedgerId.parse(closed_inbound), by="ann")
    await ledger.settle()
    assert find(ledger).state is ConnectionState.CLOSED
    [notice] = list_notices(ledger)
    assert notice.startswith(f"the connection with {peer.account} has ended: the ledger refused to send a message")


@pytest.mark.parametrize(
    ("memo", "reason"),
    [
        ("", "does not say where the profile of the account is"),
        ("hcs-11:ipfs://abc", "cannot be read"),
        ("hcs-11:hcs://1/0.0.999999", "there is no topic 0.0.999999"),
    ],
)
async def test_an_account_without_a_profile_cannot_be_asked(ledger: LedgerSetup, memo: str, reason: str) -> None:
    peer = create_poster(ledger.network)
    ledger.network.accounts[peer.account].memo = memo
    connect(ledger, peer, inbound=False)
    await ledger.settle()
    assert find(ledger).state is ConnectionState.CLOSED
    [notice] = list_notices(ledger)
    assert reason in notice
    assert ledger.network.messages(peer.inbound) == []


async def test_a_request_of_ours_is_withdrawn_and_a_late_answer_opens_nothing(ledger: LedgerSetup) -> None:
    peer = create_poster(ledger.network)
    connection = connect(ledger, peer)
    await ledger.settle()
    ledger.store.run_sync(connections.close, connection.id)
    peer.answer(str(ledger.find_account("ann")), 1)
    await ledger.settle()
    assert find(ledger).state is ConnectionState.CLOSED
    assert ledger.list_inbox("ann") == []


async def test_our_own_accounts_need_no_connection(ledger: LedgerSetup) -> None:
    with pytest.raises(Refused, match="is an account of this Gatepost"):
        ledger.store.run_sync(connections.connect, ledger.find_account("bob"), None, by="ann")


async def test_what_others_write_to_a_peer_is_not_stored(ledger: LedgerSetup) -> None:
    peer, other = create_poster(ledger.network), create_poster(ledger.network)
    connect(ledger, peer)
    await ledger.settle()
    for _ in range(3):
        other.send(peer.inbound, "none of our business")
    await ledger.settle()
    [topic] = ledger.list_topics(TopicKind.PEER)
    assert ledger.list_refusals(topic) == []
    assert topic.last_sequence == 4
    assert ledger.verify(topic).first_fault is None


async def test_an_answer_with_the_topic_of_strangers_ends_the_connection(ledger: LedgerSetup) -> None:
    """Otherwise one message would make us read, and keep, all that they write there."""
    peer = create_poster(ledger.network)
    connect(ledger, peer)
    await ledger.settle()
    stranger, busy = create_poster(ledger.network), ledger.network.create_topic("busy")
    for number in range(5):
        stranger.submit(busy, f"message {number}")
    peer.answer(str(ledger.find_account("ann")), 1, topic=busy)
    await ledger.settle()
    assert find(ledger).state is ConnectionState.CLOSED
    assert busy not in [topic.id for topic in ledger.list_topics()]
