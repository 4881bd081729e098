"""
Show what would become of an update of Telegram. It is decided as `channels/telegram/update_actions.py` does it, and
nothing is stored.

Which bot it is, only Telegram knows. So the bot that the update mentions, replies to or commands is taken for it.
"""

from typing import Any, Final, NamedTuple, assert_never

from msgspec.structs import replace

from gatepost.channels import (
    access_actions as access,
    conversation_actions as conversations,
    intake_actions as intake,
    question_actions as questions,
)
from gatepost.channels.access_actions import ListVerdict
from gatepost.channels.conversation import COMMANDS, RESET_TEXT, ChannelSession
from gatepost.channels.envelope import RESET_FIELD, RESET_VALUE, Envelope, EnvelopeKind, build_telegram_session
from gatepost.channels.telegram import update as telegram_update, update_actions as telegram
from gatepost.channels.telegram.update import (
    BotIdentity,
    ButtonPress,
    ChatMigration,
    Ignored,
    InboundMessage,
    MembershipChange,
)
from gatepost.channels.triggers.trigger import GroupMode, Trigger
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader
from gatepost.inbox.event import TELEGRAM, Route

#: how the name of every bot ends
_BOT: Final = "bot"


class PreviewedReset(NamedTuple):
    """A new conversation, and those who got a prompt in the old one: they get it, whatever the rules say."""

    envelope: Envelope
    targets: tuple[str, ...]


def preview_update(tx: Reader, trigger: Trigger, update: Json) -> Envelope | PreviewedReset | str:
    """Return the envelope that an update would become, or why there would be none."""
    content = telegram_update.parse_update(update, _guess_bot(update)).content
    match content:
        case InboundMessage():
            return _preview_message(tx, trigger, content)
        case ButtonPress():
            return "it is the press of a button, which the bot answers at once"
        case MembershipChange():
            return f"the bot notes its membership of a chat: {content.membership}"
        case ChatMigration() if not telegram.is_move(content.old_chat, content.new_chat):
            return f"it is ignored: {telegram.NO_GROUP}"
        case ChatMigration():
            return f"the chat {content.old_chat} becomes {content.new_chat} in lists, pairings and sessions"
        case Ignored():
            return f"it is ignored: {content.reason}"
        case other:
            assert_never(other)


def _preview_message(tx: Reader, trigger: Trigger, message: InboundMessage) -> Envelope | PreviewedReset | str:
    config, chat = trigger.config, message.chat
    chat_id, user_id = str(chat.id), str(message.sender.id)
    verdict = access.check_lists(config, str(chat.id), str(message.sender.id))
    if verdict is ListVerdict.BLOCKED:
        return "its sender or its chat is on the block list"
    is_heard = config.groups is GroupMode.ALL or (config.groups is GroupMode.MENTION and message.is_addressed)
    if chat.is_group and not is_heard:
        return "it is ignored: a message in a group that is not for the bot"
    person = None if message.is_sent_as_chat else access.find_person(tx, trigger, chat_id, user_id)
    if person is None and verdict is not ListVerdict.ALLOWED:
        if chat.is_group:
            return "it is ignored: a message of an unknown user in a group"
        request = conversations.find_pairing_by_user(tx, trigger.number, chat_id, user_id)
        return "its sender is not paired: " + ("it has asked before" if request is not None else "it gets a code")
    base = build_telegram_session(chat.id, message.sender.id, message.thread_id)
    session = conversations.find_session(tx, TELEGRAM, base, trigger) or _build_session(tx, trigger, base)
    if message.command is not None and message.command.name in COMMANDS:
        if message.command.name != "reset":
            return f"it is the command /{message.command.name}, which the bot answers itself"
        targets = intake.list_prompt_targets(tx, session)
        session = replace(session, generation=session.generation + 1)
        envelope = telegram.build_envelope(message, session, EnvelopeKind.RESET, RESET_TEXT)
        return PreviewedReset(replace(envelope, metadata={**envelope.metadata, RESET_FIELD: RESET_VALUE}), targets)
    if message.is_edited:
        if not message.text:
            return "it is ignored: a change of something that is not text"
        return telegram.build_envelope(message, session, EnvelopeKind.EDIT, message.text)
    if message.recording is not None:
        envelope = telegram.build_envelope(message, session, EnvelopeKind.VOICE, f"[voice] {message.text}".strip())
        return replace(envelope, metadata={**envelope.metadata, "telegram_file_id": message.recording.file_id})
    if message.media is not None:
        content = f"[{message.media}] {message.text}".strip()
        return telegram.build_envelope(message, session, EnvelopeKind.MEDIA, content)
    if person is not None and not message.is_forwarded:
        reply = telegram.find_decision(tx, trigger, message)
        route = Route(TELEGRAM, session.id)
        question = questions.find_question(tx, route, message.text, trigger=trigger.number, decision=reply)
        if question is not None:
            return f"it answers the decision {question.decision.id}"
    return telegram.build_envelope(message, session, EnvelopeKind.TEXT, message.text)


def _build_session(tx: Reader, trigger: Trigger, base: str) -> ChannelSession:
    """Return the session that a first message would begin."""
    return ChannelSession(
        number=0,
        channel=TELEGRAM,
        trigger=trigger.name,
        base=base,
        generation=0,
        person=None,
        chat=None,
        user_id=None,
        thread=None,
        display=None,
        created_at=tx.now,
        last_at=tx.now,
    )


def _guess_bot(update: Json) -> BotIdentity:
    """Return the bot that an update is about, as far as the update says."""
    message: Any = (update.get("message") or update.get("edited_message")) if isinstance(update, dict) else None
    if not isinstance(message, dict):
        return BotIdentity(0, "")
    replied: Any = message.get("reply_to_message")
    author: Any = replied.get("from") if isinstance(replied, dict) else None
    id = author.get("id") if isinstance(author, dict) and author.get("is_bot") is True else None
    text = message.get("text") or message.get("caption")
    words = text.replace("@", " @").split() if isinstance(text, str) else []
    names = [word[1:].rstrip(",.:;!?") for word in words if word.startswith("@")]
    name = next((name for name in names if name.lower().endswith(_BOT)), "")
    return BotIdentity(id if isinstance(id, int) else 0, name)
