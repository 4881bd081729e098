"""
What Telegram knows: people, bots, chats, messages, files and callback queries.

A private chat belongs to one bot and one person. A group is shared by all of its members. Messages of private chats and
of groups are numbered together, those of a supergroup from 1. Everything is guarded by `World.changed`; whoever changes
something does it in `World.change`, which tells those who wait.
"""

import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Literal

from tests.channels.telegram.bot_api.entities import Entity
from tests.channels.telegram.bot_api.rules import UPDATE_KINDS, RateLimits
from tests.channels.telegram.bot_api.updates import Poll, UpdateQueue

#: added to the number of a supergroup, and the sign turned, its id
SUPERGROUP_BASE: Final = 1_000_000_000_000
ChatType = Literal["private", "group", "supergroup"]
BotStatus = Literal["member", "kicked"]


@dataclass(eq=False, kw_only=True)
class User:
    id: int
    first_name: str
    last_name: str | None = None
    username: str | None = None
    language_code: str | None = None
    is_bot: bool = False


@dataclass(eq=False, kw_only=True)
class Webhook:
    url: str
    secret_token: str


@dataclass(eq=False, kw_only=True)
class Bot(User):
    token: str
    queue: UpdateQueue = field(repr=False)
    allowed_updates: frozenset[str] = field(default=UPDATE_KINDS, repr=False)
    webhook: Webhook | None = None
    #: the request that waits for updates
    poll: Poll | None = None
    private_chats: dict[int, "Chat"] = field(default_factory=dict, repr=False)
    limits: RateLimits = field(default_factory=RateLimits, repr=False)
    #: paths of files that may be downloaded, and until when
    links: dict[str, tuple["StoredFile", float]] = field(default_factory=dict, repr=False)


@dataclass(eq=False, kw_only=True)
class Chat:
    id: int
    type: ChatType
    title: str = ""
    is_forum: bool = False
    #: the person of a private chat
    user: User | None = None
    members: dict[int, User] = field(default_factory=dict, repr=False)
    bots: dict[int, BotStatus] = field(default_factory=dict, repr=False)
    messages: dict[int, "Message"] = field(default_factory=dict, repr=False)
    #: messages that created a topic, by the id of the topic
    topics: dict[int, "Message"] = field(default_factory=dict, repr=False)
    migrated_to: "Chat | None" = None


@dataclass(eq=False, kw_only=True)
class StoredFile:
    number: int
    content: bytes = field(repr=False)
    #: bytes; may be more than the content has, for a file that is too big
    size: int
    folder: str
    ending: str

    @property
    def unique_id(self) -> str:
        return f"AgAD{self.number:011}"

    def find_id(self, bot: Bot) -> str:
        """Return the id under which a bot knows the file; no other bot can use it."""
        return "AwACAgIAAxkB" + urlsafe_b64encode(f"{bot.id}/{self.number}".encode()).decode().rstrip("=")


@dataclass(frozen=True)
class Version:
    """A message as it was before an edit."""

    text: str
    entities: list[Entity]
    markup: dict[str, Any] | None


@dataclass(eq=False, kw_only=True)
class Message:
    id: int
    chat: Chat = field(repr=False)
    sender: User = field(repr=False)
    date: int
    text: str = ""
    entities: list[Entity] = field(default_factory=list)
    #: the inline keyboard
    markup: dict[str, Any] | None = None
    #: options of the link preview, as the bot gave them
    preview: dict[str, Any] | None = None
    thread: int | None = None
    is_topic_message: bool = False
    reply_to: "Message | None" = None
    #: other fields as they are in JSON, such as those of a service message
    fields: dict[str, Any] = field(default_factory=dict)
    media: "Media | None" = None
    edit_date: int | None = None
    #: earlier versions, oldest first
    edits: list[Version] = field(default_factory=list)

    @property
    def buttons(self) -> list[dict[str, Any]]:
        """The buttons of the inline keyboard, row after row."""
        return [button for row in (self.markup or {}).get("inline_keyboard", ()) for button in row]


@dataclass(frozen=True, kw_only=True)
class Media:
    """A file in a message: the name of the field (`voice`), and what else it says."""

    field: str
    values: dict[str, Any]
    file: StoredFile


@dataclass(eq=False, kw_only=True)
class CallbackQuery:
    id: str
    bot: Bot = field(repr=False)
    user: User
    message: Message
    data: str
    created: float
    is_answered: bool = False
    answer: dict[str, Any] | None = None


@dataclass(frozen=True)
class ChatAction:
    chat: int
    action: str
    thread: int | None


class World:
    def __init__(self, now: Callable[[], float]) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._now = now
        self._offset = 0.0
        self.users: dict[int, User] = {}
        self.bots: dict[str, Bot] = {}
        self.groups: dict[int, Chat] = {}
        self.files: dict[int, StoredFile] = {}
        self.queries: dict[str, CallbackQuery] = {}
        self.actions: list[ChatAction] = []
        #: emoji by chat and message, as the bots have set them last
        self.reactions: dict[tuple[int, int], list[str]] = {}
        self._message_ids = count(1)
        self._numbers = count(1)

    @contextmanager
    def change(self) -> Iterator[None]:
        """Change something, and tell those who wait for a change."""
        with self.changed:
            try:
                yield
            finally:
                self.changed.notify_all()

    def now(self) -> float:
        return self._now() + self._offset

    def advance(self, seconds: float) -> None:
        with self.change():
            self._offset += seconds
            for bot in self.bots.values():
                if bot.poll is not None:
                    bot.poll.wake()

    def take_number(self) -> int:
        return next(self._numbers)

    def find_chat(self, bot: Bot, id: int) -> Chat | None:
        return bot.private_chats.get(id) if id > 0 else self.groups.get(id)

    def store_file(self, content: bytes, folder: str, ending: str, size: int | None = None) -> StoredFile:
        number = self.take_number()
        size = len(content) if size is None else size
        file = StoredFile(number=number, content=content, size=size, folder=folder, ending=ending)
        self.files[number] = file
        return file

    def add_message(self, chat: Chat, sender: User, **values: Any) -> Message:
        id = len(chat.messages) + 1 if chat.type == "supergroup" else next(self._message_ids)
        message = Message(id=id, chat=chat, sender=sender, date=int(self.now()), **values)
        chat.messages[id] = message
        return message

    def push_update(self, bot: Bot, kind: str, value: dict[str, Any]) -> None:
        """Queue an update for a bot that wants its kind."""
        if kind in bot.allowed_updates:
            bot.queue.push({kind: value}, self.now())
            if bot.poll is not None:
                bot.poll.wake()
