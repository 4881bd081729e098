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
from gatepost.mail.sent_mail import AckRequest, AckState, PostState
from gatepost.mail.work_item import MAX_ID_LENGTH, WorkItemSpec, WorkType
from tests.hedera.office import TASK, LedgerOffice
from tests.hedera.state import Message
from tests.unit.tool_caller import continue_chain

POSTGRES_BY_NIGHT = True


async def test_mail_of_every_priority_is_on_the_ledger_and_in_the_inbox_once(any_office: LedgerOffice) -> None:
    office = any_office
    mails = {priority: office.send("bob", priority.name, subject="S", priority=priority) for priority in Priority}
    urgent = [Priority.CRITICAL.name, Priority.HIGH.name]
    assert office.list_inbox("bob") == (urgent if office.is_public else [priority.name for priority in Priority])
    for sent in mails.values():
        assert office.show(sent).post is (PostState.UNPOSTED if office.is_public else PostState.POSTED)
    await office.settle()
    events = office.read_inbox("bob")
    assert [(event.content, event.priority) for event in events] == [(entry.name, entry) for entry in Priority]
    assert {(event.subject, event.type, event.sender and event.sender.name) for event in events} == {
        ("S", EventType.MAIL, "ann")
    }
    messages = office.read_ledger(TopicKind.INBOUND, "bob")
    for event, message, (priority, sent) in zip(events, messages, mails.items(), strict=True):
        assert (message["p"], message["op"]) == ("hcs-10", "message")
        assert message["operator_id"] == office.find_operator_id("ann")
        data = json.loads(message["data"])
        assert (data["uid"], data["payload"], data["priority"]) == (sent.id, {"text": priority.name}, priority + 1)
        shown = office.show(sent)
        assert (shown.post, shown.event) == (PostState.POSTED, event.id)
        assert shown.posted_at is not None
    assert office.is_balanced()


async def test_the_transaction_of_mail_is_paid_by_its_sender_and_has_a_memo(hedera: LedgerOffice) -> None:
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


async def test_all_fields_of_mail_arrive(office: LedgerOffice) -> None:
    fields: dict[str, Any] = {"message_type": "review.request", "subject": "Ä", "context": {"a": [1]}, "ref": TASK}
    payload = {"text": "see the diff", "files": ["a.py"]}
    sent = office.send("husam", payload=payload, **fields)
    await office.settle()
    [event] = office.read_inbox("husam")
    assert (event.subject, event.content, event.ref) == ("Ä", "see the diff", TASK)
    assert event.data == {
        "mailId": sent.id,
        "threadId": sent.id,
        "messageType": "review.request",
        "payload": payload,
        "context": {"a": [1]},
    }
    [message] = office.read_ledger(TopicKind.INBOUND, "husam")
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
    any_office: LedgerOffice, priority: Priority
) -> None:
    office = any_office
    office.register("carl")
    sent = office.send("ALL", "lunch", priority=priority)
    await office.settle()
    assert {name: office.list_inbox(name) for name in ("ann", "bob", "carl", "husam")} == {
        "ann": [],
        "bob": ["lunch"],
        "carl": ["lunch"],
        "husam": [],
    }
    assert office.list_posted_texts(TopicKind.BROADCAST) == ["lunch"]
    assert [topic.last_sequence for topic in office.list_topics(TopicKind.INBOUND) if topic.entity != "ann"] == []
    assert office.show(sent).post is PostState.POSTED
    office.read_everything("bob")
    await office.settle()
    assert office.list_inbox("bob") == []
    assert office.show(sent).states == {ItemState.DELIVERED: 1}


async def test_mail_to_a_team_is_on_the_topic_of_each_member(any_office: LedgerOffice) -> None:
    office = any_office
    office.register("carl", team="red")
    sent = office.send("team:red", "stand-up")
    await office.settle()
    assert {name: office.list_inbox(name) for name in ("ann", "bob", "carl")} == {
        "ann": [],
        "bob": ["stand-up"],
        "carl": ["stand-up"],
    }
    for name in ("bob", "carl"):
        [message] = office.read_ledger(TopicKind.INBOUND, name)
        assert json.loads(message["data"])["uid"] == sent.id
    assert office.show(sent).states == {ItemState.PENDING: 2}
    assert office.is_balanced()


async def test_who_is_in_a_team_is_decided_when_mail_is_sent(hedera: LedgerOffice) -> None:
    hedera.send("team:red", "for bob")
    hedera.register("carl", team="red")
    await hedera.settle()
    assert (hedera.list_inbox("bob"), hedera.list_inbox("carl")) == (["for bob"], [])
    assert {topic.entity for topic in hedera.list_topics(TopicKind.INBOUND)} == {"ann", "bob"}


async def test_a_note_is_in_the_inboxes_at_once_and_on_the_topic_of_its_work_item(any_office: LedgerOffice) -> None:
    office = any_office
    note = office.post_note("**done**", notify=["bob", "husam"], priority=Priority.LOW)
    assert (office.list_inbox("bob"), office.list_inbox("husam")) == (["**done**"], ["**done**"])
    await office.settle()
    assert (office.list_inbox("bob"), office.list_inbox("husam")) == (["**done**"], ["**done**"])
    [message] = office.read_ledger(TopicKind.WORK)
    assert (message["type"], message["from_agent"], message["note"], message["notify"], message["uid"]) == (
        "task.note",
        "ann",
        "**done**",
        ["bob", "husam"],
        note.id,
    )
    [shown] = office.store.read_sync(work.page_notes, TASK)
    assert shown.post is PostState.POSTED
    assert office.find_topic(TopicKind.WORK).item == TASK
    assert office.is_balanced()


async def test_an_event_goes_to_whom_the_rules_name_and_to_the_ledger(any_office: LedgerOffice) -> None:
    office = any_office
    office.set_limits(work_notify=(("task.blocked", ("husam", "bob"), 0), ("task.complete", ("bob",), 2)))
    office.post_event("blocked", reason="no schema")
    office.post_event("complete")
    texts = ["task:7, by ann: no schema", "task:7, by ann"]
    assert (office.list_inbox("bob"), office.list_inbox("husam")) == (texts, texts[:1])
    await office.settle()
    assert (office.list_inbox("bob"), office.list_inbox("husam")) == (texts, texts[:1])
    messages = office.read_ledger(TopicKind.WORK)
    assert [(message["type"], message["reason"]) for message in messages] == [
        ("task.blocked", "no schema"),
        ("task.complete", ""),
    ]
    assert {event.post for event in office.store.read_sync(work.page_events, TASK)} == {PostState.POSTED}
    assert office.is_balanced()


async def test_a_reply_goes_back_and_is_of_the_same_thread(office: LedgerOffice) -> None:
    first = office.send("bob", "tea?", subject="S", ref=TASK)
    await office.settle()
    [event] = office.read_inbox("bob")
    reply = office.send(None, "yes", sender="bob", reply_to=event.id)
    await office.settle()
    [answer] = office.read_inbox("ann")
    assert (answer.content, answer.subject, answer.ref) == ("yes", "S", TASK)
    assert (reply.to, reply.thread) == ("ann", first.id)
    assert office.list_posted_texts(TopicKind.INBOUND, "ann") == ["yes"]


@pytest.mark.parametrize("priority", [Priority.HIGH, Priority.NORMAL])
async def test_an_acknowledgement_comes_when_all_have_read(any_office: LedgerOffice, priority: Priority) -> None:
    office = any_office
    sent = office.send("team:red", "read this", ack=AckRequest.REQUIRED, priority=priority)
    office.register("carl", team="red")  # too late for this mail
    await office.settle()
    assert (office.show(sent).ack, office.list_inbox("ann")) == (AckState.PENDING, [])
    office.read_everything("bob")
    assert office.list_inbox("ann") == ["your mail to team:red was read by bob"]
    assert office.show(sent).ack is AckState.READ
    assert office.is_balanced()


async def test_mail_that_waited_for_the_ledger_past_its_deadline_is_overdue_and_then_read(hedera: LedgerOffice) -> None:
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


async def test_mail_that_waits_for_the_ledger_keeps_its_place_in_a_chain(hedera: LedgerOffice) -> None:
    """When it is delivered, the run that sent it is over."""
    with continue_chain(hedera.store, "ann", 9):
        hedera.send("bob", "tea?")
    assert hedera.list_inbox("bob") == []
    await hedera.settle()
    [item] = hedera.store.read_sync(inbox.peek, "bob")
    assert (item.event.content, item.event.hops) == ("tea?", 9)


async def read_file(office: LedgerOffice, reference: str) -> bytes:
    """Return the content of a file on the ledger."""
    topic = hcs10.find_reference(reference)
    assert topic is not None
    if office.is_public:
        stored = office.network.topics[str(topic)]
        assert (stored.admin_key, stored.submit_key is None) == (None, False)
        parts = [message.content for message in stored.messages]
        return hcs1.read_file(stored.memo, parts, office.ledger.decompress)[1]
    [file] = [file for file in office.list_topics(TopicKind.FILE) if file.ledger_id == topic]
    return hcs1.read_file(file.memo, [stored.message.content for stored in office.read_messages(file)])[1]


def build_text(size: int) -> str:
    """Return a text that cannot be compressed to nothing."""
    return "".join(f"{number * number % 7919} " for number in range(size))[:size]


async def test_a_long_text_is_in_a_file_and_comes_back_from_it(any_office: LedgerOffice) -> None:
    office = any_office
    text = build_text(20 * 1024)
    sent = office.send("bob", text)
    office.send("ALL", text)
    office.post_note(text, notify=["bob"])
    await office.settle()
    assert office.list_inbox("bob") == [text] * 3
    [message] = office.read_ledger(TopicKind.INBOUND, "bob")
    data = json.loads(await read_file(office, message["data"]))
    assert (data["uid"], data["payload"]["text"]) == (sent.id, text)
    [note] = office.read_ledger(TopicKind.WORK)
    assert (await read_file(office, note["note"])).decode() == text
    assert office.is_balanced()


async def test_a_long_text_of_another_program_is_read_from_its_file(hedera: LedgerOffice) -> None:
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


async def test_the_same_long_text_is_one_file(office: LedgerOffice) -> None:
    for _ in range(2):
        office.post_note(build_text(2_000))
        await office.settle()
    references = {message["note"] for message in office.read_ledger(TopicKind.WORK)}
    assert len(references) == 1
    assert len(office.list_topics(TopicKind.FILE)) == 1


async def test_of_a_very_long_text_the_hash_is_posted_and_the_record_is_checked(
    any_office: LedgerOffice,
) -> None:
    office = any_office
    text = build_text(100 * 1024)
    sent = office.send("bob", text)
    office.send("bob", "short")
    office.post_note(text, notify=["bob"])
    await office.settle()
    assert sorted(office.list_inbox("bob"), key=len) == ["short", text, text]
    assert office.list_topics(TopicKind.FILE) == []
    digest, _ = office.read_ledger(TopicKind.INBOUND, "bob")
    assert set(json.loads(digest["data"])) == {"uid", "sha384"}
    [note] = office.read_ledger(TopicKind.WORK)
    assert note["note"].startswith("sha384:")
    office.change_record("UPDATE outgoing SET data = replace(data, '1', '2') WHERE id = :id", id=sent.id)
    topic = office.find_topic(TopicKind.INBOUND, "bob")
    verification = office.verify(topic)
    assert (verification.messages, verification.proved, verification.wrong) == (2, 1, 1)
    assert verification.first_fault is not None
    assert verification.first_fault.sequence == 1
    assert verification.first_fault.reason == "the record in the store is not what was posted"
    assert office.verify(office.find_topic(TopicKind.WORK)).wrong == 0


async def test_a_note_with_fifty_names_is_in_chunks_and_counts_once(any_office: LedgerOffice) -> None:
    office = any_office
    names = [f"an-agent-with-a-long-name-{number:02}" for number in range(50)]
    for name in names:
        office.register(name)
    office.post_note("all of you", notify=names)
    office.post_note("short")
    await office.settle()
    assert {tuple(office.list_inbox(name)) for name in names} == {("all of you",)}
    chunks = [stored.message.chunk for stored in office.read_messages(office.find_topic(TopicKind.WORK))]
    assert [chunk and (chunk.number, chunk.total) for chunk in chunks] == [(1, 2), (2, 2), None]
    first, second = office.read_ledger(TopicKind.WORK)
    assert (first["notify"], second["note"]) == (names, "short")
    assert len(office.store.read_sync(work.page_notes, TASK)) == 2
    assert office.is_balanced()


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
    office: LedgerOffice, kinds: tuple[str, ...], posted: dict[TopicKind, int]
) -> None:
    office.set_limits(ledger_post=kinds, work_notify=(("task.blocked", ("bob",), 2),))
    sent = office.send("bob", "mail")
    office.post_note("note", notify=["bob"])
    office.post_event("blocked")
    waits = office.is_public and "mail" in kinds
    assert len(office.list_inbox("bob")) == 3 - waits
    await office.settle()
    assert len(office.list_inbox("bob")) == 3
    counts = {kind: sum(topic.last_sequence for topic in office.list_topics(kind)) for kind in TopicKind}
    assert {kind: count for kind, count in counts.items() if count} == posted
    assert office.show(sent).post is (PostState.POSTED if "mail" in kinds else None)
    assert [note.post for note in office.store.read_sync(work.page_notes, TASK)] == [
        PostState.POSTED if "notes" in kinds else None
    ]


async def test_without_a_ledger_everything_works_and_nothing_is_posted(any_office: LedgerOffice) -> None:
    office = any_office
    office.set_limits(ledger="off", work_notify=(("task.blocked", ("bob",), 2),))
    sent = office.send("bob", "mail", ack=AckRequest.REQUIRED)
    office.send("ALL", "broadcast")
    office.post_note(build_text(20 * 1024), notify=["bob"])
    office.post_event("blocked")
    assert len(office.list_inbox("bob")) == 4
    await office.settle()
    [mail_event] = [event for event in office.read_inbox("bob") if event.content == "mail"]
    office.send(None, "reply", sender="bob", reply_to=mail_event.id)
    office.read_everything("bob")
    assert office.list_inbox("ann") == ["reply", "your mail to bob was read by bob"]
    assert (office.show(sent).post, office.show(sent).posted_at, office.count_jobs()) == (None, None, 0)
    assert office.list_topics() == []
    if office.is_public:
        assert office.network.transactions == []
    assert office.is_balanced()


@pytest.mark.parametrize("priority", [Priority.HIGH, Priority.NORMAL])
async def test_mail_is_delivered_in_the_order_in_which_it_was_sent(office: LedgerOffice, priority: Priority) -> None:
    texts = [f"mail {number}" for number in range(5)]
    for text in texts:
        office.send("bob", text, priority=priority)
    await office.settle()
    assert office.list_inbox("bob") == texts
    assert office.list_posted_texts(TopicKind.INBOUND, "bob") == texts


async def test_many_senders_to_one_recipient_make_each_account_and_topic_once(public_office: LedgerOffice) -> None:
    office = public_office
    names = [f"agent-{number}" for number in range(12)]
    for name in names:
        office.register(name)
    for name in names:
        office.send("bob", f"from {name}", sender=name)
        office.post_note("a note", by=name)
    await office.settle()
    assert sorted(office.list_inbox("bob")) == sorted(f"from {name}" for name in names)
    assert len(office.read_ledger(TopicKind.WORK)) == 12
    assert office.count_orphans() == (0, 0)
    assert office.is_balanced()


async def test_two_that_write_long_messages_at_once_are_both_read(public_office: LedgerOffice) -> None:
    """Their chunks come in turns on one topic."""
    office = public_office
    office.post_note("first", by="ann")
    await office.sync()
    topic = office.find_topic(TopicKind.WORK)
    parts: dict[str, list[str]] = {}
    for name in ("ann", "bob"):
        note = json.dumps({"type": "task.note", "from_agent": name, "note": name * 800, "notify": ["husam"]})
        parts[name] = [note[start : start + 1_024] for start in range(0, len(note), 1_024)]
    posters = {name: office.create_poster(name) for name in parts}
    firsts: dict[str, Message] = {}
    for number in (1, 2, 3):
        for name, poster in posters.items():
            chunk = poster.submit_chunk(topic.id, parts[name][number - 1], number, 3, firsts.get(name))
            firsts.setdefault(name, chunk)
            await office.listen()
    assert sorted(office.list_inbox("husam")) == ["ann" * 800, "bob" * 800]
    chunks = [message.chunk for message in office.network.messages(topic.id)]
    assert [chunk and chunk.number for chunk in chunks] == [None, 1, 1, 2, 2, 3, 3]
    assert office.list_refusals(topic) == [None] * 7


async def test_another_work_item_has_another_topic(office: LedgerOffice) -> None:
    office.store.run_sync(work.add, WorkItemSpec(type=WorkType.PHASE, id="p1"), by="ann")
    office.post_note("to the task")
    office.store.run_sync(work.post_note, office.store.read_sync(work.page)[1].ref, "to the phase", by="bob")
    await office.settle()
    memos = {topic.memo: topic.last_sequence for topic in office.list_topics(TopicKind.WORK)}
    assert memos == {"gatepost:task:7": 1, "gatepost:phase:p1": 1}
    items = office.store.read_sync(work.page)
    assert {item.topic for item in items} == {topic.id for topic in office.list_topics(TopicKind.WORK)}


async def test_nothing_of_a_topic_is_shown_to_others(office: LedgerOffice) -> None:
    office.send("bob")
    await office.settle()
    topic = office.find_topic(TopicKind.INBOUND, "bob")
    assert office.store.read_sync(ledger.find_topic, topic.id, viewer="bob").id == topic.id
    with pytest.raises(NotFound):
        office.store.read_sync(ledger.find_topic, topic.id, viewer="ann")


async def test_mail_to_who_retires_before_it_is_delivered_goes_nowhere(hedera: LedgerOffice) -> None:
    sent = hedera.send("bob", "too late", ack=AckRequest.REQUIRED)
    hedera.store.run_sync(directory.retire, "bob")
    await hedera.settle()
    assert hedera.show(sent).post is PostState.POSTED
    hedera.kit.clock.advance("1 hour")
    assert hedera.deliver_overdue() == 0
    assert hedera.list_inbox("bob") == []
    assert hedera.is_balanced()


async def test_a_work_item_with_a_long_id_has_a_topic(office: LedgerOffice) -> None:
    item = office.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="x" * MAX_ID_LENGTH), by="ann")
    office.store.run_sync(work.post_note, item.ref, "hello", by="ann")
    await office.settle()
    assert [message["note"] for message in office.read_ledger(TopicKind.WORK)] == ["hello"]


async def test_what_is_sent_before_and_after_the_ledger_is_changed_is_delivered_and_posted(
    hedera: LedgerOffice,
) -> None:
    hedera.set_limits(ledger="local:")
    hedera.send("bob", "on the local one")
    hedera.post_note("a note")
    hedera.set_limits(ledger="hedera:testnet")
    waiting = hedera.send("bob", "on Hedera")
    hedera.post_note("another note")
    hedera.set_limits(ledger="off")
    hedera.send("bob", "on none")
    hedera.kit.clock.advance("1 minute")
    hedera.deliver_overdue()
    assert hedera.list_inbox("bob") == ["on the local one", "on none", "on Hedera"]
    assert hedera.show(waiting).post is PostState.UNPOSTED
    hedera.set_limits(ledger="hedera:testnet")
    await hedera.settle()
    assert hedera.show(waiting).post is PostState.POSTED
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == ["on Hedera"]
    assert [message["note"] for message in hedera.read_ledger(TopicKind.WORK)] == ["another note"]
    assert hedera.list_inbox("bob") == ["on the local one", "on none", "on Hedera"]
