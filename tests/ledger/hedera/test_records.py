"""What is sent reaches the ledger and the inbox once, on the local ledger and on Hedera."""

import json
from typing import Any

import pytest

from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.errors import NotFound
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, ItemState, Priority
from gatepost.ledger import topic_actions as ledger
from gatepost.ledger.hcs import hcs1_files as hcs1, hcs10_messages as hcs10
from gatepost.ledger.topic import TopicKind
from gatepost.mail import read_receipt_actions as read_receipts, work_actions as work
from gatepost.mail.sent_record import AckRequest, AckState, PostState
from gatepost.mail.work_item import MAX_ID_LENGTH, WorkItemSpec, WorkType
from tests.ledger.hedera.ledger_setup import TASK, LedgerSetup
from tests.ledger.hedera.network.state import Message
from tests.residents.tools.tool_caller import continue_chain

POSTGRES_BY_NIGHT = True


async def test_mail_of_every_priority_is_on_the_ledger_and_in_the_inbox_once(any_setup: LedgerSetup) -> None:
    setup = any_setup
    mails = {priority: setup.send("bob", priority.name, subject="S", priority=priority) for priority in Priority}
    urgent = [Priority.CRITICAL.name, Priority.HIGH.name]
    assert setup.list_inbox("bob") == (urgent if setup.is_public else [priority.name for priority in Priority])
    for sent in mails.values():
        assert setup.show(sent).post is (PostState.UNPOSTED if setup.is_public else PostState.POSTED)
    await setup.settle()
    events = setup.read_inbox("bob")
    assert [(event.content, event.priority) for event in events] == [(entry.name, entry) for entry in Priority]
    assert {(event.subject, event.type, event.sender and event.sender.name) for event in events} == {
        ("S", EventType.MAIL, "ann")
    }
    messages = setup.read_ledger(TopicKind.INBOUND, "bob")
    for event, message, (priority, sent) in zip(events, messages, mails.items(), strict=True):
        assert (message["p"], message["op"]) == ("hcs-10", "message")
        assert message["operator_id"] == setup.find_operator_id("ann")
        data = json.loads(message["data"])
        assert (data["uid"], data["payload"], data["priority"]) == (sent.id, {"text": priority.name}, priority + 1)
        shown = setup.show(sent)
        assert (shown.post, shown.event) == (PostState.POSTED, event.id)
        assert shown.posted_at is not None
    assert setup.is_balanced()


async def test_the_transaction_of_mail_is_paid_by_its_sender_and_has_a_memo(hedera: LedgerSetup) -> None:
    hedera.send("bob")
    hedera.send("ALL")
    hedera.post_note()
    await hedera.settle()
    memos = {
        kind: [(str(hedera.find_account("ann")) == message.payer, message.memo) for message in messages]
        for kind, entity in ((TopicKind.INBOUND, "bob"), (TopicKind.BROADCAST, None), (TopicKind.WORK, None))
        if (messages := hedera.network.messages(hedera.find_topic(kind, entity).id))
    }
    assert memos == {
        TopicKind.INBOUND: [(True, "hcs-10:op:6:1")],
        TopicKind.BROADCAST: [(True, "hcs-10:op:6:1")],
        TopicKind.WORK: [(True, "")],
    }


async def test_all_fields_of_mail_arrive(setup: LedgerSetup) -> None:
    fields: dict[str, Any] = {"message_type": "review.request", "subject": "Ä", "context": {"a": [1]}, "ref": TASK}
    payload = {"text": "see the diff", "files": ["a.py"]}
    sent = setup.send("husam", payload=payload, **fields)
    await setup.settle()
    [event] = setup.read_inbox("husam")
    assert (event.subject, event.content, event.ref) == ("Ä", "see the diff", TASK)
    assert event.data == {
        "mailId": sent.id,
        "threadId": sent.id,
        "messageType": "review.request",
        "payload": payload,
        "context": {"a": [1]},
    }
    [message] = setup.read_ledger(TopicKind.INBOUND, "husam")
    assert json.loads(message["data"]) == {
        "uid": sent.id,
        "message_type": "review.request",
        "subject": "Ä",
        "payload": payload,
        "context": {"a": [1]},
        "ref_id": "7",
        "ref_type": "task",
        "priority": 3,
    }


@pytest.mark.parametrize("priority", [Priority.HIGH, Priority.NORMAL])
async def test_mail_to_all_reaches_each_agent_once_and_its_sender_not(
    any_setup: LedgerSetup, priority: Priority
) -> None:
    setup = any_setup
    setup.register("carl")
    sent = setup.send("ALL", "lunch", priority=priority)
    await setup.settle()
    assert {name: setup.list_inbox(name) for name in ("ann", "bob", "carl", "husam")} == {
        "ann": [],
        "bob": ["lunch"],
        "carl": ["lunch"],
        "husam": [],
    }
    assert setup.list_posted_texts(TopicKind.BROADCAST) == ["lunch"]
    assert [topic.last_sequence for topic in setup.list_topics(TopicKind.INBOUND) if topic.entity != "ann"] == []
    assert setup.show(sent).post is PostState.POSTED
    setup.read_everything("bob")
    await setup.settle()
    assert setup.list_inbox("bob") == []
    assert setup.show(sent).states == {ItemState.DELIVERED: 1}


async def test_mail_to_a_team_is_on_the_topic_of_each_member(any_setup: LedgerSetup) -> None:
    setup = any_setup
    setup.register("carl", team="red")
    sent = setup.send("team:red", "stand-up")
    await setup.settle()
    assert {name: setup.list_inbox(name) for name in ("ann", "bob", "carl")} == {
        "ann": [],
        "bob": ["stand-up"],
        "carl": ["stand-up"],
    }
    for name in ("bob", "carl"):
        [message] = setup.read_ledger(TopicKind.INBOUND, name)
        assert json.loads(message["data"])["uid"] == sent.id
    assert setup.show(sent).states == {ItemState.PENDING: 2}
    assert setup.is_balanced()


async def test_who_is_in_a_team_is_decided_when_mail_is_sent(hedera: LedgerSetup) -> None:
    hedera.send("team:red", "for bob")
    hedera.register("carl", team="red")
    await hedera.settle()
    assert (hedera.list_inbox("bob"), hedera.list_inbox("carl")) == (["for bob"], [])
    assert {topic.entity for topic in hedera.list_topics(TopicKind.INBOUND)} == {"ann", "bob"}


async def test_a_note_is_in_the_inboxes_at_once_and_on_the_topic_of_its_work_item(any_setup: LedgerSetup) -> None:
    setup = any_setup
    note = setup.post_note("**done**", notify=["bob", "husam"], priority=Priority.LOW)
    assert (setup.list_inbox("bob"), setup.list_inbox("husam")) == (["**done**"], ["**done**"])
    await setup.settle()
    assert (setup.list_inbox("bob"), setup.list_inbox("husam")) == (["**done**"], ["**done**"])
    [message] = setup.read_ledger(TopicKind.WORK)
    assert (message["type"], message["from_agent"], message["note"], message["notify"], message["uid"]) == (
        "task.note",
        "ann",
        "**done**",
        ["bob", "husam"],
        note.id,
    )
    [shown] = setup.store.read_sync(work.list_notes, TASK)
    assert shown.post is PostState.POSTED
    assert setup.find_topic(TopicKind.WORK).item == TASK
    assert setup.is_balanced()


async def test_an_event_goes_to_whom_the_rules_name_and_to_the_ledger(any_setup: LedgerSetup) -> None:
    setup = any_setup
    setup.set_policy(work_notify=(("task.blocked", ("husam", "bob"), 0), ("task.complete", ("bob",), 2)))
    setup.post_event("blocked", reason="no schema")
    setup.post_event("complete")
    texts = ["task:7, by ann: no schema", "task:7, by ann"]
    assert (setup.list_inbox("bob"), setup.list_inbox("husam")) == (texts, texts[:1])
    await setup.settle()
    assert (setup.list_inbox("bob"), setup.list_inbox("husam")) == (texts, texts[:1])
    messages = setup.read_ledger(TopicKind.WORK)
    assert [(message["type"], message["reason"]) for message in messages] == [
        ("task.blocked", "no schema"),
        ("task.complete", ""),
    ]
    assert {event.post for event in setup.store.read_sync(work.list_events, TASK)} == {PostState.POSTED}
    assert setup.is_balanced()


async def test_a_reply_goes_back_and_is_of_the_same_thread(setup: LedgerSetup) -> None:
    first = setup.send("bob", "tea?", subject="S", ref=TASK)
    await setup.settle()
    [event] = setup.read_inbox("bob")
    reply = setup.send(None, "yes", sender="bob", reply_to=event.id)
    await setup.settle()
    [answer] = setup.read_inbox("ann")
    assert (answer.content, answer.subject, answer.ref) == ("yes", "S", TASK)
    assert (reply.to, reply.thread) == ("ann", first.id)
    assert setup.list_posted_texts(TopicKind.INBOUND, "ann") == ["yes"]


@pytest.mark.parametrize("priority", [Priority.HIGH, Priority.NORMAL])
async def test_an_acknowledgement_comes_when_all_have_read(any_setup: LedgerSetup, priority: Priority) -> None:
    setup = any_setup
    sent = setup.send("team:red", "read this", ack=AckRequest.REQUIRED, priority=priority)
    setup.register("carl", team="red")  # too late for this mail
    await setup.settle()
    assert (setup.show(sent).ack, setup.list_inbox("ann")) == (AckState.PENDING, [])
    setup.read_everything("bob")
    assert setup.list_inbox("ann") == ["your mail to team:red was read by bob"]
    assert setup.show(sent).ack is AckState.READ
    assert setup.is_balanced()


async def test_mail_that_waited_for_the_ledger_past_its_deadline_is_overdue_and_then_read(hedera: LedgerSetup) -> None:
    hedera.network.stop_nodes()
    sent = hedera.send("bob", "read this", ack=AckRequest.REQUIRED, ack_within=2 * HOUR)
    hedera.kit.clock.advance("3 hours")
    hedera.store.run_sync(read_receipts.report_overdue)
    assert hedera.list_inbox("ann") == ["your mail to bob was not read by bob within 2h"]
    hedera.network.start_nodes()
    await hedera.settle()
    hedera.read_everything("bob")
    assert hedera.list_inbox("ann")[1:] == ["your mail to bob was read by bob"]
    assert hedera.show(sent).ack is AckState.READ


async def test_mail_that_waits_for_the_ledger_keeps_its_place_in_a_chain(hedera: LedgerSetup) -> None:
    """When it is delivered, the run that sent it is over."""
    with continue_chain(hedera.store, "ann", 9):
        hedera.send("bob", "tea?")
    assert hedera.list_inbox("bob") == []
    await hedera.settle()
    [item] = hedera.store.read_sync(inbox.peek, "bob")
    assert (item.event.content, item.event.hops) == ("tea?", 9)


async def read_file(setup: LedgerSetup, reference: str) -> bytes:
    """Return the content of a file on the ledger."""
    topic = hcs10.find_reference(reference)
    assert topic is not None
    if setup.is_public:
        stored = setup.network.topics[str(topic)]
        assert (stored.admin_key, stored.submit_key is None) == (None, False)
        parts = [message.content for message in stored.messages]
        return hcs1.read_file(stored.memo, parts, setup.ledger.decompress)[1]
    [file] = [file for file in setup.list_topics(TopicKind.FILE) if file.ledger_id == topic]
    return hcs1.read_file(file.memo, [stored.message.content for stored in setup.read_messages(file)])[1]


def build_text(size: int) -> str:
    """Return a text that cannot be compressed to nothing."""
    return "".join(f"{number * number % 7919} " for number in range(size))[:size]


async def test_a_long_text_is_in_a_file_and_comes_back_from_it(any_setup: LedgerSetup) -> None:
    setup = any_setup
    text = build_text(20 * 1024)
    sent = setup.send("bob", text)
    setup.send("ALL", text)
    setup.post_note(text, notify=["bob"])
    await setup.settle()
    assert setup.list_inbox("bob") == [text] * 3
    [message] = setup.read_ledger(TopicKind.INBOUND, "bob")
    data = json.loads(await read_file(setup, message["data"]))
    assert (data["uid"], data["payload"]["text"]) == (sent.id, text)
    [note] = setup.read_ledger(TopicKind.WORK)
    assert (await read_file(setup, note["note"])).decode() == text
    assert setup.is_balanced()


async def test_a_long_text_of_another_program_is_read_from_its_file(hedera: LedgerSetup) -> None:
    """The listener knows nothing of it but the ledger."""
    text = build_text(20 * 1024)
    first = hedera.send("bob", text)
    await hedera.settle()
    [message] = hedera.read_ledger(TopicKind.INBOUND, "bob")
    hedera.register("carl")
    await hedera.sync(name="carl")
    hedera.create_poster("ann").submit(hedera.find_topic(TopicKind.INBOUND, "carl").id, json.dumps(message))
    await hedera.settle()
    assert hedera.list_inbox("carl") == [text]
    assert first.id in str(hedera.read_inbox("carl")[0].dedup_key)


async def test_the_same_long_text_is_one_file(setup: LedgerSetup) -> None:
    for _ in range(2):
        setup.post_note(build_text(2_000))
        await setup.settle()
    references = {message["note"] for message in setup.read_ledger(TopicKind.WORK)}
    assert len(references) == 1
    assert len(setup.list_topics(TopicKind.FILE)) == 1


async def test_of_a_very_long_text_the_hash_is_posted_and_the_record_is_checked(
    any_setup: LedgerSetup,
) -> None:
    setup = any_setup
    text = build_text(100 * 1024)
    sent = setup.send("bob", text)
    setup.send("bob", "short")
    setup.post_note(text, notify=["bob"])
    await setup.settle()
    assert sorted(setup.list_inbox("bob"), key=len) == ["short", text, text]
    assert setup.list_topics(TopicKind.FILE) == []
    digest, _ = setup.read_ledger(TopicKind.INBOUND, "bob")
    assert set(json.loads(digest["data"])) == {"uid", "sha384"}
    [note] = setup.read_ledger(TopicKind.WORK)
    assert note["note"].startswith("sha384:")
    setup.change_record("UPDATE outgoing SET data = replace(data, '1', '2') WHERE id = :id", id=sent.id)
    topic = setup.find_topic(TopicKind.INBOUND, "bob")
    verification = setup.verify(topic)
    assert (verification.messages, verification.proved, verification.wrong) == (2, 1, 1)
    assert verification.first_fault is not None
    assert verification.first_fault.sequence == 1
    assert verification.first_fault.reason == "the record in the store is not what was posted"
    assert setup.verify(setup.find_topic(TopicKind.WORK)).wrong == 0


async def test_a_note_with_fifty_names_is_in_chunks_and_counts_once(any_setup: LedgerSetup) -> None:
    setup = any_setup
    names = [f"an-agent-with-a-long-name-{number:02}" for number in range(50)]
    for name in names:
        setup.register(name)
    setup.post_note("all of you", notify=names)
    setup.post_note("short")
    await setup.settle()
    assert {tuple(setup.list_inbox(name)) for name in names} == {("all of you",)}
    chunks = [stored.message.chunk for stored in setup.read_messages(setup.find_topic(TopicKind.WORK))]
    assert [chunk and (chunk.number, chunk.total) for chunk in chunks] == [(1, 2), (2, 2), None]
    first, second = setup.read_ledger(TopicKind.WORK)
    assert (first["notify"], second["note"]) == (names, "short")
    assert len(setup.store.read_sync(work.list_notes, TASK)) == 2
    assert setup.is_balanced()


@pytest.mark.parametrize(
    ("kinds", "posted"),
    [
        (("notes", "events"), {TopicKind.WORK: 2}),
        (("mail", "events"), {TopicKind.INBOUND: 1, TopicKind.WORK: 1}),
        (("mail", "notes"), {TopicKind.INBOUND: 1, TopicKind.WORK: 1}),
        ((), {}),
    ],
)
async def test_what_the_setting_leaves_out_is_delivered_and_not_posted(
    setup: LedgerSetup, kinds: tuple[str, ...], posted: dict[TopicKind, int]
) -> None:
    setup.set_policy(ledger_post=kinds, work_notify=(("task.blocked", ("bob",), 2),))
    sent = setup.send("bob", "mail")
    setup.post_note("note", notify=["bob"])
    setup.post_event("blocked")
    waits = setup.is_public and "mail" in kinds
    assert len(setup.list_inbox("bob")) == 3 - waits
    await setup.settle()
    assert len(setup.list_inbox("bob")) == 3
    counts = {kind: sum(topic.last_sequence for topic in setup.list_topics(kind)) for kind in TopicKind}
    assert {kind: count for kind, count in counts.items() if count} == posted
    assert setup.show(sent).post is (PostState.POSTED if "mail" in kinds else None)
    assert [note.post for note in setup.store.read_sync(work.list_notes, TASK)] == [
        PostState.POSTED if "notes" in kinds else None
    ]


async def test_without_a_ledger_everything_works_and_nothing_is_posted(any_setup: LedgerSetup) -> None:
    setup = any_setup
    setup.set_policy(ledger="off", work_notify=(("task.blocked", ("bob",), 2),))
    sent = setup.send("bob", "mail", ack=AckRequest.REQUIRED)
    setup.send("ALL", "broadcast")
    setup.post_note(build_text(20 * 1024), notify=["bob"])
    setup.post_event("blocked")
    assert len(setup.list_inbox("bob")) == 4
    await setup.settle()
    [mail_event] = [event for event in setup.read_inbox("bob") if event.content == "mail"]
    setup.send(None, "reply", sender="bob", reply_to=mail_event.id)
    setup.read_everything("bob")
    assert setup.list_inbox("ann") == ["reply", "your mail to bob was read by bob"]
    assert (setup.show(sent).post, setup.show(sent).posted_at, setup.count_jobs()) == (None, None, 0)
    assert setup.list_topics() == []
    if setup.is_public:
        assert setup.network.transactions == []
    assert setup.is_balanced()


@pytest.mark.parametrize("priority", [Priority.HIGH, Priority.NORMAL])
async def test_mail_is_delivered_in_the_order_in_which_it_was_sent(setup: LedgerSetup, priority: Priority) -> None:
    texts = [f"mail {number}" for number in range(5)]
    for text in texts:
        setup.send("bob", text, priority=priority)
    await setup.settle()
    assert setup.list_inbox("bob") == texts
    assert setup.list_posted_texts(TopicKind.INBOUND, "bob") == texts


async def test_many_senders_to_one_recipient_make_each_account_and_topic_once(public_setup: LedgerSetup) -> None:
    setup = public_setup
    names = [f"agent-{number}" for number in range(12)]
    for name in names:
        setup.register(name)
    for name in names:
        setup.send("bob", f"from {name}", sender=name)
        setup.post_note("a note", by=name)
    await setup.settle()
    assert sorted(setup.list_inbox("bob")) == sorted(f"from {name}" for name in names)
    assert len(setup.read_ledger(TopicKind.WORK)) == 12
    assert setup.count_orphans() == (0, 0)
    assert setup.is_balanced()


async def test_two_that_write_long_messages_at_once_are_both_read(public_setup: LedgerSetup) -> None:
    """Their chunks come in turns on one topic."""
    setup = public_setup
    setup.post_note("first", by="ann")
    await setup.sync()
    topic = setup.find_topic(TopicKind.WORK)
    parts: dict[str, list[str]] = {}
    for name in ("ann", "bob"):
        note = json.dumps({"type": "task.note", "from_agent": name, "note": name * 800, "notify": ["husam"]})
        parts[name] = [note[start : start + 1_024] for start in range(0, len(note), 1_024)]
    posters = {name: setup.create_poster(name) for name in parts}
    firsts: dict[str, Message] = {}
    for number in (1, 2, 3):
        for name, poster in posters.items():
            chunk = poster.submit_chunk(topic.id, parts[name][number - 1], number, 3, firsts.get(name))
            firsts.setdefault(name, chunk)
            await setup.listen()
    assert sorted(setup.list_inbox("husam")) == ["ann" * 800, "bob" * 800]
    chunks = [message.chunk for message in setup.network.messages(topic.id)]
    assert [chunk and chunk.number for chunk in chunks] == [None, 1, 1, 2, 2, 3, 3]
    assert setup.list_refusals(topic) == [None] * 7


async def test_another_work_item_has_another_topic(setup: LedgerSetup) -> None:
    setup.store.run_sync(work.add, WorkItemSpec(type=WorkType.PHASE, id="p1"), by="ann")
    setup.post_note("to the task")
    setup.store.run_sync(work.post_note, setup.store.read_sync(work.list_page)[1].ref, "to the phase", by="bob")
    await setup.settle()
    memos = {topic.memo: topic.last_sequence for topic in setup.list_topics(TopicKind.WORK)}
    assert memos == {"gatepost:task:7": 1, "gatepost:phase:p1": 1}
    items = setup.store.read_sync(work.list_page)
    assert {item.topic for item in items} == {topic.id for topic in setup.list_topics(TopicKind.WORK)}


async def test_nothing_of_a_topic_is_shown_to_others(setup: LedgerSetup) -> None:
    setup.send("bob")
    await setup.settle()
    topic = setup.find_topic(TopicKind.INBOUND, "bob")
    assert setup.store.read_sync(ledger.find_topic, topic.id, viewer="bob").id == topic.id
    with pytest.raises(NotFound):
        setup.store.read_sync(ledger.find_topic, topic.id, viewer="ann")


async def test_mail_to_who_retires_before_it_is_delivered_goes_nowhere(hedera: LedgerSetup) -> None:
    sent = hedera.send("bob", "too late", ack=AckRequest.REQUIRED)
    hedera.store.run_sync(directory.retire, "bob")
    await hedera.settle()
    assert hedera.show(sent).post is PostState.POSTED
    hedera.kit.clock.advance("1 hour")
    assert hedera.deliver_overdue() == 0
    assert hedera.list_inbox("bob") == []
    assert hedera.is_balanced()


async def test_a_work_item_with_a_long_id_has_a_topic(setup: LedgerSetup) -> None:
    item = setup.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="x" * MAX_ID_LENGTH), by="ann")
    setup.store.run_sync(work.post_note, item.ref, "hello", by="ann")
    await setup.settle()
    assert [message["note"] for message in setup.read_ledger(TopicKind.WORK)] == ["hello"]


async def test_what_is_sent_before_and_after_the_ledger_is_changed_is_delivered_and_posted(
    hedera: LedgerSetup,
) -> None:
    hedera.set_policy(ledger="local:")
    hedera.send("bob", "on the local one")
    hedera.post_note("a note")
    hedera.set_policy(ledger="hedera:testnet")
    waiting = hedera.send("bob", "on Hedera")
    hedera.post_note("another note")
    hedera.set_policy(ledger="off")
    hedera.send("bob", "on none")
    hedera.kit.clock.advance("1 minute")
    hedera.deliver_overdue()
    assert hedera.list_inbox("bob") == ["on the local one", "on none", "on Hedera"]
    assert hedera.show(waiting).post is PostState.UNPOSTED
    hedera.set_policy(ledger="hedera:testnet")
    await hedera.settle()
    assert hedera.show(waiting).post is PostState.POSTED
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == ["on Hedera"]
    assert [message["note"] for message in hedera.read_ledger(TopicKind.WORK)] == ["another note"]
    assert hedera.list_inbox("bob") == ["on the local one", "on none", "on Hedera"]
