"""
Updates of the Telegram Bot API: what happened in the chats of a bot.

`parse_update` returns one of five things; everything that is none of the first four is ignored, with the reason:

    UserMessage        somebody wrote, spoke, or sent a picture or a file; or changed what they wrote
    ButtonPress        somebody pressed a button under a message of the bot
    MembershipChange   the bot was added to a chat, removed from it, or blocked by a person
    ChatMigration      a group became a supergroup, and has another id from now on
    Ignored            posts of channels, messages of bots, polls, reactions, kinds that are not known here

An update without a readable `update_id` is Invalid, because it cannot be confirmed. Any other update can be, so one
that has another form than Telegram describes is ignored too: it must not keep the later ones from being read.

Some fields of Telegram mean less than they seem to:

- A message on behalf of a chat (an anonymous administrator, a channel) names a user that all such messages share. Its
  sender is the chat.
- `message_thread_id` is a topic only if `is_topic_message` says so; elsewhere it is a thread of replies, to which no
  message can be sent. The first message of a topic is not what later ones reply to.
- A forwarded text, or a changed one, is never a command: nobody gave it now.

The `Wire` structs have the fields that Gatepost reads, under the names that Telegram gives them. Others are not looked
at, so that Telegram can add some. A field that Telegram began to send later has a default.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct, ValidationError, field

from gatepost.channels.provider import Recording, UserMessage
from gatepost.channels.telegram.message_parts import clean_text, count_units, slice_units
from gatepost.core import typed_json
from gatepost.core.json_limits import Json
from gatepost.core.text import ParsedEnum
from gatepost.core.times import MAX_INSTANT, SECOND
from gatepost.errors import Invalid, quote_value

#: the largest id, of anything
_MAX_ID: Final = 2**63 - 1
_Id = Annotated[int, Meta(ge=-_MAX_ID, le=_MAX_ID)]
_Number = Annotated[int, Meta(ge=0, le=_MAX_ID)]
_Thread = Annotated[int, Meta(ge=1, le=_MAX_ID)]
_Date = Annotated[int, Meta(ge=0, le=MAX_INSTANT // SECOND)]

#: the kinds of updates to ask Telegram for
ALLOWED_UPDATES: Final = ("message", "edited_message", "callback_query", "my_chat_member")

_CHAT_TYPES: Final = frozenset(("private", "group", "supergroup"))
_RECORDING_KINDS: Final = ("voice", "audio", "video_note")
#: the more exact kind first: an animation is a document too, and a venue is a location
_MEDIA_KINDS: Final = (
    *("animation", "live_photo", "photo", "video", "document", "sticker", "paid_media", "story"),
    *("venue", "location", "contact", "poll", "dice", "game", "invoice", "checklist"),
)
#: fields of a message that say nothing about its kind
_COMMON_FIELDS: Final = frozenset(
    ("message_id", "from", "sender_chat", "chat", "date", "message_thread_id", "is_topic_message", "author_signature")
)
#: in a chat of its own, or in a group
_PRESENT_STATUSES: Final = frozenset(("creator", "administrator", "member"))
_COMMAND: Final = re.compile(r"/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{3,32}))?(?:\s+(.*))?", re.DOTALL)
_MAX_NAME_LENGTH: Final = 200


class WireUser(Struct):
    id: _Id
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str | None = None


class WireChat(Struct):
    id: _Id
    type: str
    title: str | None = None
    username: str | None = None


class WireEntity(Struct):
    type: str
    offset: _Number
    length: _Number
    user: WireUser | None = None


class WireFile(Struct):
    file_id: Annotated[str, Meta(min_length=1)]
    file_size: _Number | None = None
    mime_type: str | None = None


class WireReply(Struct):
    message_id: _Id
    sender: WireUser | None = field(name="from", default=None)


class WireMessage(Struct):
    message_id: _Id
    chat: WireChat
    date: _Date
    sender: WireUser | None = field(name="from", default=None)
    sender_chat: WireChat | None = None
    message_thread_id: _Thread | None = None
    is_topic_message: bool = False
    is_automatic_forward: bool = False
    text: str = ""
    entities: list[WireEntity] = []
    caption: str = ""
    caption_entities: list[WireEntity] = []
    reply_to_message: WireReply | None = None
    voice: WireFile | None = None
    audio: WireFile | None = None
    video_note: WireFile | None = None
    migrate_to_chat_id: _Id | None = None
    migrate_from_chat_id: _Id | None = None


class WirePressedMessage(Struct):
    message_id: _Id
    chat: WireChat


class WireCallbackQuery(Struct):
    id: Annotated[str, Meta(min_length=1)]
    sender: WireUser = field(name="from")
    message: WirePressedMessage | None = None
    data: str | None = None


class WireMember(Struct):
    status: str
    is_member: bool = True


class WireMemberUpdate(Struct):
    chat: WireChat
    old_chat_member: WireMember
    new_chat_member: WireMember


class BotIdentity(Struct, frozen=True):
    id: int
    #: without the @
    username: str


class ButtonPress(Struct, frozen=True, kw_only=True):
    #: the id to answer it by
    query_id: str
    user: int
    data: str
    #: the chat and the message of the button; None if the message was sent by way of an inline query
    chat: int | None
    message_id: int | None
    #: the names of the user
    display: str
    handle: str | None


class Membership(ParsedEnum, description="a membership"):
    #: the bot can write there now
    JOINED = "joined"
    #: a person has blocked it
    BLOCKED = "blocked"
    #: it was removed from a group, or has left it
    REMOVED = "removed"


class MembershipChange(Struct, frozen=True, kw_only=True):
    chat: int
    membership: Membership


class ChatMigration(Struct, frozen=True, kw_only=True):
    """Telegram reports it twice, in the old chat and in the new one."""

    old_chat: int
    new_chat: int


class Ignored(Struct, frozen=True):
    reason: str
    #: of a press that cannot be read: its user waits for an answer all the same
    query_id: str | None = None


UpdateContent = UserMessage | ButtonPress | MembershipChange | ChatMigration | Ignored


class TelegramUpdate(Struct, frozen=True, kw_only=True):
    update_id: int
    content: UpdateContent


def parse_update(update: Json, bot: BotIdentity) -> TelegramUpdate:
    """Return what an update says; raise Invalid only if its `update_id` cannot be read."""
    update_id = update.get("update_id") if isinstance(update, dict) else None
    if not isinstance(update_id, int) or isinstance(update_id, bool) or not 0 <= update_id <= _MAX_ID:
        raise Invalid(f"{quote_value(update, show_items=False)} is not an update of Telegram: it has no update_id")
    try:
        content = _parse_content(update, bot)
    except (ValidationError, UnicodeError) as error:
        # the parser refuses names of fields that are not Unicode by an error of its own
        detail = str(error) if isinstance(error, ValidationError) else "a name in it is not Unicode"
        content = Ignored(f"it does not have the form that Telegram describes: {detail}", _find_query_id(update))
    return TelegramUpdate(update_id=update_id, content=content)


def _parse_content(update: Mapping[str, Json], bot: BotIdentity) -> UpdateContent:
    match update:
        case {"message": raw}:
            return _parse_message(raw, bot, is_edited=False)
        case {"edited_message": raw}:
            return _parse_message(raw, bot, is_edited=True)
        case {"callback_query": raw}:
            return _parse_press(typed_json.convert(raw, WireCallbackQuery))
        case {"my_chat_member": raw}:
            return _parse_membership(typed_json.convert(raw, WireMemberUpdate))
        case _:
            kinds = [name for name in update if name != "update_id"]
            return Ignored(f"an update of the kind {quote_value(kinds[0])}" if kinds else "an update without a kind")


def _parse_message(raw: Json, bot: BotIdentity, *, is_edited: bool) -> UpdateContent:
    message = typed_json.convert(raw, WireMessage)
    if message.migrate_to_chat_id is not None:
        return ChatMigration(old_chat=message.chat.id, new_chat=message.migrate_to_chat_id)
    if message.migrate_from_chat_id is not None:
        return ChatMigration(old_chat=message.migrate_from_chat_id, new_chat=message.chat.id)
    sender = message.sender_chat or message.sender
    reason = _find_reason_to_ignore(message, sender)
    if reason is not None or sender is None:
        return Ignored(reason or "a message without a sender")

    text = clean_text(message.text or message.caption)
    raw_entities = message.entities if message.text else message.caption_entities
    length = count_units(text)
    raw_entities = [entity for entity in raw_entities if 0 < entity.length <= length - entity.offset]
    recording = _find_recording(message)
    media = None if recording else next((kind for kind in _MEDIA_KINDS if raw.get(kind) is not None), None)
    if not text and recording is None and media is None:
        kinds = [name for name in raw if name not in _COMMON_FIELDS]
        return Ignored(f"a message of the kind {quote_value(kinds[0])}" if kinds else "a message with nothing in it")

    is_forwarded = raw.get("forward_origin") is not None or raw.get("forward_date") is not None
    is_addressed = message.chat.type == "private" or _has_mention(text, raw_entities, bot)
    command = None
    match = _COMMAND.fullmatch(message.text and text)
    is_code = any(entity.type in ("code", "pre") and entity.offset == 0 for entity in raw_entities)
    if match and not (is_code or is_forwarded or is_edited):
        if match[2] and match[2].lower() != bot.username.lower():
            return Ignored("a command for another bot")
        command = match[1].lower()

    username = clean_text(sender.username) if sender.username else None
    is_reply = _is_reply_to(message, bot)
    thread = message.message_thread_id if message.is_topic_message else None
    return UserMessage(
        id=str(message.message_id),
        user=str(sender.id),
        text=text,
        chat=None if message.chat.type == "private" else str(message.chat.id),
        thread=str(thread) if thread is not None else None,
        display=_build_name(sender, username),
        handle=username,
        reply_to=str(message.reply_to_message.message_id) if message.reply_to_message and is_reply else None,
        replaces=str(message.message_id) if is_edited else None,
        is_addressed=is_addressed or is_reply or command is not None,
        is_forwarded=is_forwarded,
        is_anonymous=message.sender_chat is not None,
        command=command,
        recording=recording,
        media=media and media.replace("_", " "),
    )


def _find_reason_to_ignore(message: WireMessage, sender: WireUser | WireChat | None) -> str | None:
    if message.chat.type == "channel":
        return "a post in a channel"
    if message.chat.type not in _CHAT_TYPES:
        return f"a message in a chat of the type {quote_value(message.chat.type)}"
    if message.is_automatic_forward:
        return "a post of a channel that Telegram has forwarded to its group"
    if isinstance(sender, WireUser) and sender.is_bot:
        return "a message of a bot"
    return None


def _find_recording(message: WireMessage) -> Recording | None:
    for kind in _RECORDING_KINDS:
        file: WireFile | None = getattr(message, kind)
        if file is not None:
            mime_type = clean_text(file.mime_type) if file.mime_type else None
            return Recording(file=clean_text(file.file_id), mime_type=mime_type, size=file.file_size)
    return None


def _has_mention(text: str, entities: Sequence[WireEntity], bot: BotIdentity) -> bool:
    """Return True if the bot is mentioned by its name, or by a link to it."""
    name = f"@{bot.username}".lower()
    return any(
        (entity.type == "mention" and slice_units(text, entity.offset, entity.length).lower() == name)
        or (entity.type == "text_mention" and entity.user is not None and entity.user.id == bot.id)
        for entity in entities
    )


def _is_reply_to(message: WireMessage, bot: BotIdentity) -> bool:
    """Return True if it replies to the bot, and not only to the first message of its topic."""
    reply = message.reply_to_message
    is_first = reply is not None and message.is_topic_message and reply.message_id == message.message_thread_id
    return reply is not None and not is_first and reply.sender is not None and reply.sender.id == bot.id


def _parse_press(query: WireCallbackQuery) -> ButtonPress | Ignored:
    if query.data is None:
        return Ignored("a press of a button without data", clean_text(query.id))
    message = query.message
    handle = clean_text(query.sender.username) if query.sender.username else None
    return ButtonPress(
        query_id=clean_text(query.id),
        user=query.sender.id,
        data=clean_text(query.data),
        chat=message.chat.id if message else None,
        message_id=message.message_id if message else None,
        display=_build_name(query.sender, handle),
        handle=handle,
    )


def _find_query_id(update: Mapping[str, Json]) -> str | None:
    """Return the id by which a press of another form can be answered."""
    query = update.get("callback_query")
    id = query.get("id") if isinstance(query, dict) else None
    return clean_text(id) if isinstance(id, str) and id else None


def _parse_membership(change: WireMemberUpdate) -> MembershipChange | Ignored:
    if change.chat.type not in _CHAT_TYPES:
        return Ignored(f"news of a chat of the type {quote_value(change.chat.type)}")
    was_present, is_present = (_is_present(member) for member in (change.old_chat_member, change.new_chat_member))
    if was_present == is_present:
        return Ignored("the rights of the bot in a chat")
    absence = Membership.BLOCKED if change.chat.type == "private" else Membership.REMOVED
    return MembershipChange(chat=change.chat.id, membership=Membership.JOINED if is_present else absence)


def _is_present(member: WireMember) -> bool:
    return member.status in _PRESENT_STATUSES or (member.status == "restricted" and member.is_member)


def _build_name(sender: WireUser | WireChat, username: str | None) -> str:
    """Return the name of who has sent something. It has at most 200 characters; a user always has one in Telegram."""
    name = f"{sender.first_name} {sender.last_name}" if isinstance(sender, WireUser) else sender.title or ""
    return clean_text(name).strip()[:_MAX_NAME_LENGTH] or username or str(sender.id)
