"""`gatepost ledger`: see what is on a ledger, and prove it."""

import sys
from typing import Annotated, Any

import msgspec
from click.exceptions import Exit

from gatepost.api.ledger import (
    ListTopicMessages,
    ListTopics,
    TopicMessageView,
    TopicVerificationView,
    TopicView,
    VerifyTopic,
)
from gatepost.cli import inputs, output
from gatepost.cli.command import Noun, TableRow
from gatepost.cli.connect import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core import ledger as rules
from gatepost.core import mirror, render
from gatepost.core.ledger import LedgerId, TopicKind
from gatepost.errors import Invalid

ledger = Noun("ledger", "See what is on the ledger, and prove it.")
commands = [ledger]


@ledger.list(
    "topics",
    ListTopics,
    columns=("TOPIC", "KIND", "OF", "MESSAGES", "MEMO"),
    empty='no topics yet: set `ledger` to "local:" in gatepost.toml, and send mail',
    kind=option("--kind", "KIND", f"one of {', '.join(TopicKind)}", choices=list(TopicKind)),
)
def build_topic_row(topic: TopicView) -> TableRow:
    """
    List the topics.

    Examples:
      gatepost ledger topics
      gatepost ledger topics --kind inbound
    """
    item = f"{topic.work_item.type}:{topic.work_item.id}" if topic.work_item else ""
    return [topic.id, topic.kind.value, topic.entity or item, str(topic.messages), topic.memo]


@ledger.list(
    "messages",
    ListTopicMessages,
    columns=("NUMBER", "TIME", "PAYER", "MESSAGE"),
    empty="no messages yet",
    id=argument("TOPIC", "the id of a topic"),
)
def build_message_row(message: TopicMessageView) -> TableRow:
    """
    List the messages of a topic, the oldest first.

    Example:
      gatepost ledger messages 0.0.1002
    """
    text = render.escape_invisible(message.text) if message.text is not None else message.message
    return [str(message.sequence_number), message.consensus_timestamp, message.payer_account_id, text]


@ledger.command("export")
def export(
    topic: Annotated[str, argument("TOPIC", "the id of a topic")],
    json: Annotated[bool, flag("--json", "print JSON, as it does in any case")] = True,  # noqa: ARG001
) -> None:
    """
    Print all messages of a topic as JSON.

    It has the form of a mirror node's answer, and `gatepost ledger verify` reads it.

    Example:
      gatepost ledger export 0.0.1002 > messages.json
    """
    with connect() as connection:
        messages = connection.list_all(ListTopicMessages(id=topic, limit=1000), sys.maxsize)
    output.document({"messages": [_build_entry(message) for message in messages], "links": {"next": None}})


@ledger.command("verify")
def verify(
    source: Annotated[
        str, argument("TOPIC|FILE|-", "the id of a topic, or a file with messages as a mirror node gives them")
    ],
    json: JsonFlag = False,
) -> None:
    """
    Check the running hashes of messages. It prints how many are proved, and the first that is not right.

    The running hash of a message is computed from the message and the one before it. The first message in a file is
    taken as it is, unless it is the first of its topic. Exits with 1 if a message is changed, missing or moved.

    Examples:
      gatepost ledger verify 0.0.1002
      gatepost ledger verify messages.json
      curl -s "$MIRROR/api/v1/topics/0.0.123/messages" | gatepost ledger verify -
    """
    if _is_topic(source):
        with connect() as connection:
            view = connection.send(VerifyTopic(id=source))
    else:
        messages = sorted(
            mirror.parse_messages(inputs.read_document(source), "stdin" if source == "-" else repr(source)),
            key=lambda message: message.topic,
        )
        view = TopicVerificationView.of(rules.summarize(rules.verify(messages)))
    summary = f"{view.proved} of {output.count(view.messages, 'message')} proved"
    remark = _describe_unknown(view.unknown) if view.messages else "there are no messages to check"
    output.done(msgspec.to_builtins(view), summary, remark, json=json)
    if view.first_fault is not None:
        fault = view.first_fault
        output.talk(f"message {fault.sequence_number} of {fault.topic_id} is not right: {fault.reason}")
        raise Exit(1)


def _is_topic(text: str) -> bool:
    try:
        LedgerId.parse(text)
    except Invalid:
        return False
    return True


def _describe_unknown(count: int) -> str:
    if not count:
        return ""
    return f"{output.count(count, 'message')} cannot be checked: the message before is not in the file"


def _build_entry(message: TopicMessageView) -> dict[str, Any]:
    """Return a message in the fields of a mirror node."""
    account, _, valid_start = message.chunk.transaction_id.partition("@") if message.chunk else ("", "", "")
    transaction = {
        "account_id": account,
        "nonce": 0,
        "scheduled": False,
        "transaction_valid_start": valid_start,
    }
    return {
        "chunk_info": message.chunk
        and {"initial_transaction_id": transaction, "number": message.chunk.number, "total": message.chunk.total},
        "consensus_timestamp": message.consensus_timestamp,
        "message": message.message,
        "payer_account_id": message.payer_account_id,
        "running_hash": message.running_hash,
        "running_hash_version": message.running_hash_version,
        "sequence_number": message.sequence_number,
        "topic_id": message.topic_id,
    }
