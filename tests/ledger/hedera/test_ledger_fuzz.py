"""Whatever anybody posts on any topic, the listener goes on."""

import json
from itertools import cycle
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gatepost.ledger.connections import actions as connections
from gatepost.ledger.topic import LedgerId, TopicKind
from gatepost.ledger.topic_actions import list_messages
from tests.ledger.hedera.ledger_setup import LedgerSetup
from tests.ledger.hedera.network.node import HBAR
from tests.ledger.hedera.posters import Poster, create_poster

#: on which strangers are not heard
KINDS = (TopicKind.INBOUND, TopicKind.BROADCAST, TopicKind.WORK)

TEXTS = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | TEXTS | st.floats(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "p op operator_id data m type from_agent note notify reason uid priority subject payload message_type sha384 "
    "context ref_id ref_type connection_topic_id connected_account_id connection_id"
)
DOCUMENTS = st.dictionaries(st.sampled_from(FIELDS.split()) | TEXTS, VALUES, max_size=8)
#: what is nearly right: fields of messages that count, one of them changed
MAIL_DATA = st.fixed_dictionaries({"payload": VALUES}, optional={"priority": VALUES, "uid": VALUES, "context": VALUES})
CHANGES = st.dictionaries(st.sampled_from(FIELDS.split()), VALUES, max_size=2)


@st.composite
def contents(draw: st.DrawFn) -> bytes | dict[str, Any]:
    """Return bytes; or the fields of a message, in which the poster puts its own id."""
    if draw(st.booleans()):
        return draw(st.binary(min_size=1, max_size=200))
    kind = draw(st.sampled_from(["any", "mail", "note"]))
    if kind == "any":
        return draw(DOCUMENTS)
    if kind == "mail":
        data = draw(MAIL_DATA)
        fields: dict[str, Any] = {"p": "hcs-10", "op": "message", "data": data}
        if draw(st.booleans()):
            fields["data"] = json.dumps(data)
    else:
        fields = {"type": "task.note", "from_agent": "ann", "note": draw(TEXTS), "notify": ["bob"]}
    return fields | draw(CHANGES)


def encode(poster: Poster, content: bytes | dict[str, Any]) -> bytes:
    if isinstance(content, bytes):
        return content
    return json.dumps({"operator_id": poster.operator_id, **content}).encode()


class Fuzz(NamedTuple):
    """Topics of every kind, and who posts to them: an entity, a stranger, and agents outside."""

    setup: LedgerSetup
    targets: list[tuple[str, Poster]]
    stranger: Poster


@pytest.fixture
async def fuzz(ledger: LedgerSetup) -> Fuzz:
    ann, stranger, peer, asked = (ledger.create_poster("ann"), *(create_poster(ledger.network) for _ in range(3)))
    peer.ask(ann.inbound)
    ledger.store.run_sync(connections.connect, LedgerId.parse(asked.account), LedgerId.parse(asked.inbound), by="ann")
    await ledger.sync(name="ann")
    [request] = [connection for connection in ledger.list_connections() if connection.is_incoming]
    ledger.store.run_sync(connections.accept, request.id)
    await ledger.settle()
    ledger.read_everything("ann")
    connection, outbound = (ledger.find_topic(kind, "ann") for kind in (TopicKind.CONNECTION, TopicKind.OUTBOUND))
    open_topics = [ledger.find_topic(TopicKind.INBOUND, "bob")]
    open_topics += [ledger.find_topic(kind) for kind in (*KINDS[1:], TopicKind.DEFINITIONS)]
    targets = [(topic.id, poster) for topic in open_topics for poster in (ann, stranger)]
    targets += [(connection.id, ann), (connection.id, peer), (outbound.id, ann)]
    targets += [(asked.inbound, asked), (asked.inbound, stranger)]
    return Fuzz(ledger, targets, stranger)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=12)
@given(st.lists(contents(), min_size=13, max_size=39))
async def test_whatever_is_posted_the_listener_goes_on(fuzz: Fuzz, posted: list[bytes | dict[str, Any]]) -> None:
    """A message of a stranger never counts; at most one event comes of any other, and later mail still arrives."""
    setup = fuzz.setup
    for name in ("ann", "bob"):
        setup.network.set_balance(str(setup.find_account(name)), 100 * HBAR)
    topics = setup.list_topics()
    for content, (topic_id, poster) in zip(posted, cycle(fuzz.targets)):
        poster.submit(topic_id, encode(poster, content))
    await setup.listen()
    for topic in topics:
        if topic.kind is TopicKind.FILE:
            continue
        new_messages = setup.store.read_sync(list_messages, topic, after=topic.last_sequence, limit=1_000)
        if topic.kind is not TopicKind.PEER:
            assert len(setup.network.messages(topic.id)) == topic.last_sequence + len(new_messages)
        for message, refusal, _ in new_messages:
            is_last = message.chunk is None or message.chunk.number == message.chunk.total
            if str(message.payer) == fuzz.stranger.account and is_last and topic.kind in KINDS:
                assert refusal
    events = {name: setup.read_inbox(name) for name in ("ann", "bob")}
    assert sum(map(len, events.values())) <= len(posted)
    senders = {name: {event.sender.name for event in events[name] if event.sender} for name in events}
    assert senders["bob"] <= {"ann"}
    assert senders["ann"] <= {connection.peer for connection in setup.list_connections()}
    setup.send("bob", "still there")
    await setup.run_jobs()
    await setup.listen()
    assert setup.list_inbox("bob").count("still there") == 1
    for name in ("ann", "bob"):
        setup.read_everything(name)
