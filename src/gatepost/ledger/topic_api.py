"""The ledger: topics, their messages, and whether their running hashes are right; profiles, and the sync of them."""

from base64 import b64encode
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from gatepost.core.text import ParsedEnum
from gatepost.errors import Conflict, NotFound
from gatepost.inbox.event_api import RefView
from gatepost.ledger.running_hash import Fault, TopicVerification
from gatepost.ledger.topic import Chunk, LedgerTopic, TopicKind, TopicMessage
from gatepost.ledger.topic_json import format_timestamp
from gatepost.operations.access import Administrator, AnyEntity
from gatepost.operations.fields import After, Count, Format, Json, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write

#: the group of these operations in OpenAPI
TAG = "ledger"

#: messages that one request checks
MAX_CHECKED: Final = 10_000

TopicId = Annotated[str, Meta(description="SHARD.REALM.NUMBER", examples=["0.0.1002"])]
#: seconds and nanoseconds
Timestamp = Annotated[str, Meta(examples=["1640995200.252365821"]), Format(format_timestamp)]
Base64 = Annotated[str, Format(lambda content: b64encode(content).decode())]


def _get_text(message: TopicMessage) -> str | None:
    """Return the content as text; None if it is none, as a chunk may be."""
    try:
        return message.content.decode()
    except UnicodeDecodeError:
        return None


class TopicView(RecordView[LedgerTopic]):
    id: str
    network: Annotated[str, describe("local, or the network of Hedera")]
    kind: TopicKind
    memo: str
    entity: Annotated[str | None, describe("whose it is")]
    work_item: Annotated[RefView | None, Source("item")]
    messages: Annotated[Count, Source("last_sequence")]
    last_message_at: Annotated[
        Time | None,
        Source(lambda topic: topic.last_timestamp // 1_000 or None),
        describe("when its last message came; null if it has none"),
    ]
    created_at: Time


class ChunkView(RecordView[Chunk]):
    transaction_id: Annotated[str, Source("transaction")]
    number: int
    total: int


class TopicMessageView(RecordView[TopicMessage]):
    topic_id: Annotated[str, Source("topic"), Format(str)]
    sequence_number: Annotated[int, Source("sequence")]
    consensus_timestamp: Annotated[Timestamp, Source("timestamp")]
    payer_account_id: Annotated[str, Source("payer"), Format(str)]
    message: Annotated[Base64, Source("content"), describe("base64")]
    text: Annotated[str | None, Source(_get_text), describe("the message, if it is text")]
    running_hash: Annotated[Base64, describe("base64")]
    running_hash_version: Annotated[int, Source("version")]
    chunk: ChunkView | None
    refused: Annotated[str | None, describe("why it does not count, as a message of a stranger")]


class FaultView(RecordView[Fault]):
    topic_id: Annotated[str, Source("topic")]
    sequence_number: Annotated[int, Source("sequence")]
    reason: str


class TopicVerificationView(RecordView[TopicVerification]):
    messages: Count
    proved: Count
    unknown: Annotated[Count, describe("messages whose predecessor is not known")]
    wrong: Count
    first_fault: FaultView | None
    next: Annotated[int | None, describe("`after` of the next request; null at the end of the topic")]


@read("GET /api/ledger/topics", access=AnyEntity(), errors=(NotFound,))
class ListTopics(Request[Page[TopicView]]):
    """List the topics of the caller and those of everybody, the oldest first; for the administrator all."""

    kind: Annotated[TopicKind | None, describe("only topics of this kind")] = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/ledger/topics/{id}", access=AnyEntity())
class ShowTopic(Request[TopicView]):
    """Show a topic, and how many messages it has."""

    id: TopicId


@read("GET /api/ledger/topics/{id}/messages", access=AnyEntity())
class ListTopicMessages(Request[Page[TopicMessageView]]):
    """List the messages of a topic, the oldest first."""

    id: TopicId
    refused: Annotated[bool, describe("only messages that do not count")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/ledger/topics/{id}/verify", access=AnyEntity())
class VerifyTopic(Request[TopicVerificationView]):
    """Check the running hashes of messages of a topic, the oldest first."""

    id: TopicId
    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_CHECKED, description="messages to check at once")] = MAX_CHECKED


class SyncPart(ParsedEnum, description="a part of a sync"):
    #: accounts, topics and profiles of entities
    ENTITIES = "entities"
    #: topics of work items
    WORK = "work"


class LedgerProfile(Struct, frozen=True, kw_only=True):
    """An entity on the ledger."""

    name: str
    network: str
    account: str
    inbound: str
    outbound: str
    #: None for a service
    profile: dict[str, Any] | None
    #: whether the profile is on the ledger as it is here
    is_published: bool
    #: the topic of the file with the published profile, on a public ledger
    file: str | None


class SyncResult(Struct, frozen=True, kw_only=True):
    """What one page of a sync has found and made."""

    #: entities, or work items
    checked: int
    #: accounts, topics and profiles that were made now
    accounts: int = 0
    topics: int = 0
    profiles: int = 0
    #: jobs that make the rest, on a public ledger
    jobs: int = 0
    #: where the next page begins; None at the end
    next: int | None


class SyncState(Struct, frozen=True, kw_only=True):
    """What is left of a sync."""

    #: jobs that have not ended
    pending: int
    #: why the last try of one of them has failed; None if none has
    error: str | None


class LedgerProfileView(RecordView[LedgerProfile]):
    name: str
    network: Annotated[str, describe("local, or the network of Hedera")]
    account_id: Annotated[str, Source("account")]
    inbound_topic_id: Annotated[str, Source("inbound")]
    outbound_topic_id: Annotated[str, Source("outbound")]
    profile: Annotated[dict[str, Json] | None, describe("its profile after HCS-11; null for a service")]
    published: Annotated[bool, Source("is_published"), describe("whether it is on the ledger as it is here")]
    file_id: Annotated[str | None, Source("file"), describe("topic of the file with the profile; null on local")]


class LedgerSyncView(RecordView[SyncResult]):
    checked: Annotated[Count, describe("entities or work items of this page")]
    accounts: Annotated[Count, describe("accounts that were made now")]
    topics: Annotated[Count, describe("topics that were made now")]
    profiles: Annotated[Count, describe("profiles that were published now")]
    jobs: Annotated[Count, describe("jobs that make what is missing, on a public ledger")]
    next: Annotated[int | None, describe("`after` of the next page; null on the last one")]


class LedgerSyncStateView(RecordView[SyncState]):
    pending: Annotated[Count, describe("jobs that have not ended")]
    error: Annotated[str | None, describe("why the last try of one of them has failed")]


@read("GET /api/ledger/profiles/{name}", access=AnyEntity())
class ShowLedgerProfile(Request[LedgerProfileView]):
    """Show an entity as it is on the ledger, by its name or an alias: its account, its topics and its profile."""

    name: str


@write(
    "POST /api/ledger/sync",
    access=Administrator(),
    lane="ledger",
    errors=(NotFound, Conflict),
    example={"part": "entities", "limit": 100},
)
class SyncLedger(Request[LedgerSyncView]):
    """
    Make what a page of entities or work items lacks on the ledger, and publish profiles that have changed. On a public
    ledger a gateway does it afterwards.
    """

    part: Annotated[SyncPart, describe("what is checked")] = SyncPart.ENTITIES
    name: Annotated[str | None, describe("only this entity")] = None
    account: Annotated[
        str | None,
        Meta(description="existing account for this entity; the gateway must have its key", examples=["0.0.1234"]),
    ] = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/ledger/sync", access=Administrator())
class ShowLedgerSync(Request[LedgerSyncStateView]):
    """Show what is left of a sync on a public ledger."""
