"""
Objects of the Telegram Bot API, with the fields that Gatepost reads, under the names that Telegram gives them. Others
are not looked at, so that Telegram can add some. A field that Telegram began to send later has a default.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct, field

from gatepost.core.times import MAX_INSTANT, SECOND

#: the largest id, of anything
MAX_ID: Final = 2**63 - 1

_Id = Annotated[int, Meta(ge=-MAX_ID, le=MAX_ID)]
_Number = Annotated[int, Meta(ge=0, le=MAX_ID)]
_Thread = Annotated[int, Meta(ge=1, le=MAX_ID)]
_Date = Annotated[int, Meta(ge=0, le=MAX_INSTANT // SECOND)]


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
    url: str | None = None
    language: str | None = None
    user: WireUser | None = None


class WireFile(Struct):
    file_id: Annotated[str, Meta(min_length=1)]
    duration: _Number | None = None
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
    date: _Date = 0
    message_thread_id: _Thread | None = None
    is_topic_message: bool = False


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
    sender: WireUser = field(name="from")
    old_chat_member: WireMember
    new_chat_member: WireMember
