"""
`gatepost ledger`: see what is on a ledger, and prove it. What makes and changes something there is in
`sync_commands.py` and `connections/commands.py`.
"""

import sys
from typing import Annotated, Any, Final

import msgspec
from click.exceptions import Exit

from gatepost.cli import inputs, output
from gatepost.cli.command import Facts, Noun, TableRow
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core.address import check_entity_address
from gatepost.core.escaping import escape_invisible
from gatepost.errors import Invalid
from gatepost.ledger import running_hash, topic_api as api, topic_json as mirror
from gatepost.ledger.topic import LedgerId, TopicKind

ledger = Noun("ledger", "See what is on the ledger, and prove it.")
commands = [ledger]

#: verbs of `connections/commands.py`
_CONNECTION_VERBS: Final = ("requests", "connections", "connect", "accept", "refuse", "close")


@ledger.list(
    "topics",
    api.ListTopics,
    columns=("TOPIC", "NETWORK", "KIND", "OF", "MESSAGES", "MEMO"),
    empty=lambda request: "no such topics" if request.kind else "no topics yet: `gatepost ledger sync` makes them",
    kind=option("--kind", "KIND", f"one of {', '.join(TopicKind)}", choices=list(TopicKind)),
)
def topics(topic: api.TopicView) -> TableRow:
    """
    List the topics of the ledger that is set.

    Examples:
      gatepost ledger topics
      gatepost ledger topics --kind inbound
    """
    item = f"{topic.work_item.type}:{topic.work_item.id}" if topic.work_item else ""
    return [topic.id, topic.network, topic.kind.value, topic.entity or item, str(topic.messages), topic.memo]


@ledger.list(
    "messages",
    api.ListTopicMessages,
    columns=("NUMBER", "TIME", "PAYER", "REFUSED", "MESSAGE"),
    empty=lambda request: "no messages were refused" if request.refused else "no messages yet",
    id=argument("TOPIC", "the id of a topic"),
    refused=flag("--refused", "only messages that do not count, such as those of strangers"),
)
def messages(message: api.TopicMessageView) -> TableRow:
    """
    List the messages of a topic, the oldest first. Of a message that does not count, REFUSED says why.

    Examples:
      gatepost ledger messages 0.0.1002
      gatepost ledger messages 0.0.1002 --refused
    """
    text = escape_invisible(message.text) if message.text is not None else message.message
    return [
        str(message.sequence_number),
        message.consensus_timestamp,
        message.payer_account_id,
        message.refused or "",
        text,
    ]


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
        messages = connection.list_all(api.ListTopicMessages(id=topic, limit=1000), sys.maxsize)
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
        view = _verify_topic(source)
    else:
        messages = sorted(
            mirror.parse_messages(inputs.read_document(source), "stdin" if source == "-" else repr(source)),
            key=lambda message: message.topic,
        )
        view = api.TopicVerificationView.of(running_hash.summarize(running_hash.verify(messages)))
    summary = f"{view.proved} of {output.count(view.messages, 'message')} proved"
    remark = _describe_unknown(view.unknown) if view.messages else "there are no messages to check"
    output.done(msgspec.to_builtins(view), summary, remark, json=json)
    if view.first_fault is not None:
        fault = view.first_fault
        output.talk(f"message {fault.sequence_number} of {fault.topic_id} is not right: {fault.reason}")
        raise Exit(1)


def _verify_topic(id: str) -> api.TopicVerificationView:
    """Have a topic checked page by page, and show how far it is."""
    progress = output.Progress()
    with connect() as connection:
        view = connection.send(api.VerifyTopic(id=id))
        while view.next is not None:
            progress.show(f"{view.messages} messages checked so far")
            page = connection.send(api.VerifyTopic(id=id, after=view.next))
            view = api.TopicVerificationView(
                messages=view.messages + page.messages,
                proved=view.proved + page.proved,
                unknown=view.unknown + page.unknown,
                wrong=view.wrong + page.wrong,
                first_fault=view.first_fault or page.first_fault,
                next=page.next,
            )
    return view


@ledger.show(
    "profile",
    api.ShowLedgerProfile,
    name=argument("NAME", "an agent, a person or a service", parse=check_entity_address),
)
def profile(view: api.LedgerProfileView) -> Facts:
    """
    Show the account, the topics and the profile of somebody.

    Example:
      gatepost ledger profile analyst
    """
    from gatepost.residents.capability import Capability

    profile = view.profile or {}
    agent = profile.get("aiAgent", {})
    published = "yes" if view.published else "no: `gatepost ledger sync` publishes it"
    return [
        ("name", view.name),
        ("network", view.network),
        ("account", view.account_id),
        ("inbound topic", view.inbound_topic_id),
        ("outbound topic", view.outbound_topic_id),
        ("display name", profile.get("display_name")),
        ("type", ("agent" if agent else "person") if profile else "service, which has no profile"),
        ("capabilities", ", ".join(Capability(code).label for code in agent.get("capabilities", ()))),
        ("model", agent.get("model")),
        ("uaid", profile.get("uaid")),
        ("published", published if profile else None),
        ("profile file", view.file_id),
    ]


ledger.import_verbs("gatepost.ledger.sync_commands", "sync")
ledger.import_verbs("gatepost.ledger.connections.commands", *_CONNECTION_VERBS)


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


def _build_entry(message: api.TopicMessageView) -> dict[str, Any]:
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
