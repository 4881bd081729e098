"""
Take in what happens in the chats of a Telegram bot.

An update is taken in one transaction, once, whatever becomes of it: the same transaction moves the cursor of the bot.
Telegram forgets an update only when it is confirmed, which is after the commit. So nothing is lost or done twice if a
process dies in between.

    a number above the last one                        a new update
    another one, a day or more after the last update   a new update: Telegram has begun to number anew (a new epoch)
    another one before that                            it was taken before if its number is stored; else it is a new
                                                       update, which another one has overtaken on the way to a webhook

Who may write is decided in this order:

    the block list -> the way to listen in groups -> the allow list, or a pairing -> else a code, in a private chat

What has to be sent back is written as a message. Only the answer to the press of a button is an effect, which callers
perform after the commit: the user waits for it, and a late one is worth nothing.
"""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels import (
    access_actions as access,
    conversation_actions as conversations,
    intake_actions as intake,
    outgoing_message_actions as outgoing,
    pairing_actions as pairing,
)
from gatepost.channels.access_actions import ListVerdict
from gatepost.channels.conversation import COMMANDS, RESET_TEXT, ChannelSession
from gatepost.channels.envelope import RESET_FIELD, RESET_VALUE, Envelope, EnvelopeKind, build_telegram_session
from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.telegram import button_press_actions as telegram_presses, update as telegram_update
from gatepost.channels.telegram.button_press_actions import PressAnswer
from gatepost.channels.telegram.update import (
    BotIdentity,
    ButtonPress,
    ChatMigration,
    Ignored,
    InboundMessage,
    Membership,
    MembershipChange,
    TelegramUpdate,
    UpdateContent,
)
from gatepost.channels.triggers import rows as trigger_rows
from gatepost.channels.triggers.trigger import GroupMode, Trigger
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid, NotFound
from gatepost.inbox.event import FORWARDED_FIELD, TELEGRAM
from gatepost.inbox.event_rendering import escape_markdown
from gatepost.jobs import idempotency_actions as idempotency

#: why a chat keeps its id
NO_GROUP: Final = "only a group gets another id"
_HELP: Final = (
    "Write to me, or send a voice message: I pass it on, and the answer comes here.\n\n"
    "/reset begins a new conversation\n/ping shows whether I am here\n/help shows this"
)
_CODE: Final = (
    "I do not know you yet. Your code is **{code}**. Give it to the administrator of this bot: "
    "it is valid for an hour. After that, or if it is refused, write to me again."
)


class UpdateOutcome(StrEnum):
    """What became of an update."""

    #: it is an event now, or has answered a question
    RECEIVED = "received"
    #: a voice message that waits for its transcript
    VOICE = "voice"
    COMMAND = "command"
    PRESS = "press"
    #: its user got a code, or has one
    PAIRING = "pairing"
    #: the lists of the bot do not let the user write
    BLOCKED = "blocked"
    #: the bot was blocked, removed or added, or a chat has another id
    CHAT = "chat"
    IGNORED = "ignored"
    #: it was taken before
    REPEATED = "repeated"


class TakenUpdate(Struct, frozen=True, kw_only=True):
    outcome: UpdateOutcome
    #: why it was ignored
    reason: str | None = None
    #: None if it cannot be read
    update_id: int | None = None
    answer: PressAnswer | None = None


class BotProfile(Struct, frozen=True):
    """What verbs need to know about a bot."""

    identity: BotIdentity
    #: the key that signs its buttons
    button_key: bytes

    def __repr__(self) -> str:
        return f"BotProfile({self.identity!r})"


def take_updates(
    tx: Transaction, name: str, updates: Sequence[Json], bot: BotProfile, *, random_bits: int
) -> list[TakenUpdate]:
    """
    Take updates of the bot of a trigger, in their order. `random_bits` are new for each call: codes are made of them.
    """
    outcomes = []
    for update in updates:
        try:
            parsed_update = telegram_update.parse_update(update, bot.identity)
        except Invalid as error:
            outcomes.append(TakenUpdate(outcome=UpdateOutcome.IGNORED, reason=error.message))
            continue
        trigger = _lock_trigger(tx, name)  # an update may have changed the lists
        taken = take_update(tx, trigger, parsed_update, bot, random_bits=random_bits)
        outcomes.append(replace(taken, update_id=parsed_update.update_id))
    return outcomes


def skip_update(tx: Transaction, name: str, update: Json, bot: BotProfile, reason: str) -> TakenUpdate:
    """Move the cursor over an update that cannot be taken, and tell the owner of the bot."""
    trigger = _lock_trigger(tx, name)
    skipped = telegram_update.parse_update(update, bot.identity)
    _advance(tx, trigger, skipped.update_id)
    text = f"an update of the bot {name!r} could not be taken: {reason}"
    outgoing.tell_owners(tx, trigger, text, f"update:{name}:{skipped.update_id}")
    return TakenUpdate(
        outcome=UpdateOutcome.IGNORED,
        reason=reason,
        update_id=skipped.update_id,
        answer=_build_empty_answer(skipped.content),
    )


def _lock_trigger(tx: Transaction, name: str) -> Trigger:
    trigger = trigger_rows.find(tx, name)
    if trigger is None or not conversations.lock_trigger(tx, trigger.number):
        raise NotFound(f"there is no bot {name!r}")
    return trigger


def take_update(
    tx: Transaction, trigger: Trigger, update: TelegramUpdate, bot: BotProfile, *, random_bits: int
) -> TakenUpdate:
    """Take an update of a bot whose trigger is locked. A press that comes again is answered again."""
    content = update.content
    epoch = _advance(tx, trigger, update.update_id)
    if epoch is None:
        return TakenUpdate(outcome=UpdateOutcome.REPEATED, answer=_build_empty_answer(content))
    match content:
        case InboundMessage():
            bits = int.from_bytes(sha256(f"{random_bits}:{update.update_id}".encode()).digest())
            key = build_dedup_key(bot.identity.id, update.update_id, epoch)
            return _take_message(tx, trigger, content, key, bits)
        case ButtonPress():
            answer = telegram_presses.take(tx, trigger, content, bot.button_key)
            return TakenUpdate(outcome=UpdateOutcome.PRESS, answer=answer)
        case MembershipChange():
            if content.membership is not Membership.JOINED:
                reason = "its user has blocked it" if content.membership is Membership.BLOCKED else "it was removed"
                outgoing.close_chat(tx, trigger, str(content.chat.id), reason)
            return TakenUpdate(outcome=UpdateOutcome.CHAT, reason=content.membership.value)
        case ChatMigration():
            if not move_chat(tx, trigger, content.old_chat, content.new_chat):
                return TakenUpdate(outcome=UpdateOutcome.IGNORED, reason=NO_GROUP)
            return TakenUpdate(outcome=UpdateOutcome.CHAT, reason=f"{content.old_chat} is {content.new_chat} now")
        case Ignored():
            empty_answer = _build_empty_answer(content)
            return TakenUpdate(outcome=UpdateOutcome.IGNORED, reason=content.reason, answer=empty_answer)
        case other:
            assert_never(other)


def _build_empty_answer(content: UpdateContent) -> PressAnswer | None:
    """Return what only ends the spinner on a button; None if the update is no press."""
    query_id = content.query_id if isinstance(content, ButtonPress | Ignored) else None
    return PressAnswer(query_id=query_id) if query_id is not None else None


def _advance(tx: Transaction, trigger: Trigger, update_id: int) -> int | None:
    """Move the cursor of a bot to an update; return the epoch of the update, or None if it was taken before."""
    last_update, epoch, last_at = conversations.read_cursor(tx, trigger.number) or (-1, 0, tx.now)
    if update_id <= last_update and tx.now - last_at > DAY:
        last_update, epoch = -1, epoch + 1
    is_new = idempotency.insert_key(tx, f"telegram {trigger.id}", f"{epoch}:{update_id}", "")
    if not is_new and update_id <= last_update:
        return None
    conversations.set_cursor(tx, trigger.number, max(update_id, last_update), epoch)
    return epoch


def build_dedup_key(bot: int, update_id: int, epoch: int) -> str:
    """Return the dedup key of the event of an update."""
    return f"telegram:{bot}:{epoch}:{update_id}" if epoch else f"telegram:{bot}:{update_id}"


def _take_message(
    tx: Transaction, trigger: Trigger, message: InboundMessage, key: str, random_bits: int
) -> TakenUpdate:
    config, chat = trigger.config, message.chat
    verdict = access.check_lists(config, str(chat.id), str(message.sender.id))
    if verdict is ListVerdict.BLOCKED:
        return TakenUpdate(outcome=UpdateOutcome.BLOCKED)
    is_heard = config.groups is GroupMode.ALL or (config.groups is GroupMode.MENTION and message.is_addressed)
    if chat.is_group and not is_heard:
        return TakenUpdate(outcome=UpdateOutcome.IGNORED, reason="a message in a group that is not for the bot")
    chat_id, user_id = str(chat.id), str(message.sender.id)
    person = None if message.is_sent_as_chat else access.find_person(tx, trigger, chat_id, user_id)
    if person is None and verdict is ListVerdict.ALLOWED and not message.is_sent_as_chat:
        person = pairing.admit(tx, trigger, chat=chat_id, user_id=user_id, display=message.sender.name)
    if person is None and verdict is not ListVerdict.ALLOWED:
        return _request_pairing(tx, trigger, message, random_bits)
    session = conversations.ensure_session(
        tx,
        TELEGRAM,
        build_telegram_session(chat.id, message.sender.id, message.thread_id),
        trigger=trigger,
        person=directory.find(tx, person) if person is not None else None,
        chat=chat_id,
        user_id=user_id,
        thread=str(message.thread_id) if message.thread_id is not None else None,
        display=message.sender.name,
    )
    if message.command is not None and message.command.name in COMMANDS:
        _run_command(tx, trigger, message, session, person, key)
        return TakenUpdate(outcome=UpdateOutcome.COMMAND, reason=message.command.name)
    return _receive(tx, trigger, message, session, person, key)


def _request_pairing(tx: Transaction, trigger: Trigger, message: InboundMessage, random_bits: int) -> TakenUpdate:
    """Give an unknown user a code; in a group, which others read, there is none."""
    if message.chat.is_group:
        return TakenUpdate(outcome=UpdateOutcome.IGNORED, reason="a message of an unknown user in a group")
    chat, user = str(message.chat.id), message.sender
    display = f"{user.name} (@{user.username})" if user.username else user.name
    code = pairing.request(tx, trigger, chat=chat, user_id=str(user.id), display=display, random_bits=random_bits)
    if code is not None:
        outgoing.send(tx, trigger.number, chat, _CODE.format(code=code), is_for_anybody=True)
    return TakenUpdate(outcome=UpdateOutcome.PAIRING)


def _run_command(
    tx: Transaction,
    trigger: Trigger,
    message: InboundMessage,
    session: ChannelSession,
    person: str | None,
    key: str,
) -> None:
    assert message.command is not None
    match message.command.name:
        case "ping":
            text = "pong"
        case "reset":
            targets = intake.list_prompt_targets(tx, session)
            session = conversations.reset_session(tx, session)
            envelope = build_envelope(message, session, EnvelopeKind.RESET, RESET_TEXT)
            envelope = replace(envelope, metadata={**envelope.metadata, RESET_FIELD: RESET_VALUE})
            intake.receive_reset(tx, trigger, envelope, targets, dedup_key=key, person=person)
            text = "This is a new conversation now."
        case "start":
            text = f"Hello {escape_markdown(message.sender.name)}.\n\n{_HELP}"
        case _:
            text = _HELP
    _say(tx, trigger, message, text)


def _receive(
    tx: Transaction,
    trigger: Trigger,
    message: InboundMessage,
    session: ChannelSession,
    person: str | None,
    key: str,
) -> TakenUpdate:
    """Take in what a user has written, said or shown."""
    if message.is_edited and not message.text:
        return TakenUpdate(outcome=UpdateOutcome.IGNORED, reason="a change of something that is not text")
    if message.recording is not None and not message.is_edited:
        return _receive_recording(tx, trigger, message, session, person, key)
    content, kind = message.text, EnvelopeKind.EDIT if message.is_edited else EnvelopeKind.TEXT
    if message.media is not None and not message.is_edited:
        content, kind = f"[{message.media}] {message.text}".strip(), EnvelopeKind.MEDIA
        rest = "Only its text is passed on." if message.text else "Say in words what it shows."
        article = "an" if message.media[0] in "aeiou" else "a"
        _say(tx, trigger, message, f"I cannot see {article} {message.media}. {rest}")
    envelope = build_envelope(message, session, kind, content)
    received = intake.receive(
        tx,
        trigger,
        envelope,
        dedup_key=key,
        person=person,
        reply_decision=find_decision(tx, trigger, message),
    )
    if received.notice is not None:
        _say(tx, trigger, message, received.notice)
    elif received.unrouted is not None:
        _say(tx, trigger, message, "Nobody can read this yet. It is kept, and the owner of this bot knows.")
    return TakenUpdate(outcome=UpdateOutcome.RECEIVED)


def _receive_recording(
    tx: Transaction, trigger: Trigger, message: InboundMessage, session: ChannelSession, person: str | None, key: str
) -> TakenUpdate:
    """Store a recording, which goes on with its transcript; one that cannot be heard goes on at once."""
    recording = message.recording
    assert recording is not None
    metadata = {"telegram_file_id": recording.file_id}
    if recording.mime_type is not None:
        metadata["telegram_mime_type"] = recording.mime_type
    if message.reply_to is not None:
        metadata[voices.REPLY_FIELD] = str(message.reply_to)
    envelope = build_envelope(message, session, EnvelopeKind.VOICE, message.text)
    envelope = replace(envelope, metadata={**envelope.metadata, **metadata})
    voices.store(tx, trigger, envelope, key, person=person, size=recording.size)
    return TakenUpdate(outcome=UpdateOutcome.VOICE)


def build_envelope(message: InboundMessage, session: ChannelSession, kind: EnvelopeKind, content: str) -> Envelope:
    """Return the envelope of a message in a session."""
    metadata = {"telegram_chat_id": str(message.chat.id), "telegram_message_id": str(message.message_id)}
    if message.thread_id is not None:
        metadata["telegram_thread_id"] = str(message.thread_id)
    if message.sender.username is not None:
        metadata["telegram_username"] = message.sender.username
    if message.is_forwarded:
        metadata[FORWARDED_FIELD] = "true"
    return Envelope(
        channel=TELEGRAM,
        session=session.id,
        kind=kind,
        content=content,
        metadata=metadata,
        display=message.sender.name,
        user=str(message.sender.id),
        chat=str(message.chat.id),
    )


def find_decision(tx: Reader, trigger: Trigger, message: InboundMessage) -> str | None:
    """Return the decision whose question a message replies to."""
    if message.reply_to is None or not message.replies_to_bot:
        return None
    question = outgoing.find_by_sent_id(tx, trigger.number, str(message.chat.id), str(message.reply_to))
    return question.decision if question is not None else None


def _say(tx: Transaction, trigger: Trigger, message: InboundMessage, text: str) -> None:
    """Send a sentence to where a message came from."""
    thread = str(message.thread_id) if message.thread_id is not None else None
    chat, user = str(message.chat.id), str(message.sender.id)
    outgoing.send(tx, trigger.number, chat, text, thread=thread, user_id=user)


def is_move(old_chat: int, new_chat: int) -> bool:
    """Return True if a chat can have got this id: only a group gets another one, and the ids of groups are negative."""
    return max(old_chat, new_chat) < 0


def move_chat(tx: Transaction, trigger: Trigger, old_chat: int, new_chat: int) -> bool:
    """
    Give a chat its new id: in the lists of the bot, and in sessions, pairings and messages. Return False, and change
    nothing, if it is not a group.
    """
    if not is_move(old_chat, new_chat):
        return False
    config = trigger.config
    lists = {
        name: tuple(dict.fromkeys(new_chat if id == old_chat else id for id in ids))
        for name, ids in (("allow", config.allow), ("block", config.block))
    }
    if old_chat in (*config.allow, *config.block):
        trigger_rows.update(tx, replace(trigger, config=replace(config, **lists)))
        tx.after_commit(Signal(Topic("trigger", trigger.name), "changed", wakes=False))
        if trigger.is_from_file:
            text = f"the group {old_chat} of the bot {trigger.name!r} is {new_chat} now: change it in gatepost.toml"
            outgoing.tell_owners(tx, trigger, text, f"moved:{trigger.name}:{old_chat}")
    conversations.move_chat(tx, trigger.number, str(old_chat), str(new_chat))
    return True
