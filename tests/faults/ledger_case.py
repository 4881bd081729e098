"""
A store with much to post, a network of Hedera of its own, and the processes that post and read.

Everything that has to be done is in the store before the first process begins, and the ids in it are the same in every
case. So what is on the network and in the store afterwards can be compared, whatever happened on the way.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

from gatepost.app import open_store
from gatepost.core.ports import Reader, Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Priority, Ref
from gatepost.jobs import job_actions as jobs
from gatepost.ledger import (
    posting_actions as ledger_posts,
    profile_actions as ledger_profiles,
    topic_actions as ledger,
    topic_rows as topics,
)
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.hcs import hcs1_files as hcs1, hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import OperatorId
from gatepost.ledger.hedera import compression, import_key
from gatepost.ledger.topic import LedgerId, LedgerTopic, TopicKind
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.testing import MORNING, FakeClock
from tests.faults.crew_store import RunQuery, open_database
from tests.faults.forked_tasks import SharedClock
from tests.faults.ledger_process import JOB_KINDS, POLICY, Task
from tests.ledger.hedera.network.node import HederaNetwork

ROOT: Final = Path(__file__).parent.parent.parent
TASK: Final = Ref("task", "7")
NETWORK: Final = "testnet"
#: the first accounts and topics of every network: the operator, dan, two strangers, and inbound topics
DAN, STRANGER, OTHER = (LedgerId.parse(f"0.0.{number}") for number in (1_002, 1_003, 1_004))
DAN_INBOUND, STRANGER_INBOUND, OTHER_INBOUND = (LedgerId.parse(f"0.0.{number}") for number in (1_005, 1_006, 1_007))
_ALIASES: Final = tuple(f"cat-{'x' * 50}-{number:02}" for number in range(30))


def fill_store(url: str) -> None:
    """Put everything into a store that is to be posted."""
    clock = FakeClock()
    with closing(open_store(url, clock=clock, policy=POLICY)) as store:
        store.migrate()
        store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
        for name in ("ann", "bob"):
            store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="red"))
        cat = EntitySpec(name="cat", kind=EntityKind.AGENT, team="red", aliases=list(_ALIASES))
        store.run_sync(directory.register, cat)
        store.run_sync(directory.register, EntitySpec(name="dan", kind=EntityKind.AGENT))
        store.run_sync(ledger_posts.save_account, NETWORK, store.read_sync(directory.find, "dan"), DAN)
        store.run_sync(
            ledger_posts.save_topic,
            *(NETWORK, DAN_INBOUND, TopicKind.INBOUND),
            memo=hcs10.build_inbound_memo(DAN),
            entity=store.read_sync(directory.find, "dan"),
        )
        store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ann")
        for spec in (
            MailSpec(to="team:red", payload={"text": "tea?"}),
            MailSpec(to="bob", payload={"text": "fire!"}, priority=Priority.HIGH),
            MailSpec(to="cat", payload={"text": _build_long_text()}),
        ):
            store.run_sync(mail.send, spec, sender="ann")
        store.run_sync(work.post_note, TASK, "look", by="bob", notify=_ALIASES)
        store.run_sync(work.post_event, TASK, "blocked", reason="no tea", by="ann")
        store.run_sync(ledger_profiles.sync_entities, name="ann")
        store.run_sync(connections.connect, OTHER, OTHER_INBOUND, by="dan", note="hello")


def _build_long_text() -> str:
    """Return 20 KB that need two parts of a file."""
    noise = "".join(Random(1).choices("abcdefghijklmnop", k=2_500))
    return noise + "tea " * ((20 * 1024 - len(noise)) // 4)


@dataclass
class LedgerCase:
    """A store and a network."""

    url: str
    folder: Path
    network: HederaNetwork
    clock: SharedClock

    def build_task(self, *points: tuple[str, int], **fields: Any) -> Task:
        return Task(
            points=points,
            url=self.url,
            folder=str(self.folder),
            operator=self.network.operator_id,
            mirror=self.network.mirror_url,
            nodes=self.network.nodes_setting.split(","),
            **fields,
        )


@contextmanager
def open_case(url: str, folder: Path) -> Iterator[LedgerCase]:
    """Start a network on which a stranger has asked dan for a connection; the store is filled already."""
    clock = SharedClock(folder / "clock", MORNING)
    with HederaNetwork(clock.read_nanoseconds) as network:
        network.operator_key_file(folder)
        keys = {}
        for account in (DAN, STRANGER, OTHER):
            id, keys[account] = network.create_account()
            assert id == str(account)
        for account, inbound in ((DAN, DAN_INBOUND), (STRANGER, STRANGER_INBOUND), (OTHER, OTHER_INBOUND)):
            assert network.create_topic(hcs10.build_inbound_memo(account)) == str(inbound)
        key_file = folder / "dan.key"
        key_file.touch(mode=0o600)
        key_file.write_text(keys[DAN])
        import_key(folder / "keys", "dan", key_file)
        request = hcs10.build_connection_request(OperatorId(STRANGER_INBOUND, STRANGER), "may I?")
        network.submit_as(str(STRANGER), keys[STRANGER], str(DAN_INBOUND), request)
        yield LedgerCase(url, folder, network, clock)


def read_outcome(case: LedgerCase) -> dict[str, Any]:
    """
    Check that all is at rest and nothing is left over; return what came of the case, without what differs from case to
    case: the numbers of accounts and topics.
    """
    with closing(open_store(case.url, clock=case.clock, policy=POLICY)) as store:
        check_rest(store)
        labels = store.read_sync(_label_ids, case.network)
        outcome = {
            "network": _read_network(case.network, labels),
            "topics": {
                label: _read_topic(case.network, id) for id, label in labels.items() if id in case.network.topics
            },
            "inboxes": {name: store.read_sync(_read_inbox, name) for name in ("admin", "ann", "bob", "cat", "dan")},
            "records": store.read_sync(_read_records),
            "connections": [
                (connection.peer_account, connection.state, connection.request, connection.topic is not None)
                for connection in store.read_sync(connections.list_page, state=None, viewer=None)
            ],
        }
        for topic in store.read_sync(ledger.list_topics, kind=None, viewer=None):
            _check_copy(store, topic, case.network)
    with open_database(case.url) as query:
        outcome["steps"] = _count_steps(query)
        assert query("SELECT payload, error FROM jobs WHERE outcome IS NULL OR outcome <> 'done'") == []
        assert query("SELECT content, refused FROM topic_messages WHERE refused IS NOT NULL") == []
    text = json.dumps(outcome, default=str)
    text = re.sub(r"0\.0\.\d+", lambda match: labels.get(match[0], match[0]), text)
    text = re.sub(r"uaid:aid:\w+", "UAID", text)
    return dict(json.loads(re.sub(r"con_[0-9a-f]{32}", "CONNECTION", text)))


def check_rest(store: Store) -> None:
    assert [store.read_sync(jobs.count_open, kind) for kind in JOB_KINDS] == [0, 0, 0]
    assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
    assert store.read_sync(account_actions.find_unbalanced)[0] == []
    assert store.read_sync(account_actions.find_orphans) == []


def _count_steps(query: RunQuery) -> dict[str, int]:
    """Count the steps that are left: only those of what is made once stay, and all of them are done."""
    steps = query("SELECT step, receipt FROM ledger_steps WHERE step NOT LIKE '%/fund/%'")
    assert all(receipt is not None for _, receipt in steps)
    return dict(sorted(Counter(re.split("[/_]", step)[0] for step, _ in steps).items()))


def _label_ids(tx: Reader, network: HederaNetwork) -> dict[str, str]:
    """Return names for the accounts and topics that were made."""
    labels = {}
    for entity in directory.list_page(tx, limit=1_000):
        account = topics.find_account(tx, NETWORK, entity.number)
        if account is not None:
            labels[str(account)] = f"<{entity.name}>"
            profile_topic = topics.read_profile(tx, NETWORK, entity.number)[1]
            if profile_topic is not None:
                labels[profile_topic] = f"<profile of {entity.name}>"
    for topic in ledger.list_topics(tx, kind=None, viewer=None):
        labels.setdefault(topic.id, f"<{topic.kind} of {topic.entity or topic.item or topic.memo}>")
    assert len(set(labels.values())) == len(labels)
    return labels


def _read_network(network: HederaNetwork, labels: dict[str, str]) -> dict[str, Any]:
    """Return how many transactions there were, and the accounts; there is no account or topic that the store forgot."""
    strangers = {str(id) for id in (STRANGER, OTHER, STRANGER_INBOUND, OTHER_INBOUND)}
    first_accounts = {id for id in network.accounts if int(id.split(".")[2]) <= int(network.operator_id.split(".")[2])}
    ids = {*network.accounts, *network.topics} - first_accounts - strangers
    assert ids == labels.keys() - strangers
    results = Counter(f"{transaction.name} {transaction.result}" for transaction in network.transactions)
    return {
        "transactions": dict(sorted(results.items())),
        "accounts": {label: network.accounts[id].memo for id, label in labels.items() if id in network.accounts},
    }


def _read_topic(network: HederaNetwork, id: str) -> list[str]:
    """Return the memo of a topic, and its messages; of a file, its content. Each sender's messages have an order."""
    memo, messages = network.topics[id].memo, network.messages(id)
    contents = [message.content for message in messages]
    if len(memo) > 64 and memo.endswith(":base64"):
        media_type, content = hcs1.read_file(memo, contents, compression.decompress)
        return [media_type, _shorten(content.decode()), str(len(contents))]
    is_record = memo == hcs10.OUTBOUND_MEMO
    messages.sort(key=lambda message: (message.payer, message.content if is_record else b""))
    return [memo, *(f"{message.payer} {message.memo} {message.content.decode()}" for message in messages)]


def _shorten(text: str) -> str:
    return text if len(text) < 1_000 else f"{text[:50]}... {sha256(text.encode()).hexdigest()}"


def _read_inbox(tx: Reader, name: str) -> list[Any]:
    return [
        (
            event.type,
            event.source,
            event.sender and event.sender.name,
            event.priority,
            event.trust,
            _shorten(event.content),
        )
        for event in (item.event for item in inbox.list_page(tx, name, limit=100))
    ]


def _read_records(tx: Reader) -> list[Any]:
    mails = mail.list_sent(tx, "ann", thread=None, ref=None, before=None, limit=100)
    return [
        *((entry.to, entry.post, entry.event is not None, entry.states) for entry in mails),
        *((note.id, note.post, note.recipients) for note in work.list_notes(tx, TASK)),
        *((event.id, event.post, event.recipients) for event in work.list_events(tx, TASK)),
    ]


def _check_copy(store: Store, topic: LedgerTopic, network: HederaNetwork) -> None:
    """The store has the messages of a topic as they are on the network, and all of them are proved."""
    if topic.kind in (TopicKind.FILE, TopicKind.PEER):
        return
    verification = store.read_sync(ledger.verify_topic, topic)
    messages = network.messages(topic.id)
    assert (verification.proved, verification.messages, verification.first_fault) == (
        len(messages),
        len(messages),
        None,
    )
    stored_messages = store.read_sync(ledger.list_messages, topic, limit=1_000)
    assert [entry.message.content for entry in stored_messages] == [message.content for message in messages]
