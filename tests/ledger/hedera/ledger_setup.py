"""
A store whose ledger is the local one, or Hedera on a network of the test: what is sent on one is sent on the other.

Nothing runs in the background. `settle` runs the jobs and reads the ledger until there is nothing left to do; the clock
of the store, of the adapter and of the network is one, and only the test moves it.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gatepost.core.policy import Policy
from gatepost.core.ports import Reader, Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Unavailable
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Event, EventType, Ref
from gatepost.jobs import job_actions as jobs
from gatepost.jobs.job_runner_background import JobHandler, run_due_jobs
from gatepost.ledger import profile_actions as ledger_profiles, topic_actions as ledger, topic_rows as topics
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.connections.actions import CONNECTION_JOB
from gatepost.ledger.connections.api import Connection
from gatepost.ledger.connections.background import LedgerConnections
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.ledger_step_background import LedgerSteps
from gatepost.ledger.listener_background import LedgerListener
from gatepost.ledger.poster_background import LedgerPoster, retry_outages
from gatepost.ledger.profile_actions import SYNC_JOB
from gatepost.ledger.profile_publisher_background import ProfilePublisher
from gatepost.ledger.public_ledger import PublicLedger
from gatepost.ledger.running_hash import TopicVerification
from gatepost.ledger.topic import LedgerId, LedgerTopic, TopicKind
from gatepost.ledger.topic_actions import POST_JOB
from gatepost.ledger.topic_api import SyncResult
from gatepost.ledger.topic_rows import StoredMessage
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import Mail, MailSpec
from gatepost.mail.work_item import Note, WorkEvent, WorkItemSpec, WorkType
from gatepost.stores.statements import Sql
from gatepost.testing import Kit
from tests.ledger.hedera.ledgers import open_ledger
from tests.ledger.hedera.network.node import HBAR, HederaNetwork
from tests.ledger.hedera.posters import Poster

TASK: Final = Ref("task", "7")
FUND: Final = 100_000_000
#: rounds after which a ledger that is not at rest never will be
_MAX_ROUNDS: Final = 20
#: seconds for which the listener waits for what it lacks
_LISTENER_PATIENCE: Final = 300.0
_KINDS: Final = (POST_JOB, SYNC_JOB, CONNECTION_JOB)


@dataclass
class LedgerSetup:
    """Agents ann and bob (team red), the person husam, the administrator, and a task."""

    kit: Kit
    store: Store
    policy: dict[str, Any]
    folder: Path
    #: None on the local ledger, as the rest
    _network: HederaNetwork | None = None
    _ledger: PublicLedger | None = None
    _listener: LedgerListener | None = None
    _handle_jobs: dict[str, JobHandler] = field(default_factory=dict)

    @property
    def is_public(self) -> bool:
        return self._network is not None

    @property
    def network(self) -> HederaNetwork:
        assert self._network is not None
        return self._network

    @property
    def ledger(self) -> PublicLedger:
        assert self._ledger is not None
        return self._ledger

    def set_policy(self, **policy: Any) -> None:
        """Go on by other rules."""
        self.policy |= policy
        self.store = self.kit.open(policy=Policy(**self.policy))
        if self._ledger is not None:
            self.restart()

    def restart(self) -> None:
        """Go on with nothing but what is in the store, as after a crash."""
        steps = LedgerSteps(self.store, self.ledger, fund=FUND)
        self._listener = LedgerListener(self.store, self.ledger)
        self._handle_jobs = {
            POST_JOB: retry_outages(steps.store, LedgerPoster(steps).run_job),
            SYNC_JOB: retry_outages(steps.store, ProfilePublisher(steps).run_job),
            CONNECTION_JOB: retry_outages(steps.store, LedgerConnections(steps).run_job),
        }

    def register(self, name: str, kind: EntityKind = EntityKind.AGENT, **fields: Any) -> None:
        self.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, **fields))

    def send(self, to: str | None, text: str = "tea?", *, sender: str = "ann", **fields: Any) -> Mail:
        payload = fields.pop("payload", {"text": text})
        return self.store.run_sync(mail.send, MailSpec(to=to, payload=payload, **fields), sender=sender)

    def post_note(self, text: str = "look", *, by: str = "ann", **fields: Any) -> Note:
        return self.store.run_sync(work.post_note, TASK, text, by=by, **fields)

    def post_event(self, event: str = "blocked", *, by: str = "ann", **fields: Any) -> WorkEvent:
        return self.store.run_sync(work.post_event, TASK, event, by=by, **fields)

    def show(self, sent: Mail) -> Mail:
        return self.store.read_sync(mail.show, sent.id)

    def read_inbox(self, name: str) -> list[Event]:
        return [item.event for item in self.store.read_sync(inbox.peek, name, limit=1_000)]

    def list_inbox(self, name: str) -> list[str]:
        return [event.content for event in self.read_inbox(name)]

    def list_alerts(self, name: str = "admin") -> list[str]:
        return [event.content for event in self.read_inbox(name) if event.type is EventType.ALERT]

    def read_everything(self, name: str) -> None:
        """Read the inbox of an agent to its end."""
        while claim := self.store.run_sync(inbox.claim, name, owner="me", limit=1_000).claim:
            self.store.run_sync(inbox.ack, claim.id, owner=claim.owner, fence=claim.fence)

    def deliver_overdue(self) -> int:
        """Deliver what has waited for the ledger long enough, as the janitor does."""
        return self.store.run_sync(mail.deliver_overdue)

    async def run_jobs(self) -> None:
        """Run the jobs that are due, once."""
        await run_due_jobs(self.store, self._handle_jobs, "office")

    async def listen(self) -> bool:
        """Read all topics once. Return False if the mirror node cannot be read; it is tried again next time."""
        assert self._listener is not None
        self._listener._rounds = 0  # the quiet topics, too
        try:
            await self._listener.run_round()
        except Unavailable:
            self._listener._paused_until = 0.0
            return False
        return True

    def run_out_of_patience(self) -> None:
        """Let the listener have waited for long for what it lacks: a message that is left out, or a file."""
        assert self._listener is not None
        first_seen = self._listener._first_seen
        self._listener._first_seen = {key: time - _LISTENER_PATIENCE for key, time in first_seen.items()}

    def count_jobs(self) -> int:
        return sum(self.store.read_sync(jobs.count_open, kind) for kind in _KINDS)

    def list_failed_jobs(self) -> list[str]:
        """Return why jobs were given up."""

        def read(tx: Reader) -> list[str]:
            return [row.error for row in tx.fetch_all(Sql("SELECT error FROM jobs WHERE outcome = 'failed'"))]

        return self.store.read_sync(read)

    def count_steps(self) -> int:
        """Return how many transactions of records are under way."""

        def count(tx: Reader) -> int:
            names = [row.step for row in tx.fetch_all(Sql("SELECT step FROM ledger_steps"))]
            return sum(name.startswith(("mail_", "note_", "work_")) for name in names)

        return self.store.read_sync(count)

    async def settle(self, round_length: str = "1 minute") -> None:
        """Run jobs and read the ledger until all is done. While jobs wait, the time goes on."""
        if self._network is None:
            return
        for _ in range(_MAX_ROUNDS):
            await self.run_jobs()
            await self.listen()
            if not self.count_jobs():
                break
            self.kit.clock.advance(round_length)
        else:
            raise AssertionError("jobs wait for ever")
        self.kit.clock.advance("1 second")
        for _ in range(_MAX_ROUNDS):
            count = self._count_messages()
            if await self.listen() and count == self._count_messages():  # else more may come with the next page
                return
        raise AssertionError("the mirror is never read to its end")

    def _count_messages(self) -> int:
        """Return how many messages were read."""
        return sum(topic.last_sequence for topic in self.list_topics())

    async def make_topics(self, *names: str) -> None:
        """Put entities on the ledger, without profiles; and the topics of the task and of broadcasts."""
        steps = LedgerSteps(self.store, self.ledger, fund=FUND)
        for name in names:
            await steps.ensure_inbound(self.store.read_sync(directory.find, name))
        await steps.ensure_work_topic(self.store.read_sync(work.find, TASK))
        await steps.ensure_single(TopicKind.BROADCAST)

    async def sync(self, **options: Any) -> SyncResult:
        """Make what is missing on the ledger."""
        result = self.store.run_sync(ledger_profiles.sync_entities, **options)
        await self.settle()
        return result

    def list_topics(self, kind: TopicKind | None = None) -> list[LedgerTopic]:
        return self.store.read_sync(ledger.list_topics, kind=kind, viewer=None, limit=1_000)

    def find_topic(self, kind: TopicKind, entity: str | None = None) -> LedgerTopic:
        [topic] = [topic for topic in self.list_topics(kind) if topic.entity == entity]
        return topic

    def find_account(self, name: str) -> LedgerId:
        network = "testnet" if self.is_public else "local"
        entity = self.store.read_sync(directory.find, name)
        account = self.store.read_sync(topics.find_account, network, entity.number)
        assert account is not None
        return account

    def find_operator_id(self, name: str) -> str:
        return hcs10.build_operator_id(self.find_topic(TopicKind.INBOUND, name).ledger_id, self.find_account(name))

    def create_poster(self, name: str) -> Poster:
        """Return another program that posts with the key of an entity."""
        key = (self.folder / "keys" / f"{name}.key").read_text().strip()
        inbound = self.find_topic(TopicKind.INBOUND, name).id
        self.network.set_balance(str(self.find_account(name)), 1_000 * HBAR)
        return Poster(self.network, str(self.find_account(name)), key, inbound)

    def verify(self, topic: LedgerTopic, **options: Any) -> TopicVerification:
        """Verify a topic as it is now."""
        now = self.store.read_sync(ledger.find_topic, topic.id)
        return self.store.read_sync(ledger.verify_topic, now, **options)

    def read_messages(self, topic: LedgerTopic) -> list[StoredMessage]:
        """Return the messages of a topic that are in the store; all of them are proved."""
        verification = self.verify(topic)
        assert (verification.proved, verification.first_fault) == (verification.messages, None)
        return self.store.read_sync(ledger.list_messages, topic, limit=1_000)

    def list_refusals(self, topic: LedgerTopic) -> list[str | None]:
        """Return why each message of a topic does not count; None for one that does."""
        return [stored.refused for stored in self.store.read_sync(ledger.list_messages, topic, limit=1_000)]

    def read_ledger(self, kind: TopicKind, entity: str | None = None) -> list[dict[str, Any]]:
        """
        Return the messages of a topic as they are on the ledger, as JSON, with their chunks joined. What the store has
        of them is the same.
        """
        topic = self.find_topic(kind, entity)
        messages = [stored.message for stored in self.read_messages(topic)]
        if self._network is not None:
            assert [message.content for message in messages] == [
                message.content for message in self._network.messages(topic.id)
            ]
        contents: dict[str, bytes] = {}
        for message in messages:
            name = message.chunk.transaction if message.chunk else str(message.sequence)
            contents[name] = contents.get(name, b"") + message.content
        return [json.loads(content) for content in contents.values()]

    def list_posted_texts(self, kind: TopicKind, entity: str | None = None) -> list[str]:
        """Return the texts of the mails on a topic."""
        return [json.loads(message["data"])["payload"]["text"] for message in self.read_ledger(kind, entity)]

    def count_orphans(self) -> tuple[int, int]:
        """Return how many accounts and topics of ours there are on the network that the store does not know."""
        known_topics = {topic.id for topic in self.list_topics()}
        made = [entry for entry in self.network.transactions if entry.result == "SUCCESS"]
        topic_ids = {entry.entity for entry in made if entry.name == "CONSENSUSCREATETOPIC"}
        account_ids = {entry.entity for entry in made if entry.name == "CRYPTOCREATEACCOUNT"}
        known_accounts = self.store.read_sync(_list_accounts)
        return len(account_ids - known_accounts), len(topic_ids - known_topics)

    def list_connections(self) -> list[Connection]:
        return self.store.read_sync(connections.list_page, state=None, viewer=None)

    def change_record(self, statement: str, **parameters: Any) -> None:
        """Change the store behind its back."""
        self.store.run_sync(lambda tx: tx.execute(Sql(statement), **parameters))

    def is_balanced(self) -> bool:
        return all(account.is_balanced for account in self.store.read_sync(account_actions.list_accounts))


def _list_accounts(tx: Reader) -> set[str]:
    return {row.account for row in tx.fetch_all(Sql("SELECT account FROM ledger_accounts"))}


@asynccontextmanager
async def open_ledger_setup(
    kit: Kit, folder: Path, *, network: HederaNetwork | None = None, **options: Any
) -> AsyncIterator[LedgerSetup]:
    """
    Without a network, the ledger is the local one. `options` are of the adapter.

    The nodes are reached over gRPC, the mirror without its port; `test_adapter_mirror.py` uses the port.
    """
    assert kit.store is not None, "the schema is there"
    setup = LedgerSetup(kit, kit.store, {"work_notify": ()}, folder)
    setup.set_policy(ledger="hedera:testnet" if network is not None else "local:")
    for name in ("admin", "husam"):
        setup.register(name, EntityKind.HUMAN, display=name.title())
    for name in ("ann", "bob"):
        setup.register(name, team="red")
    setup.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ann")
    if network is None:
        yield setup
        return
    options = {"receipt_timeout": 0.05, **options}
    async with open_ledger(network, folder, lambda: kit.clock.now() * 1_000, **options) as public_ledger:
        await public_ledger._mirror._client.aclose()
        public_ledger._mirror._client = network.mirror.open_client()
        setup._network, setup._ledger = network, public_ledger
        setup.restart()
        yield setup
