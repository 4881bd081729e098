"""The local ledger: what is sent is on it in the same transaction, and can be proved afterwards."""

import json
from base64 import b64decode
from hashlib import sha256

import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Reader, Store, Transaction
from gatepost.errors import NotFound, TooLarge
from gatepost.export.export_actions import export_store
from gatepost.inbox.event import Priority, Ref
from gatepost.ledger import topic_actions as ledger
from gatepost.ledger.hcs import hcs1_files as hcs1, hcs10_messages as hcs10
from gatepost.ledger.topic import LedgerId, TopicKind, TopicMessage
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.stores.statements import Sql
from tests.support.store_context import StoreContext

TASK = Ref("task", "7")


@pytest.fixture
def store(ctx: StoreContext) -> Store:
    """A store with a local ledger, and a task."""
    store = ctx.kit.open(policy=Policy(ledger="local:", work_notify=()))
    store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ann")
    return store


def read_topics(store: Store) -> dict[tuple[str, str | None], list[TopicMessage]]:
    """Return the messages of all topics that have some, by kind and owner; all are proved."""
    return store.read_sync(_read_topics)


def _read_topics(tx: Reader) -> dict[tuple[str, str | None], list[TopicMessage]]:
    result: dict[tuple[str, str | None], list[TopicMessage]] = {}
    for topic in ledger.list_topics(tx, kind=None, viewer=None, limit=1_000):
        verification = ledger.verify_topic(tx, topic)
        assert (verification.proved, verification.first_fault) == (topic.last_sequence, None)
        if topic.last_sequence:
            owner = topic.entity or (str(topic.item) if topic.item else topic.memo)
            result[topic.kind, owner] = [stored.message for stored in ledger.list_messages(tx, topic, limit=1_000)]
    return result


def send(store: Store, to: str, text: str, **fields: object) -> str:
    return store.run_sync(mail.send, MailSpec(to=to, payload={"text": text}, **fields), sender="ann").id  # type: ignore[arg-type]


def read_json(message: TopicMessage) -> dict[str, object]:
    document: dict[str, object] = json.loads(message.content)
    return document


def test_mail_of_every_priority_is_on_the_inbound_topic_of_its_recipient(store: Store) -> None:
    ids = [send(store, "bob", "hello", priority=priority, subject="S") for priority in Priority]
    [(key, messages)] = read_topics(store).items()
    assert key == ("inbound", "bob")
    assert [message.sequence for message in messages] == [1, 2, 3, 4, 5]
    document = read_json(messages[0])
    assert isinstance(document["operator_id"], str)
    inbound, _, account = document["operator_id"].partition("@")
    assert (document["p"], document["op"], account) == ("hcs-10", "message", str(messages[0].payer))
    topic = store.read_sync(ledger.find_topic, inbound)
    assert (topic.entity, topic.memo) == ("ann", f"hcs-10:0:3600:0:{account}")
    datas = [json.loads(str(read_json(message)["data"])) for message in messages]
    assert [(data["uid"], data["priority"]) for data in datas] == list(zip(ids, (1, 2, 3, 4, 5), strict=True))
    assert list(datas[0]) == ["uid", "message_type", "subject", "payload", "context", "ref_id", "ref_type", "priority"]
    assert all(store.read_sync(mail.show, id).posted_at for id in ids)


def test_mail_to_a_team_and_to_every_agent(store: Store, ctx: StoreContext) -> None:
    for name in ("red-1", "red-2"):
        ctx.register(name, team="crew")
    send(store, "team:crew", "all of you")
    send(store, "ALL", "everybody")
    send(store, "husam", "a person")
    assert {key: len(messages) for key, messages in read_topics(store).items()} == {
        ("inbound", "red-1"): 1,
        ("inbound", "red-2"): 1,
        ("broadcast", "gatepost:broadcast"): 1,
        ("inbound", "husam"): 1,
    }


def test_notes_and_events_are_on_the_topic_of_their_work_item(store: Store) -> None:
    note = store.run_sync(work.post_note, TASK, "**Done**", by="ann", notify=["bob"])
    event = store.run_sync(work.post_event, TASK, "blocked", reason="no schema", by="ann")
    [(key, messages)] = read_topics(store).items()
    assert key == ("work", "task:7")
    posted = [hcs10.encode(record.build_data()) for record in (note, event)]
    assert [message.content for message in messages] == posted
    assert note.posted_at is not None
    assert event.posted_at is not None
    topic = str(messages[0].topic)
    assert store.read_sync(work.find, Ref("task", topic)).id == "7", "its topic is another name of it"


def test_ids_that_others_gave_to_work_items_are_left_out(store: Store) -> None:
    store.run_sync(work.post_note, TASK, "first", by="ann")
    [[first]] = read_topics(store).values()
    taken = [str(LedgerId(0, 0, first.topic.number + step)) for step in range(1, 4)]
    store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="one", topic=taken[0]), by="bob")
    store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id=taken[1]), by="bob")
    store.run_sync(work.add, WorkItemSpec(type=WorkType.PHASE, id="two", topic=taken[2]), by="bob")
    store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="8"), by="ann")
    store.run_sync(work.post_note, Ref("task", "8"), "second", by="ann")
    topic = store.read_sync(work.find, Ref("task", "8")).topic
    assert topic is not None
    assert topic not in taken
    assert store.read_sync(work.find, Ref("task", topic)).id == "8"


@pytest.mark.parametrize("length", [20_000, 60_000])
def test_a_longer_text_is_a_file(store: Store, length: int) -> None:
    send(store, "bob", "x" * length)
    store.run_sync(work.post_note, TASK, "ü" * (length // 2), by="ann")
    messages = read_topics(store)
    files = {key[1]: content for key, content in messages.items() if key[0] == "file"}
    assert len(files) == 2
    for memo, parts in files.items():
        assert memo is not None
        assert memo.partition(":")[0] == sha256(read_file(parts)).hexdigest()
        assert all(len(part.content) <= 1_024 for part in parts)
    [reference] = [read_json(message)["data"] for message in messages["inbound", "bob"]]
    assert str(reference).startswith("hcs://1/0.0.")
    file = store.read_sync(ledger.find_topic, str(reference).removeprefix("hcs://1/"))
    assert json.loads(read_file(files[file.memo]))["payload"] == {"text": "x" * length}


def read_file(parts: list[TopicMessage]) -> bytes:
    """Return the content of a file: a frame of Zstandard that is not compressed (RFC 8878)."""
    documents = [json.loads(part.content) for part in parts]
    assert [document["o"] for document in documents] == list(range(len(documents)))
    head, _, data = "".join(document["c"] for document in documents).partition(",")
    assert head in ("data:application/json;base64", "data:text/markdown;base64")
    frame = b64decode(data, validate=True)
    assert frame[:5] == b"\x28\xb5\x2f\xfd\xa0"
    size = int.from_bytes(frame[5:9], "little")
    header = int.from_bytes(frame[9:12], "little")
    assert (header & 1, header >> 1 & 3, header >> 3) == (1, 0, size), "the last block, not compressed"
    assert len(frame) == 12 + size
    return frame[12:]


def test_the_same_file_is_there_once(store: Store) -> None:
    for _ in range(2):
        store.run_sync(work.post_note, TASK, "n" * 5_000, by="ann")
    files = store.read_sync(ledger.list_topics, kind=TopicKind.FILE, viewer=None)
    assert len(files) == 1
    assert hcs1.build_file(b"n" * 5_000, "text/markdown")[0] == files[0].memo


def test_of_a_very_long_text_only_the_hash_is_posted_and_the_record_is_checked(store: Store) -> None:
    send(store, "bob", "x" * 100_000)
    store.run_sync(work.post_note, TASK, "y" * 100_000, by="ann")
    messages = read_topics(store)
    assert set(messages) == {("inbound", "bob"), ("work", "task:7")}
    assert all(len(message.content) < 1_024 for [message] in messages.values())
    tamper(store, "UPDATE outgoing SET data = replace(data, 'xxx', 'yyy')")
    assert find_fault(store, messages["inbound", "bob"]) == (1, "the record in the store is not what was posted")
    assert find_fault(store, messages["work", "task:7"]) is None
    tamper(store, "UPDATE outgoing SET data = replace(data, 'yyy', 'zzz')")
    assert find_fault(store, messages["work", "task:7"]) == (1, "the record in the store is not what was posted")


def test_a_message_with_many_names_is_in_chunks(store: Store, ctx: StoreContext) -> None:
    names = [f"agent-with-a-long-name-{number:02}" for number in range(50)]
    for name in names:
        ctx.register(name)
    store.run_sync(work.post_note, TASK, "look", by="ann", notify=names)
    [messages] = read_topics(store).values()
    assert [(message.chunk.number, message.chunk.total) for message in messages if message.chunk] == [(1, 2), (2, 2)]
    assert json.loads(b"".join(message.content for message in messages))["notify"] == names


def tamper(store: Store, sql: str) -> None:
    store.run_sync(lambda tx: tx.execute(Sql(sql)))


def find_fault(store: Store, messages: list[TopicMessage]) -> tuple[int, str] | None:
    topic = store.read_sync(ledger.find_topic, str(messages[0].topic))
    fault = store.read_sync(ledger.verify_topic, topic).first_fault
    return (fault.sequence, fault.reason) if fault else None


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("UPDATE topic_messages SET payer = '0.0.9' WHERE sequence = 2", (2, "its running hash does not match")),
        ("UPDATE topic_messages SET content = 'e30=' WHERE sequence = 3", (3, "its running hash does not match")),
        ("UPDATE topic_messages SET timestamp = timestamp + 1", (1, "its running hash does not match")),
        ("DELETE FROM topic_messages WHERE sequence = 2", (3, "it does not follow message 1")),
        ("UPDATE topic_messages SET content = 'not base64' WHERE sequence = 3", (3, "its running hash does not match")),
        ("UPDATE topic_messages SET running_hash = '?' WHERE sequence = 3", (3, "its running hash does not match")),
        ("UPDATE topic_messages SET payer = 'nobody' WHERE sequence = 1", (1, "its running hash does not match")),
        ("DELETE FROM topic_messages WHERE sequence = 1", (2, "the message before it is missing")),
        ("DELETE FROM topic_messages WHERE sequence > 2", (3, "it is missing: the topic has 4 messages")),
    ],
)
def test_what_was_changed_behind_its_back_is_found(store: Store, sql: str, fault: tuple[int, str]) -> None:
    for number in range(4):
        send(store, "bob", f"number {number}")
    [messages] = read_topics(store).values()
    tamper(store, sql)
    assert find_fault(store, messages) == fault


def test_times_increase_also_if_the_clock_stands_still(store: Store) -> None:
    for number in range(20):
        send(store, "bob", str(number))
    [messages] = read_topics(store).values()
    timestamps = [message.timestamp for message in messages]
    assert timestamps == sorted(set(timestamps))


def test_what_is_refused_leaves_nothing_on_the_ledger(store: Store) -> None:
    with pytest.raises(TooLarge):
        send(store, "bob", "x", subject="s" * 5_000)

    def send_and_fail(tx: Transaction) -> None:
        mail.send(tx, MailSpec(to="bob", payload={"text": "x"}), sender="ann")
        raise NotFound("no")

    with pytest.raises(NotFound):
        store.run_sync(send_and_fail)
    assert store.read_sync(ledger.list_topics, kind=None, viewer=None) == []


def test_without_a_ledger_nothing_is_posted(ctx: StoreContext) -> None:
    store = ctx.kit.open(policy=Policy(ledger="off"))
    sent = store.run_sync(mail.send, MailSpec(to="bob", payload={"text": "x"}), sender="ann")
    assert sent.posted_at is None
    assert store.read_sync(ledger.list_topics, kind=None, viewer=None) == []


def test_an_entity_sees_its_own_topics_and_those_of_all(store: Store) -> None:
    send(store, "bob", "x")
    send(store, "ALL", "x" * 5_000)
    store.run_sync(work.post_note, TASK, "n", by="ann")
    topics = store.read_sync(ledger.list_topics, kind=None, viewer=None)
    visible = {
        (topic.kind.value, topic.entity) for topic in store.read_sync(ledger.list_topics, kind=None, viewer="bob")
    }
    assert visible == {("inbound", "bob"), ("outbound", "bob"), ("broadcast", None), ("work", None)}
    for topic in topics:
        if (topic.kind.value, topic.entity) in visible:
            assert store.read_sync(ledger.find_topic, topic.id, viewer="bob") == topic
        else:
            with pytest.raises(NotFound):
                store.read_sync(ledger.find_topic, topic.id, viewer="bob")


def test_an_export_has_the_ledger_in_it(store: Store) -> None:
    send(store, "bob", "x")
    lines: list[bytes] = []
    summary = store.read_sync(export_store, lines.append)
    assert (summary.rows["topics"], summary.rows["topic_messages"], summary.rows["ledger_accounts"]) == (4, 1, 2)


def test_ids_of_the_ledger_are_numbers() -> None:
    assert str(LedgerId.parse("0.0.1002")) == "0.0.1002"


def test_a_topic_is_verified_page_by_page(store: Store) -> None:
    for number in range(7):
        send(store, "bob", str(number))
    [messages] = read_topics(store).values()
    topic = store.read_sync(ledger.find_topic, str(messages[0].topic))
    after, pages = 0, []
    while True:
        page = store.read_sync(ledger.verify_topic, topic, after=after, limit=3)
        pages.append((page.messages, page.proved, page.next))
        if page.next is None:
            break
        after = page.next
    assert pages == [(3, 3, 3), (3, 3, 6), (1, 1, None)]


def test_a_changed_message_is_found_on_its_own_page(store: Store) -> None:
    for number in range(7):
        send(store, "bob", str(number))
    [messages] = read_topics(store).values()
    tamper(store, "UPDATE topic_messages SET timestamp = timestamp + 1 WHERE sequence = 4")
    topic = store.read_sync(ledger.find_topic, str(messages[0].topic))
    first, second = (store.read_sync(ledger.verify_topic, topic, after=after, limit=3) for after in (0, 3))
    assert first.first_fault is None
    assert second.first_fault is not None
    assert second.first_fault.sequence == 4
