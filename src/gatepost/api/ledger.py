"""The ledger: topics, their messages, and whether their running hashes are right."""

from base64 import b64encode
from typing import Annotated

from msgspec import Meta

from gatepost.api.access import Anybody
from gatepost.api.fields import After, Count, Format, Limit, RecordView, RefView, Source, Time, describe
from gatepost.api.operation import Page, Request, read
from gatepost.core.ledger import Chunk, Fault, Topic, TopicKind, TopicMessage, TopicVerification
from gatepost.core.mirror import format_timestamp
from gatepost.errors import NotFound

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


class TopicView(RecordView[Topic]):
    id: str
    kind: TopicKind
    memo: str
    entity: Annotated[str | None, describe("whose it is")]
    work_item: Annotated[RefView | None, Source("item")]
    messages: Annotated[Count, Source("last_sequence")]
    created_at: Time


class TopicPage(Page[TopicView]):
    pass


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


class TopicMessagePage(Page[TopicMessageView]):
    pass


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


@read("GET /api/ledger/topics", access=Anybody(), errors=(NotFound,))
class ListTopics(Request[TopicPage]):
    """List the topics of the caller and those of everybody, the oldest first; for the administrator all."""

    kind: Annotated[TopicKind | None, describe("only topics of this kind")] = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/ledger/topics/{id}/messages", access=Anybody(), errors=(NotFound,))
class ListTopicMessages(Request[TopicMessagePage]):
    """List the messages of a topic, the oldest first."""

    id: TopicId
    after: After = 0
    limit: Limit = 100


@read("GET /api/ledger/topics/{id}/verify", access=Anybody(), errors=(NotFound,))
class VerifyTopic(Request[TopicVerificationView]):
    """Check the running hashes of all messages of a topic."""

    id: TopicId
