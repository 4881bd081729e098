"""
Take in what the provider of another package receives.

Everything is taken once: its id is stored with the trigger, in the same transaction, as long as idempotency keys are.
Who may write on a channel is decided as on Telegram:

    the block list -> the way to listen in groups -> the allow list, or a pairing -> else a code, in a private chat

A private chat has the id of its user, every other chat is a group. `/reset`, `/ping`, `/help` and `/start` are
commands. What has to be sent back is written as a message.
"""

from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from typing import Final

from gatepost.channels import (
    access_actions as access,
    conversation_actions as conversations,
    intake_actions as intake,
    outgoing_message_actions as outgoing,
    pairing_actions as pairing,
)
from gatepost.channels.access_actions import ListVerdict
from gatepost.channels.conversation import RESET_TEXT, ChannelSession, parse_command
from gatepost.channels.envelope import RESET_FIELD, RESET_VALUE, Envelope, EnvelopeKind
from gatepost.channels.provider import ServiceEvent, UserMessage, build_chat_session, check_channel_id
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import GroupMode, Trigger
from gatepost.channels.webhooks import delivery_actions as webhooks
from gatepost.channels.webhooks.verification import Occurrence
from gatepost.core.ports import Transaction
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid, NotFound
from gatepost.inbox.event_rendering import escape_markdown
from gatepost.jobs import idempotency_actions as idempotency

_HELP: Final = (
    "Write to me: I pass it on, and the answer comes here.\n\n"
    "/reset begins a new conversation\n/ping shows whether I am here\n/help shows this"
)
_CODE: Final = (
    "I do not know you yet. Your code is **{code}**. Give it to the administrator of this channel: "
    "it is valid for an hour. After that, or if it is refused, write to me again."
)
#: characters of a message id that are shown
_MAX_ID_LENGTH: Final = 200
#: characters of a key
_KEY_LENGTH: Final = 32


class IntakeOutcome(StrEnum):
    """What became of a message."""

    RECEIVED = "received"
    COMMAND = "command"
    #: its user got a code, or has one
    PAIRING = "pairing"
    #: the lists of the trigger do not let the user write
    BLOCKED = "blocked"
    #: it has no text; or it is in a group, and not for the agent or of somebody who is unknown
    IGNORED = "ignored"
    #: it was taken before
    REPEATED = "repeated"


def take(tx: Transaction, name: str, message: UserMessage | ServiceEvent, *, random_bits: int) -> IntakeOutcome:
    """Take a message or an event of a trigger. Codes are made of `random_bits`, which are new for each call."""
    trigger = _lock_trigger(tx, name)
    id = check_message_id(message)
    if not idempotency.insert_key(tx, f"channel {trigger.id}", id, ""):
        return IntakeOutcome.REPEATED
    if trigger.is_channel != isinstance(message, UserMessage):
        noun = "a message of a user" if trigger.is_channel else "an event of a service"
        raise Invalid(f"the provider {trigger.provider!r} did not give {noun}")
    if isinstance(message, ServiceEvent):
        webhooks.receive(tx, trigger, [Occurrence(id=id, payload=message.payload, kind=message.kind)])
        return IntakeOutcome.RECEIVED
    return _take_message(tx, trigger, message, random_bits)


def skip(tx: Transaction, name: str, message: UserMessage | ServiceEvent, reason: str) -> None:
    """Leave out a message that cannot be taken, for good, and tell the owner of the trigger once a day."""
    trigger = _lock_trigger(tx, name)
    with suppress(Invalid):
        idempotency.insert_key(tx, f"channel {trigger.id}", check_message_id(message), "")
    text = f"a message of {trigger.label} could not be taken: {reason}"
    outgoing.tell_owners(tx, trigger, text, f"message:{name}:{tx.now // DAY}")


def check_message_id(message: UserMessage | ServiceEvent) -> str:
    """Return a key of the id of a message: a database cannot index an id of any length."""
    id: object = message.id  # the provider of another package may not have checked it
    if not isinstance(id, str) or not id:
        raise Invalid("the id of a message is missing", hint="a provider gives it as a text")
    return sha256(id.encode(errors="surrogatepass")).hexdigest()[:_KEY_LENGTH]


def _lock_trigger(tx: Transaction, name: str) -> Trigger:
    trigger = triggers.find(tx, name)
    if trigger is None or not conversations.lock_trigger(tx, trigger.number):
        raise NotFound(f"there is no trigger {name!r}")
    return trigger


def _take_message(tx: Transaction, trigger: Trigger, message: UserMessage, random_bits: int) -> IntakeOutcome:
    user = check_channel_id("user", message.user)
    chat = check_channel_id("chat", message.chat) if message.chat is not None else user
    thread = check_channel_id("thread", message.thread) if message.thread is not None else None
    config, is_group = trigger.config, chat != user
    verdict = access.check_lists(config, chat, user)
    if verdict is ListVerdict.BLOCKED:
        return IntakeOutcome.BLOCKED
    is_heard = config.groups is GroupMode.ALL or (config.groups is GroupMode.MENTION and message.is_addressed)
    if not message.text.strip() or (is_group and not is_heard):
        return IntakeOutcome.IGNORED
    display = message.display or user
    person = access.find_person(tx, trigger, chat, user)
    if person is None and verdict is ListVerdict.ALLOWED:
        person = pairing.admit(tx, trigger, chat=chat, user_id=user, display=display)
    if person is None and verdict is not ListVerdict.ALLOWED:
        if is_group:
            return IntakeOutcome.IGNORED
        code = pairing.request(tx, trigger, chat=chat, user_id=user, display=display, random_bits=random_bits)
        if code is not None:
            outgoing.send(tx, trigger.number, chat, _CODE.format(code=code), is_for_anybody=True)
        return IntakeOutcome.PAIRING
    session = conversations.ensure_session(
        tx,
        trigger.provider,
        build_chat_session(chat, user, thread),
        trigger=trigger,
        person=directory.find(tx, person) if person is not None else None,
        chat=chat,
        user_id=user,
        thread=thread,
        display=display,
    )
    if (command := parse_command(message.text)) is not None:
        _run_command(tx, trigger, message, session, person, command)
        return IntakeOutcome.COMMAND
    question = None
    if message.reply_to is not None:
        question = outgoing.find_by_sent_id(tx, trigger.number, chat, message.reply_to)
    received = intake.receive(
        tx,
        trigger,
        _build_envelope(message, session, EnvelopeKind.TEXT, message.text),
        dedup_key=_build_dedup_key(trigger, message),
        person=person,
        reply_decision=question.decision if question is not None else None,
    )
    if received.notice is not None:
        _say(tx, trigger, session, received.notice)
    elif received.unrouted is not None:
        _say(tx, trigger, session, "Nobody can read this yet. It is kept, and the owner of this channel knows.")
    return IntakeOutcome.RECEIVED


def _run_command(
    tx: Transaction, trigger: Trigger, message: UserMessage, session: ChannelSession, person: str | None, command: str
) -> None:
    match command:
        case "ping":
            text = "pong"
        case "reset":
            targets = intake.list_prompt_targets(tx, session)
            session = conversations.reset_session(tx, session)
            envelope = _build_envelope(message, session, EnvelopeKind.RESET, RESET_TEXT)
            key = _build_dedup_key(trigger, message)
            intake.receive_reset(tx, trigger, envelope, targets, dedup_key=key, person=person)
            text = "This is a new conversation now."
        case "start":
            text = f"Hello {escape_markdown(session.display or message.user)}.\n\n{_HELP}"
        case _:
            text = _HELP
    _say(tx, trigger, session, text)


def _build_envelope(message: UserMessage, session: ChannelSession, kind: EnvelopeKind, content: str) -> Envelope:
    assert session.chat is not None
    ids = {"chat_id": session.chat, "message_id": message.id[:_MAX_ID_LENGTH]}
    if session.thread is not None:
        ids["thread_id"] = session.thread
    own_metadata = {name: value for name, value in message.metadata.items() if name != RESET_FIELD}
    reset = {RESET_FIELD: RESET_VALUE} if kind is EnvelopeKind.RESET else {}
    return Envelope(
        channel=session.channel,
        session=session.id,
        kind=kind,
        content=content,
        metadata={**own_metadata, **ids, **reset},
        display=message.display or message.user,
        user=message.user,
        chat=session.chat,
    )


def _build_dedup_key(trigger: Trigger, message: UserMessage) -> str:
    return f"channel:{trigger.id}:{check_message_id(message)}"


def _say(tx: Transaction, trigger: Trigger, session: ChannelSession, text: str) -> None:
    """Send a sentence to where a message came from."""
    assert session.chat is not None
    outgoing.send(tx, trigger.number, session.chat, text, thread=session.thread, user_id=session.user_id)
