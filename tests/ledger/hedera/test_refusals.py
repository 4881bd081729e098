"""Everybody can post to most topics: whatever does not count is recorded with the reason, and reaches no inbox."""

import json
from typing import Any

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.inbox.event import Priority, Ref
from gatepost.ledger.topic import MAX_MESSAGE_SIZE, LedgerTopic, TopicKind
from gatepost.mail import work_actions as work
from gatepost.mail.sent_record import PostState
from tests.ledger.hedera.ledger_setup import TASK, LedgerSetup
from tests.ledger.hedera.posters import Poster, create_poster

POSTGRES_BY_NIGHT = True

KINDS = [TopicKind.INBOUND, TopicKind.BROADCAST, TopicKind.WORK]


def find_topic(setup: LedgerSetup, kind: TopicKind) -> LedgerTopic:
    return setup.find_topic(kind, "bob" if kind is TopicKind.INBOUND else None)


def build_content(poster: Poster, kind: TopicKind, text: str, name: str = "ann", **fields: Any) -> str:
    """Return a message that would count if an entity of this name had posted it."""
    if kind is TopicKind.WORK:
        return json.dumps({"type": "task.note", "from_agent": name, "note": text, "notify": ["bob"], **fields})
    return poster.build_message({"payload": {"text": text}, **fields})


async def check_later_messages(setup: LedgerSetup, kind: TopicKind) -> None:
    """See that a message of ours still arrives on a topic, and that nothing else is wrong."""
    setup.read_everything("bob")
    match kind:
        case TopicKind.INBOUND:
            setup.send("bob", "later")
        case TopicKind.BROADCAST:
            setup.send("ALL", "later")
        case _:
            ann = setup.create_poster("ann")
            ann.submit(find_topic(setup, kind).id, build_content(ann, kind, "later"))
    await setup.settle()
    assert setup.list_inbox("bob") == ["later"]
    topic = find_topic(setup, kind)
    assert setup.list_refusals(topic)[-1] is None
    assert setup.verify(topic).first_fault is None
    assert setup.is_balanced()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stranger_reaches_no_inbox(public_ledger: LedgerSetup, kind: TopicKind) -> None:
    setup = public_ledger
    stranger, ann = create_poster(setup.network), setup.create_poster("ann")
    topic = find_topic(setup, kind)
    count = len(setup.list_refusals(topic))
    stranger.submit(topic.id, build_content(stranger, kind, "in my name"))
    stranger.submit(topic.id, build_content(ann, kind, "in the name of ann"))
    long_message = build_content(ann, kind, "a long message " * 200)
    stranger.submit(topic.id, long_message)
    await setup.settle()
    reason = f"account {stranger.account}, which has paid for it, is not one of ours"
    chunk_count = -(-len(long_message) // MAX_MESSAGE_SIZE)
    assert setup.list_refusals(topic)[count:] == [reason] * (2 + chunk_count)
    assert setup.list_inbox("bob") == []
    await check_later_messages(setup, kind)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_entity_cannot_post_in_the_name_of_another(public_ledger: LedgerSetup, kind: TopicKind) -> None:
    setup = public_ledger
    ann, bob = setup.create_poster("ann"), setup.create_poster("bob")
    topic = find_topic(setup, kind)
    count = len(setup.list_refusals(topic))
    ann.submit(topic.id, build_content(bob, kind, "forged", "husam" if kind is TopicKind.WORK else ""))
    await setup.settle()
    account = setup.find_account("husam") if kind is TopicKind.WORK else bob.account
    assert setup.list_refusals(topic)[count:] == [f"it names account {account}, and {ann.account} has paid for it"]
    assert setup.list_inbox("bob") == []
    await check_later_messages(setup, kind)


async def test_a_note_in_the_name_of_nobody_is_refused(ledger: LedgerSetup) -> None:
    ledger.register("carl")  # without an account
    topic = find_topic(ledger, TopicKind.WORK)
    ann = ledger.create_poster("ann")
    for name in ("carl", "nobody"):
        ann.submit(topic.id, build_content(ann, TopicKind.WORK, "forged", name))
    await ledger.settle()
    assert ledger.list_refusals(topic) == [
        "it is from 'carl', and the account of 'ann' has paid for it",
        "it is from 'nobody', and the account of 'ann' has paid for it",
    ]
    await check_later_messages(ledger, TopicKind.WORK)


GARBAGE = [
    b"hello",
    b"\x00\xff\xfe",
    b"{" * 1_000,
    b"[" * 500 + b"]" * 500,
    b'{"a":' * 200,
    b"[]",
    b"17",
    b'{"p": "hcs-10"}',
    b'{"p": "hcs-10", "op": "message"}',
    b'{"p": "hcs-10", "op": "dance", "operator_id": "0.0.1@0.0.2"}',
    b'{"p": "hcs-20", "op": "message"}',
    b'{"p": "hcs-10", "op": "message", "operator_id": "nobody", "data": "x"}',
    b'{"type": "task.note", "from_agent": "ann", "note": "a\\u0000b"}',
    b'{"type": "task.note", "from_agent": "ann", "note": "\\ud800"}',
    b'{"type": "task.note", "from_agent": "ann", "note": 7}',
    b'{"type": "task.note", "from_agent": "ann", "note": " "}',
    b'{"type": "phase.complete", "from_agent": "ann"}',
    b'{"type": "task.Not An Event", "from_agent": "ann"}',
]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_not_a_message_is_refused_with_a_sentence(public_ledger: LedgerSetup, kind: TopicKind) -> None:
    setup = public_ledger
    ann, topic = setup.create_poster("ann"), find_topic(setup, kind)
    count = len(setup.list_refusals(topic))
    for content in GARBAGE:
        ann.submit(topic.id, content)
    ann.submit(topic.id, build_content(ann, kind, "x", priority=9))
    ann.submit(topic.id, build_content(ann, kind, ""))
    ann.submit(topic.id, '{"a":' * 13_000)  # nearly as long as a message can be
    await setup.settle()
    refusals = [refusal for refusal in setup.list_refusals(topic)[count:] if refusal]
    assert len(refusals) == len(GARBAGE) + 3
    assert all(4 < len(refusal) < 300 and refusal.isprintable() for refusal in refusals)
    assert setup.list_inbox("bob") == []
    assert len(setup.store.read_sync(work.list_notes, TASK)) == 0
    assert setup.store.read_sync(work.find, TASK).status != "blocked"
    await check_later_messages(setup, kind)


@pytest.mark.parametrize(
    "op", ["connection_created", "connection_closed", "close_connection", "register", "transaction"]
)
async def test_an_operation_for_another_topic_is_refused(ledger: LedgerSetup, op: str) -> None:
    stranger, topic = create_poster(ledger.network), find_topic(ledger, TopicKind.INBOUND)
    fields = {
        "operator_id": stranger.operator_id,
        "account_id": stranger.account,
        "connection_topic_id": stranger.inbound,
        "connected_account_id": stranger.account,
        "connection_id": 1,
        "outbound_topic_id": stranger.inbound,
        "close_method": "explicit",
        "schedule_id": "0.0.7",
        "data": "x",
    }
    stranger.submit(topic.id, json.dumps({"p": "hcs-10", "op": op, **fields}))
    await ledger.settle()
    [refusal] = ledger.list_refusals(topic)
    assert refusal in (
        "it is not an operation for this topic",
        f"account {stranger.account}, which has paid for it, is not one of ours",
    )
    assert ledger.list_connections() == []
    await check_later_messages(ledger, TopicKind.INBOUND)


async def test_a_retired_entity_is_not_heard(ledger: LedgerSetup) -> None:
    ann, topic = ledger.create_poster("ann"), find_topic(ledger, TopicKind.INBOUND)
    ledger.store.run_sync(directory.retire, "ann")
    ann.send(topic.id, "hello")
    await ledger.settle()
    assert ledger.list_refusals(topic) == ["ann is retired"]
    assert ledger.list_inbox("bob") == []


async def test_what_was_sent_before_its_sender_retired_arrives(ledger: LedgerSetup) -> None:
    sent = ledger.send("bob", "my last mail")
    ledger.post_note("my last note")
    ledger.store.run_sync(directory.retire, "ann")
    await ledger.settle()
    assert ledger.list_inbox("bob") == ["my last mail"]
    assert ledger.show(sent).post is PostState.POSTED
    assert ledger.list_refusals(find_topic(ledger, TopicKind.INBOUND)) == [None]
    assert ledger.list_refusals(find_topic(ledger, TopicKind.WORK)) == [None]


async def test_mail_to_oneself_is_refused(ledger: LedgerSetup) -> None:
    bob, topic = ledger.create_poster("bob"), find_topic(ledger, TopicKind.INBOUND)
    bob.send(topic.id, "hello")
    await ledger.settle()
    assert ledger.list_refusals(topic) == ["bob has sent it to itself"]
    assert ledger.list_inbox("bob") == []


async def test_a_uid_that_is_repeated_by_its_sender_is_delivered_once_to_each(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    setup.send("bob", "hello")
    await setup.settle()
    [message] = setup.read_ledger(TopicKind.INBOUND, "bob")
    ann = setup.create_poster("ann")
    for name in ("bob", "husam", "husam"):
        ann.submit(setup.find_topic(TopicKind.INBOUND, name).id, json.dumps(message))
    await setup.settle()
    assert (setup.list_inbox("bob"), setup.list_inbox("husam")) == (["hello"], ["hello"])
    setup.read_everything("bob")
    ann.submit(setup.find_topic(TopicKind.INBOUND, "bob").id, json.dumps(message))
    await setup.settle()
    assert setup.list_inbox("bob") == []
    assert setup.is_balanced()


async def test_the_uid_of_somebody_else_is_no_mail_of_theirs(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    setup.network.mirror.hold()
    sent = setup.send("bob", "a secret", subject="S")
    await setup.run_jobs()
    topic = setup.find_topic(TopicKind.INBOUND, "bob")
    husam, stranger = setup.create_poster("husam"), create_poster(setup.network)
    husam.send(topic.id, {"uid": sent.id, "payload": {"text": "mine"}})
    stranger.send(topic.id, {"uid": sent.id, "payload": {"text": "foreign"}})
    setup.network.mirror.release()
    await setup.settle()
    events = {event.content: event.sender.name for event in setup.read_inbox("bob") if event.sender is not None}
    assert events == {"a secret": "ann", "mine": "husam"}
    assert setup.list_refusals(topic)[:2] == [None, None]
    assert setup.show(sent).post is PostState.POSTED
    assert setup.is_balanced()


async def test_the_uid_of_a_waiting_mail_does_not_let_another_deliver_it(ledger: LedgerSetup) -> None:
    ledger.network.answer_busy(100)
    sent = ledger.send("bob", "a secret")
    husam = ledger.create_poster("husam")
    husam.send(ledger.find_topic(TopicKind.INBOUND, "bob").id, json.dumps({"uid": sent.id, "sha384": "0" * 96}))
    await ledger.listen()
    assert ledger.list_inbox("bob") == []
    assert ledger.list_refusals(ledger.find_topic(TopicKind.INBOUND, "bob")) == [
        "only the hash of its content was posted, and the content is not here"
    ]
    ledger.network.answer_busy(0)
    await ledger.settle()
    assert ledger.list_inbox("bob") == ["a secret"]


async def test_a_note_that_is_repeated_counts_once(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    ann, topic = setup.create_poster("ann"), find_topic(setup, TopicKind.WORK)
    for _ in range(2):
        ann.submit(topic.id, build_content(ann, TopicKind.WORK, "hello", uid="n1"))
    await setup.settle()
    ann.submit(topic.id, build_content(ann, TopicKind.WORK, "another", uid="n2"))
    await setup.settle()
    assert setup.list_refusals(topic) == [None, "it was posted before", None]
    assert sorted(setup.list_inbox("bob")) == ["another", "hello"]
    assert len(setup.store.read_sync(work.list_notes, TASK)) == 2


async def test_a_chunk_that_is_repeated_delivers_nothing_twice(ledger: LedgerSetup) -> None:
    ann, topic = ledger.create_poster("ann"), find_topic(ledger, TopicKind.INBOUND)
    message = ann.build_message("hello " * 300)
    first = ann.submit_chunk(topic.id, message[:1_000], 1, 2)
    for _ in range(3):
        ann.submit_chunk(topic.id, message[1_000:], 2, 2, first)
    await ledger.settle()
    assert len(ledger.list_inbox("bob")) == 1
    assert ledger.list_refusals(topic) == [None, None, "chunk 2 is there already", "chunk 2 is there already"]


async def test_chunks_in_any_order_are_joined_and_too_many_are_refused(ledger: LedgerSetup) -> None:
    ann, topic = ledger.create_poster("ann"), find_topic(ledger, TopicKind.INBOUND)
    message = ann.build_message("hello " * 300)
    first = ann.submit_chunk(topic.id, message[:800], 1, 3)
    ann.submit_chunk(topic.id, message[1_600:], 3, 3, first)
    ann.submit_chunk(topic.id, message[800:1_600], 2, 3, first)
    ann.submit_chunk(topic.id, message[:800], 1, 65)
    await ledger.settle()
    assert ledger.list_inbox("bob") == [("hello " * 300)]
    assert ledger.list_refusals(topic)[3:] == ["it has 65 chunks, over the limit of 64"]


@pytest.mark.parametrize("priority", range(1, 6))
async def test_a_program_with_the_key_of_an_entity_is_heard_once(ledger: LedgerSetup, priority: int) -> None:
    """Its messages have the form of the source document: the data is an object, there is a time and no uid."""
    ann, topic = ledger.create_poster("ann"), find_topic(ledger, TopicKind.INBOUND)
    data = {
        "message_type": "task.blocked",
        "subject": "No schema",
        "payload": {"table": "orders"},
        "ref_id": "0.0.7",
        "ref_type": "task",
        "priority": priority,
    }
    ann.submit(topic.id, ann.build_message(data, ts="2026-04-25T00:00:00Z"))
    ledger.network.mirror.repeat_pages(3)
    await ledger.settle()
    [event] = ledger.read_inbox("bob")
    assert (event.subject, event.content, event.priority) == ("No schema", '{"table":"orders"}', Priority(priority - 1))
    assert event.sender is not None
    assert (event.sender.name, event.ref, event.source) == ("ann", Ref("task", "0.0.7"), "ledger")
    assert event.source_time == ledger.network.messages(topic.id)[0].timestamp // 1_000
    assert ledger.list_refusals(topic) == [None]


async def test_a_program_posts_notes_events_and_broadcasts(public_ledger: LedgerSetup) -> None:
    setup = public_ledger
    setup.set_policy(work_notify=(("task.blocked", ("husam",), 0),))
    ann = setup.create_poster("ann")
    task, broadcast = (find_topic(setup, kind).id for kind in (TopicKind.WORK, TopicKind.BROADCAST))
    note = {"type": "task.note", "from_agent": "ann", "note": "**done**", "notify": ["bob", "nobody"], "ts": "now"}
    ann.submit(task, json.dumps(note))
    ann.submit(task, json.dumps({"type": "task.blocked", "from_agent": "ann", "reason": "no schema", "ts": 7}))
    ann.send(broadcast, {"message_type": "fyi", "subject": "lunch", "payload": {}, "priority": 5})
    await setup.settle()
    assert (setup.list_inbox("bob"), setup.list_inbox("husam")) == (
        ["**done**", ""],
        ["task:7, by ann: no schema"],
    )
    assert setup.list_inbox("ann") == []
    assert setup.store.read_sync(work.find, TASK).status == "blocked"
    assert [note.data.note for note in setup.store.read_sync(work.list_notes, TASK)] == ["**done**"]
    [event] = setup.store.read_sync(work.list_events, TASK)
    assert (event.data.reason, event.post) == ("no schema", PostState.POSTED)
    assert setup.count_jobs() == 0
    assert len(setup.network.messages(task)) == 2
    assert setup.is_balanced()
