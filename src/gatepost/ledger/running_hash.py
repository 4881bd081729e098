"""Verify the running hashes of a topic: nothing can be changed, left out or moved without one that does not match."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct

from gatepost.ledger.topic import GENESIS_HASH, HASH_VERSION, TopicMessage


class Proof(StrEnum):
    """What is known of a message."""

    #: its running hash follows from the message before it
    PROVED = "proved"
    #: it is the first of its topic that is here, and not the first of all: there is nothing to compute its hash from
    UNKNOWN = "unknown"
    #: its running hash does not follow, or it is not where it should be
    WRONG = "wrong"


class MessageVerdict(Struct, frozen=True):
    message: TopicMessage
    proof: Proof
    #: why it is wrong, as the end of a sentence
    reason: str = ""


class Fault(Struct, frozen=True):
    """A message that is not right, or is missing."""

    topic: str
    sequence: int
    #: the end of a sentence
    reason: str


class TopicVerification(Struct, frozen=True, kw_only=True):
    """How many messages are proved, how many have nothing to be proved by, and the first that is not right."""

    messages: int
    proved: int
    unknown: int
    wrong: int
    first_fault: Fault | None
    #: the number of the last message that was checked, if there are more; None at the end of the topic
    next: int | None = None


def summarize(verdicts: Iterable[MessageVerdict]) -> TopicVerification:
    counts = dict.fromkeys(Proof, 0)
    first_fault: Fault | None = None
    for verdict in verdicts:
        counts[verdict.proof] += 1
        if verdict.proof is Proof.WRONG and first_fault is None:
            first_fault = Fault(str(verdict.message.topic), verdict.message.sequence, verdict.reason)
    return TopicVerification(
        messages=sum(counts.values()),
        proved=counts[Proof.PROVED],
        unknown=counts[Proof.UNKNOWN],
        wrong=counts[Proof.WRONG],
        first_fault=first_fault,
    )


def verify(messages: Iterable[TopicMessage], last: TopicMessage | None = None) -> Iterator[MessageVerdict]:
    """
    Yield a verdict on each message. The messages of a topic must come in their order; those of several topics may be
    mixed. After a message that is wrong, the next one is judged by what that one says. `last` is the message before the
    first one, if it is known.
    """
    last_messages = {last.topic: last} if last is not None else {}
    for message in messages:
        yield _judge(message, last_messages.get(message.topic))
        last_messages[message.topic] = message


def _judge(message: TopicMessage, last: TopicMessage | None) -> MessageVerdict:
    if message.version != HASH_VERSION:
        reason = f"its running hash has version {message.version}, and only {HASH_VERSION} can be checked"
        return MessageVerdict(message, Proof.WRONG, reason)
    if last is None and message.sequence != 1:
        return MessageVerdict(message, Proof.UNKNOWN)
    if last is not None and message.sequence != last.sequence + 1:
        return MessageVerdict(message, Proof.WRONG, f"it does not follow message {last.sequence}")
    if last is not None and message.timestamp <= last.timestamp:
        return MessageVerdict(message, Proof.WRONG, "it is not later than the message before it")
    previous_hash = GENESIS_HASH if last is None else last.running_hash
    if message.compute_hash(previous_hash) != message.running_hash:
        return MessageVerdict(message, Proof.WRONG, "its running hash does not match")
    return MessageVerdict(message, Proof.PROVED)
