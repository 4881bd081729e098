"""
Take in what people write, say and show on channels, and what else the providers of other packages receive.

Every channel with chats, that of a bot as well as that of a package, takes a message in the same steps:

    the block list -> the way to listen in groups -> the allow list, or a pairing -> else a code, in a private chat
        -> the session -> a command -> a recording -> a question that it answers -> the routing rules

A private chat has the id of its user, every other chat is a group. `/reset`, `/ping`, `/help` and `/start` are
commands. What has to be sent back is written as a message.

What a provider of a package gives is taken once: its id is stored with the trigger, in the same transaction, as long as
idempotency keys are.
"""

from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec import UNSET, Struct

from gatepost.channels import (
    access_actions as access,
    conversation_actions as conversations,
    intake_actions as intake,
    outgoing_message_actions as outgoing,
    pairing_actions as pairing,
)
from gatepost.channels.access_actions import ListVerdict
from gatepost.channels.conversation import COMMANDS, RESET_TEXT, ChannelSession, parse_command
from gatepost.channels.envelope import RESET_FIELD, Envelope, EnvelopeKind
from gatepost.channels.intake_actions import Received
from gatepost.channels.provider import ServiceEvent, UserMessage, build_chat_session, check_channel_id
from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import GroupMode, Trigger
from gatepost.channels.webhooks import delivery_actions as webhooks
from gatepost.channels.webhooks.verification import Occurrence
from gatepost.core.escaping import escape_markdown
from gatepost.core.ports import Transaction, needs_disk_space
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid, NotFound
from gatepost.jobs import idempotency_actions as idempotency

_HELP: Final = (
    "Write to me{voice}: I pass it on, and the answer comes here.\n\n"
    "/reset begins a new conversation\n/ping shows whether I am here\n/help shows this"
)
_CODE: Final = (
    "I do not know you yet. Your code is **{code}**. Give it to the administrator of this {noun}: "
    "it is valid for an hour. After that, or if it is refused, write to me again."
)
#: characters of a message id that are shown
_MAX_ID_LENGTH: Final = 200
#: characters of a key
_KEY_LENGTH: Final = 32


class IntakeOutcome(StrEnum):
    """What became of something that happened on a channel."""

    #: it is an event now, or has answered a question
    RECEIVED = "received"
    #: a recording that waits for its transcript
    VOICE = "voice"
    COMMAND = "command"
    #: the press of a button
    PRESS = "press"
    #: its user got a code, or has one
    PAIRING = "pairing"
    #: the lists of the trigger do not let the user write
    BLOCKED = "blocked"
    #: the channel was blocked, removed or added, or a chat has another id
    CHAT = "chat"
    IGNORED = "ignored"
    #: it was taken before
    REPEATED = "repeated"


class TakenMessage(Struct, frozen=True, kw_only=True):
    outcome: IntakeOutcome
    #: why it was ignored, the name of a command, or what a user who is not let in gets
    reason: str | None = None
    #: None if it reached no inbox and answered nothing
    received: Received | None = None
    #: the id of a recording that waits for its transcript
    voice: str | None = None


@needs_disk_space()
def take(tx: Transaction, name: str, message: UserMessage | ServiceEvent, *, random_bits: int) -> IntakeOutcome:
    """Take a message or an event of a trigger. Codes are made of `random_bits`, which are new for each call."""
    trigger = lock_trigger(tx, name)
    id = _hash_id(message)
    if not idempotency.insert_key(tx, f"channel {trigger.id}", id, ""):
        return IntakeOutcome.REPEATED
    if trigger.is_channel != isinstance(message, UserMessage):
        noun = "a message of a user" if trigger.is_channel else "an event of a service"
        raise Invalid(f"the provider {trigger.provider!r} did not give {noun}")
    if isinstance(message, ServiceEvent):
        webhooks.receive(tx, trigger, [Occurrence(id=id, payload=message.payload, kind=message.kind)])
        return IntakeOutcome.RECEIVED
    key = f"channel:{trigger.id}:{id}"
    return take_message(tx, trigger, message, dedup_key=key, random_bits=random_bits).outcome


def skip(tx: Transaction, name: str, message: UserMessage | ServiceEvent, reason: str) -> None:
    """Leave out a message that cannot be taken, for good, and tell the owner of the trigger once a day."""
    trigger = lock_trigger(tx, name)
    with suppress(Invalid):
        idempotency.insert_key(tx, f"channel {trigger.id}", _hash_id(message), "")
    text = f"a message of {trigger.label} could not be taken: {reason}"
    outgoing.tell_owners(tx, trigger, text, f"message:{name}:{tx.now // DAY}")


def _hash_id(message: UserMessage | ServiceEvent) -> str:
    """Return a key of the id of a message: a database cannot index an id of any length."""
    id: object = message.id  # the provider of another package may not have checked it
    if not isinstance(id, str) or not id:
        raise Invalid("the id of a message is missing", hint="a provider gives it as a text")
    return sha256(id.encode(errors="surrogatepass")).hexdigest()[:_KEY_LENGTH]


def lock_trigger(tx: Transaction, name: str) -> Trigger:
    """Return a trigger, and lock it until the commit."""
    trigger = triggers.find(tx, name)
    if trigger is None or not conversations.lock_trigger(tx, trigger.number):
        raise NotFound(f"there is no trigger {name!r}")
    return trigger


class _Author(NamedTuple):
    """Who writes, and where."""

    trigger: Trigger
    session: ChannelSession
    #: the name of the person that it is; None if it is nobody here
    person: str | None
    #: of what is written now
    dedup_key: str


def take_message(
    tx: Transaction, trigger: Trigger, message: UserMessage, *, dedup_key: str, random_bits: int
) -> TakenMessage:
    """Take a message that was not taken before, of a trigger that is locked; its event has the dedup key."""
    user = check_channel_id("user", message.user)
    chat = check_channel_id("chat", message.chat) if message.chat is not None else user
    thread = check_channel_id("thread", message.thread) if message.thread is not None else None
    config, is_group = trigger.config, chat != user or message.is_anonymous
    verdict = access.check_lists(config, chat, user)
    if verdict is ListVerdict.BLOCKED:
        return TakenMessage(outcome=IntakeOutcome.BLOCKED)
    is_heard = config.groups is GroupMode.ALL or (config.groups is GroupMode.MENTION and message.is_addressed)
    if is_group and not is_heard:
        return _ignore(f"a message in a group that is not for the {trigger.noun}")
    has_more = message.replaces is None and (message.recording is not None or message.media is not None)
    if not message.text.strip() and not has_more:
        return _ignore("a change of something that is not text" if message.replaces else "a message without a text")
    display = message.display or user
    person = None if message.is_anonymous else access.find_person(tx, trigger, chat, user)
    if person is None and verdict is ListVerdict.ALLOWED and not message.is_anonymous:
        person = pairing.admit(tx, trigger, chat=chat, user_id=user, display=display)
    if person is None and verdict is not ListVerdict.ALLOWED:
        if is_group:  # others read a code there
            return _ignore("a message of an unknown user in a group")
        label = f"{display} (@{message.handle})" if message.handle else display
        code = pairing.request(tx, trigger, chat=chat, user_id=user, display=label, random_bits=random_bits)
        if code is not None:
            text = _CODE.format(code=code, noun=trigger.noun)
            outgoing.send(tx, trigger.number, chat, text, is_for_anybody=True)
        return TakenMessage(
            outcome=IntakeOutcome.PAIRING, reason="it gets a code" if code is not None else "it has asked before"
        )
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
    writer = _Author(trigger, session, person, dedup_key)
    if (command := _find_command(message)) is not None:
        return _run_command(tx, writer, message, command)
    if message.recording is not None and message.replaces is None:
        return _store_recording(tx, writer, message)
    return _receive(tx, writer, message)


def _ignore(reason: str) -> TakenMessage:
    return TakenMessage(outcome=IntakeOutcome.IGNORED, reason=reason)


def _find_command(message: UserMessage) -> str | None:
    """Return the name of the command that a message is; a text of somebody else, or a changed one, is none."""
    if message.is_forwarded or message.replaces is not None:
        return None
    command = parse_command(message.text) if message.command is UNSET else message.command
    return command if command in COMMANDS else None


def _run_command(tx: Transaction, writer: _Author, message: UserMessage, command: str) -> TakenMessage:
    trigger, received = writer.trigger, None
    text = _HELP.format(voice=", or send a voice message" if trigger.is_built_in_channel else "")
    match command:
        case "ping":
            text = "pong"
        case "reset":
            envelope = _build_envelope(writer, message, EnvelopeKind.RESET, RESET_TEXT)
            received = intake.reset(
                tx, trigger, writer.session, envelope, dedup_key=writer.dedup_key, person=writer.person
            )
            text = "This is a new conversation now."
        case "start":
            text = f"Hello {escape_markdown(message.display or message.user)}.\n\n{text}"
        case _:
            pass
    _say(tx, writer, text)
    return TakenMessage(outcome=IntakeOutcome.COMMAND, reason=command, received=received)


def _store_recording(tx: Transaction, writer: _Author, message: UserMessage) -> TakenMessage:
    """Store a recording, which goes on with its transcript; one that cannot be heard goes on at once."""
    envelope = _build_envelope(writer, message, EnvelopeKind.VOICE, message.text)
    voice, received = voices.store(tx, writer.trigger, envelope, writer.dedup_key, person=writer.person)
    return TakenMessage(outcome=IntakeOutcome.VOICE, voice=voice, received=received)


def _receive(tx: Transaction, writer: _Author, message: UserMessage) -> TakenMessage:
    """Take in what a user has written or shown."""
    message = _find_press(tx, writer, message)
    content, kind = message.text, EnvelopeKind.TEXT if message.replaces is None else EnvelopeKind.EDIT
    kind = EnvelopeKind.CALLBACK if message.button is not None else kind
    if message.media is not None and message.replaces is None:
        content, kind = f"[{message.media}] {message.text}".strip(), EnvelopeKind.MEDIA
        rest = "Only its text is passed on." if message.text else "Say in words what it shows."
        article = "an" if message.media[0] in "aeiou" else "a"
        _say(tx, writer, f"I cannot see {article} {message.media}. {rest}")
    envelope = _build_envelope(writer, message, kind, content)
    received = intake.receive(
        tx,
        writer.trigger,
        envelope,
        dedup_key=writer.dedup_key,
        person=writer.person,
        reply_question=outgoing.find_question(tx, writer.trigger, envelope),
    )
    if received.notice is not None:
        _say(tx, writer, received.notice)
    return TakenMessage(outcome=IntakeOutcome.RECEIVED, received=received)


def _find_press(tx: Transaction, writer: _Author, message: UserMessage) -> UserMessage:
    """Return the press that a message of a package is, if it replies to buttons with the id of one."""
    session, trigger = writer.session, writer.trigger
    if trigger.is_built_in_channel or message.reply_to is None or message.is_forwarded or session.chat is None:
        return message
    replied = outgoing.find_by_sent_id(tx, trigger.number, session.chat, message.reply_to)
    options = replied.options if replied is not None and replied.has_reply_buttons else ()
    pressed = next((option for option in options if option.id == message.text.strip()), None)
    return replace(message, button=pressed.id, text=pressed.label) if pressed is not None else message


def build_metadata(trigger: Trigger, session: ChannelSession, message: UserMessage) -> dict[str, str]:
    """Return the ids of the channel that the event about a message has."""
    recording = message.recording
    ids = {
        "chat_id": session.chat,
        "message_id": message.id[:_MAX_ID_LENGTH],
        "thread_id": session.thread,
        "username": message.handle,
        "forwarded": "true" if message.is_forwarded else None,
        "file_id": recording.file if recording is not None else None,
        "mime_type": recording.mime_type if recording is not None else None,
        "reply_to": message.reply_to if recording is not None else None,
        "callback_data": message.button,
    }
    prefix = trigger.metadata_prefix
    own_metadata = {name: value for name, value in message.metadata.items() if name != RESET_FIELD}
    return {**own_metadata, **{f"{prefix}{name}": value for name, value in ids.items() if value is not None}}


def _build_envelope(writer: _Author, message: UserMessage, kind: EnvelopeKind, content: str) -> Envelope:
    session = writer.session
    message = message if kind is EnvelopeKind.VOICE else replace(message, recording=None)
    metadata = build_metadata(writer.trigger, session, message)
    return Envelope(
        channel=session.channel,
        session=session.id,
        kind=kind,
        content=content,
        metadata=metadata,
        display=message.display or message.user,
        user=message.user,
        chat=session.chat,
        thread=session.thread,
        reply_to=message.reply_to,
        replaces=message.replaces,
        is_forwarded=message.is_forwarded,
        recording=message.recording,
    )


def _say(tx: Transaction, writer: _Author, text: str) -> None:
    """Send a sentence to where a message came from."""
    session = writer.session
    assert session.chat is not None
    outgoing.send(tx, writer.trigger.number, session.chat, text, thread=session.thread, user_id=session.user_id)
